package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"

	"github.com/jackc/pgx/v5/pgxpool"
)

// redirector is how a reference finds out where a link leads, and counts the click. It
// answers after that.
type redirector func(ctx context.Context, code string) (target string, err error)

// serveReference serves a reference until ctx ends. This program starts itself for it:
// a reference is a process of its own, as Snip is.
func serveReference(ctx context.Context, kind, address string, rest []string) error {
	var follow redirector
	var end func()
	var err error
	switch {
	case kind == "bare" && len(rest) == 0:
		follow, end = func(context.Context, string) (string, error) { return target, nil }, func() {}
	case kind == "update" && len(rest) == 1:
		follow, end, err = updateInRequest(ctx, rest[0])
	case kind == "rpush" && len(rest) == 2:
		follow, end, err = pushInRequest(rest[0], rest[1])
	default:
		err = fmt.Errorf("no reference %q with %d arguments", kind, len(rest))
	}
	if err != nil {
		return err
	}
	defer end()
	server := &http.Server{Addr: address, Handler: follow}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serving ends, and says so.
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (follow redirector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := follow(r.Context(), r.URL.Path[1:])
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// updateConnections are some more than a commit can wait for at once on two
// processors, and few enough that a hot row is not fought for.
const updateConnections = 16

// updateInRequest counts in the statement that finds the link: the least that a
// database has to be asked. The statement is prepared, and commits.
func updateInRequest(ctx context.Context, url string) (redirector, func(), error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	config.MaxConns = updateConnections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, code string) (target string, err error) {
		err = pool.QueryRow(ctx, "UPDATE links SET clicks = clicks + 1 WHERE code = $1 RETURNING url", code).Scan(&target)
		return target, err
	}, pool.Close, nil
}

// naiveLinks makes the table for it, with links c0, c1 and so on.
func naiveLinks(ctx context.Context, url string, links int) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, `
		CREATE TABLE links (code text PRIMARY KEY, url text NOT NULL, clicks bigint NOT NULL DEFAULT 0);
		INSERT INTO links (code, url) SELECT 'c' || i, '`+target+`' FROM generate_series(0, `+fmt.Sprint(links-1)+`) i`)
	return err
}

// pushInRequest knows where links lead, and waits for a push to a list. Its client
// sends what many requests push together.
func pushInRequest(url, list string) (redirector, func(), error) {
	client, err := openRedis(url)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, code string) (string, error) {
		return target, client.Do(ctx, client.B().Rpush().Key(list).Element(code).Build()).Error()
	}, client.Close, nil
}

// startReference starts a reference, until the benchmark's end, and returns its address.
func (b *bench) startReference(kind string, args ...string) (address string, err error) {
	if address, err = freeAddr(); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	p, err := start(exec.Command(self, append([]string{"serve", kind, address}, args...)...), listens(address))
	if err != nil {
		return "", err
	}
	b.atEnd(func() error { p.stop(); return nil })
	return address, nil
}
