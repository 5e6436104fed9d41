package main

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	riverUsualWorkers = 100  // There is no default: it is what its documentation shows.
	riverBestWorkers  = 2000 // What its own benchmark uses, as the next two.
	riverBestCooldown = 2 * time.Millisecond
	riverBestPoll     = 20 * time.Millisecond
	riverEvents       = 100_000 // That may wait for this program: none must be dropped.
)

type riverTask snipTask

func (riverTask) Kind() string { return "number" }

// riverQueue is River, by one of its drivers. Its client pushes and works, as in its
// documentation.
type riverQueue[TTx any] struct {
	client *river.Client[TTx]
	on     taskEvents // Of the worker that runs.
	count  func(ctx context.Context, query string) (int, error)
	end    func() error
}

func riverOnServer() taskLibrary {
	return taskLibrary{name: "River, PostgreSQL", open: func(ctx context.Context, at place, s settings) (taskQueue, error) {
		pool, err := pgxpool.New(ctx, at.withConnections(s))
		if err != nil {
			return nil, err
		}
		q := &riverQueue[pgx.Tx]{end: func() error { pool.Close(); return nil }}
		q.count = func(ctx context.Context, query string) (n int, err error) {
			return n, pool.QueryRow(ctx, query).Scan(&n)
		}
		return q, q.open(ctx, riverpgxv5.New(pool), s)
	}}
}

// riverOnSQLite has one connection, as its driver's documentation asks for, with a
// write-ahead log that is synced as often as Snip's.
func riverOnSQLite() taskLibrary {
	return taskLibrary{name: "River, SQLite", open: func(ctx context.Context, at place, s settings) (taskQueue, error) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(at.dir, "river.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		q := &riverQueue[*sql.Tx]{end: db.Close}
		q.count = func(ctx context.Context, query string) (n int, err error) {
			return n, db.QueryRowContext(ctx, query).Scan(&n)
		}
		return q, q.open(ctx, riversqlite.New(db), s)
	}}
}

func (q *riverQueue[TTx]) open(ctx context.Context, driver riverdriver.Driver[TTx], s settings) error {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[riverTask]) error {
		q.on.started(job.Args.Number)
		return nil
	}))
	cfg := &river.Config{
		Logger: quiet, Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverUsualWorkers}},
	}
	if s == atBest {
		cfg.FetchCooldown, cfg.FetchPollInterval = riverBestCooldown, riverBestPoll
		cfg.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: riverBestWorkers}
	}
	q.client, err = river.NewClient(driver, cfg)
	return err
}

func (q *riverQueue[TTx]) push(ctx context.Context, numbers ...int) error {
	if len(numbers) == 1 {
		_, err := q.client.Insert(ctx, riverTask{numbers[0]}, nil)
		return err
	}
	_, err := q.client.InsertMany(ctx, riverParams(numbers))
	return err
}

func (q *riverQueue[TTx]) pushFast(ctx context.Context, numbers ...int) error {
	_, err := q.client.InsertManyFast(ctx, riverParams(numbers))
	return err
}

func riverParams(numbers []int) []river.InsertManyParams {
	params := make([]river.InsertManyParams, len(numbers))
	for i, n := range numbers {
		params[i].Args = riverTask{n}
	}
	return params
}

// work counts what is done as River's own benchmark does: by the events of its client,
// which come once it is stored.
func (q *riverQueue[TTx]) work(ctx context.Context, on taskEvents) error {
	q.on = on
	events, cancel := q.client.SubscribeConfig(&river.SubscribeConfig{ChanSize: riverEvents, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for range events {
			on.done()
		}
	}()
	defer func() {
		cancel() // It closes events.
		<-counted
	}()
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	stopping, giveUp := context.WithTimeout(context.WithoutCancel(ctx), passLimit)
	defer giveUp()
	return q.client.Stop(stopping)
}

func (q *riverQueue[TTx]) left(ctx context.Context) (int, error) {
	return q.count(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'")
}

func (q *riverQueue[TTx]) close() error { return q.end() }
