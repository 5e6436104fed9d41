package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// randomLinks is of how many links redirects are drawn where it is not one.
const randomLinks = 10_000

// redirect measures redirects of the real program, clicks noted and counted, beside
// what answers the same with less, and beside what counts before it answers. All are
// processes of their own; this one is the load.
func redirect(ctx context.Context, b *bench) (rows []row, err error) {
	whole, err := b.redirecting(ctx, false)
	if err != nil {
		return nil, err
	}
	web, err := b.redirecting(ctx, false, "web")
	if err != nil {
		return nil, err
	}
	onServer, err := b.redirecting(ctx, true)
	if err != nil {
		return nil, err
	}
	one := onePath("/bench")
	hot := []*contestant{
		{name: "snip, one process on files", measure: whole.load(one)},
		{name: "snip web alone on files, nobody counts", measure: web.load(one)},
		{name: "snip, one process on PostgreSQL", measure: onServer.load(one)},
	}
	spread := &contestant{name: "snip on files, 10,000 links at random", measure: whole.load(randomPath(randomLinks))}
	r, err := b.redirectReferences(ctx)
	if err != nil {
		return nil, err
	}
	// Each of the first ones is followed by a reference, and leaves it no work to do.
	err = inTurns(ctx, b.rounds, b.length, hot[0], r.bare, hot[1], r.nginx, hot[2], r.hot, spread, r.random, r.push)
	if err != nil {
		return nil, err
	}
	for _, c := range hot {
		rows = append(rows,
			c.beside(r.nginx, "/s", ratioAtLeast(0.5)),
			c.beside(r.bare, "/s", ratioAtLeast(0.9)),
			c.beside(r.hot, "/s", ratioAtLeast(12)),
			c.beside(r.push, "/s", ratioAtLeast(1.7)))
	}
	return append(rows, spread.beside(r.random, "/s", bar{})), nil
}

// redirecting starts Snip with links c0, c1 and so on.
func (b *bench) redirecting(ctx context.Context, onServer bool, parts ...string) (*instance, error) {
	at, err := b.newPlace(ctx, onServer)
	if err != nil {
		return nil, err
	}
	if err := manyLinks(ctx, at, randomLinks); err != nil {
		return nil, err
	}
	s, err := b.startSnip(ctx, at, parts...)
	if err != nil {
		return nil, err
	}
	// From here on, all are in its cache.
	return s, load{address: s.address, path: nextPath("/c")}.times(ctx, randomLinks)
}

// load measures redirects, and then lets the instance do what it has put off.
func (s *instance) load(path func([]byte, *rand.Rand) []byte) func(context.Context, time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (float64, error) {
		n, err := load{address: s.address, path: path}.perSecond(ctx, length)
		return n, errors.Join(err, quiet(s.processes...))
	}
}

// redirectReferences are what redirects are compared with.
type redirectReferences struct{ nginx, bare, hot, random, push *contestant }

func (b *bench) redirectReferences(ctx context.Context) (*redirectReferences, error) {
	nginx, err := b.startNginx()
	if err != nil {
		return nil, err
	}
	bare, err := b.startReference("bare")
	if err != nil {
		return nil, err
	}
	at, err := b.newPlace(ctx, true)
	if err != nil {
		return nil, err
	}
	if err := naiveLinks(ctx, at.url, randomLinks); err != nil {
		return nil, err
	}
	update, err := b.startReference("update", at.url)
	if err != nil {
		return nil, err
	}
	push, err := b.pushInRequest(ctx)
	if err != nil {
		return nil, err
	}
	one := onePath("/bench")
	return &redirectReferences{
		nginx:  &contestant{name: "nginx, `return 307`", measure: load{address: nginx, path: one}.perSecond},
		bare:   &contestant{name: "bare net/http, a constant 307", measure: load{address: bare, path: one}.perSecond},
		hot:    &contestant{name: "UPDATE in the request, PostgreSQL", measure: load{address: update, path: onePath("/c0")}.perSecond},
		random: &contestant{name: "UPDATE in the request, PostgreSQL, 10,000 links at random", measure: load{address: update, path: randomPath(randomLinks)}.perSecond},
		push:   push,
	}, nil
}

// pushInRequest pushes to a list of its own, which is empty when a round begins.
func (b *bench) pushInRequest(ctx context.Context) (*contestant, error) {
	url, err := b.startRedis()
	if err != nil {
		return nil, err
	}
	client, err := openRedis(url)
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("snip-bench:%d", rand.Uint64())
	remove := func(ctx context.Context) error { return client.Do(ctx, client.B().Del().Key(list).Build()).Error() }
	b.atEnd(func() error {
		defer client.Close()
		return remove(context.WithoutCancel(ctx))
	})
	push, err := b.startReference("rpush", url, list)
	if err != nil {
		return nil, err
	}
	ask := load{address: push, path: onePath("/bench")}
	return &contestant{name: "RPUSH awaited in the request, Redis", measure: func(ctx context.Context, length time.Duration) (float64, error) {
		if err := remove(ctx); err != nil {
			return 0, err
		}
		return ask.perSecond(ctx, length)
	}}, nil
}
