package main

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// updatePerClick is what most shorteners do, on some connections.
func (b *bench) updatePerClick(onServer bool, connections int, p popularity) func(context.Context, time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (perSecond float64, err error) {
		at, err := b.newPlace(ctx, onServer)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, b.cleanUp()) }()
		s, err := makeLinks(ctx, at, countLinks)
		if err != nil {
			return 0, err
		}
		if err := s.Close(); err != nil {
			return 0, err
		}
		driver, name := "sqlite", "file:"+filepath.Join(at.dir, "snip.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)"
		if onServer {
			driver, name = "pgx", at.url
		}
		db, err := sql.Open(driver, name)
		if err != nil {
			return 0, err
		}
		defer db.Close()
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		var wg sync.WaitGroup
		rates, errs := make([]float64, connections), make([]error, connections)
		for i := range connections {
			wg.Go(func() { rates[i], errs[i] = update(ctx, db, p.next(rand.New(rand.NewPCG(1, uint64(i)))), length) })
		}
		wg.Wait()
		for _, one := range rates {
			perSecond += one
		}
		return perSecond, errors.Join(errs...)
	}
}

func update(ctx context.Context, db *sql.DB, link func() int, length time.Duration) (float64, error) {
	update, err := db.PrepareContext(ctx, "UPDATE links SET clicks = clicks + 1 WHERE id = $1")
	if err != nil {
		return 0, err
	}
	defer update.Close()
	n, began := 0, time.Now()
	for ; time.Since(began) < length; n++ {
		if _, err := update.ExecContext(ctx, link()+1); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}
