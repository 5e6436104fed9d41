package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// newDatabase makes an empty database on a server, whose URL names another database
// there. The returned function drops it.
func newDatabase(ctx context.Context, server string) (at string, drop func() error, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("-postgres must be a URL such as postgres://user@host/postgres")
	}
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", nil, err
	}
	name := fmt.Sprintf("snip_bench_%d", rand.Uint64())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, errors.Join(err, admin.Close(ctx))
	}
	u.Path = "/" + name
	return u.String(), func() error {
		ctx := context.WithoutCancel(ctx)
		_, err := admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		return errors.Join(err, admin.Close(ctx))
	}, nil
}

// updatePerClickOnServer is what most shorteners do, on some connections.
func updatePerClickOnServer(server string, connections int) func(ctx context.Context, length time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (perSecond float64, err error) {
		at, drop, err := newDatabase(ctx, server)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, drop()) }()
		s, ids, err := makeLinks(ctx, "", at)
		if err != nil {
			return 0, err
		}
		if err := s.Close(); err != nil {
			return 0, err
		}
		db, err := sql.Open("pgx", at)
		if err != nil {
			return 0, err
		}
		defer db.Close()
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		var wg sync.WaitGroup
		rates, errs := make([]float64, connections), make([]error, connections)
		for i := range connections {
			wg.Go(func() { rates[i], errs[i] = update(ctx, db, ids, length) })
		}
		wg.Wait()
		for _, one := range rates {
			perSecond += one
		}
		return perSecond, errors.Join(errs...)
	}
}
