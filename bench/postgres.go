package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"

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

func postgresVersion(ctx context.Context, b *bench) (version string, err error) {
	url, err := b.startPostgres(ctx)
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return version, errors.Join(err, conn.Close(ctx))
}
