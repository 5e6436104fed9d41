package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// bloat tells what the tables and indexes take after tasks were pushed and worked, again
// and again, as they are at that moment: nobody cleans up but the server.
func bloat(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		title: "Size of the tables of task queues",
		notes: fmt.Sprintf("Each pass pushes and works %s tasks, of which up to %s wait. At its end none is left.", thousands(fmt.Sprint(b.tasks)), thousands(fmt.Sprint(fed))),
		head:  []string{"engine", "after pass", "tasks/s", "tables", "indexes"},
	}
	for _, onServer := range []bool{false, true} {
		if err := b.bloatOn(ctx, onServer, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (b *bench) bloatOn(ctx context.Context, onServer bool, t *table) (err error) {
	defer func() { err = errors.Join(err, b.cleanUp()) }()
	library, weigh := snipOnFiles(), weighFile
	if onServer {
		library, weigh = snipOnServer(), weighTables
	}
	q, at, err := b.openTasks(ctx, library, onServer, atBest)
	if err != nil {
		return err
	}
	for pass := range b.passes {
		began := time.Now()
		if err := feed(ctx, q, b.tasks).wait(ctx); err != nil {
			return err
		}
		rate := float64(b.tasks) / time.Since(began).Seconds()
		tables, indexes, err := weigh(ctx, at)
		if err != nil {
			return err
		}
		t.cells = append(t.cells, []string{library.name, fmt.Sprint(pass + 1), figure(rate), tables, indexes})
	}
	return nil
}

func weighTables(ctx context.Context, at place) (tables, indexes string, err error) {
	conn, err := pgx.Connect(ctx, at.url)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var table, index int64
	err = conn.QueryRow(ctx, `
		SELECT COALESCE(SUM(pg_table_size(oid)), 0), COALESCE(SUM(pg_indexes_size(oid)), 0)
		FROM pg_class WHERE relkind = 'r' AND relnamespace = 'queue'::regnamespace`).Scan(&table, &index)
	return megabytes(table), megabytes(index), err
}

// weighFile is the file and its write-ahead log: SQLite does not tell tables apart in
// a moment.
func weighFile(_ context.Context, at place) (file, log string, err error) {
	sizes := make([]string, 2)
	for i, name := range []string{"tasks.db", "tasks.db-wal"} {
		info, err := os.Stat(filepath.Join(at.dir, name))
		if err != nil {
			return "", "", err
		}
		sizes[i] = megabytes(info.Size())
	}
	return sizes[0], sizes[1] + " (log)", nil
}

func megabytes(n int64) string { return figure(float64(n)/1e6) + " MB" }
