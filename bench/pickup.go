package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// pickup measures how long a task waits on an idle system, with default settings: from
// the call that pushes it until its handler runs, in the same process. One task is
// there at a time, and between two there is time to come to rest.
func pickup(ctx context.Context, b *bench) (rows []row, err error) {
	for _, pair := range []struct {
		where       string
		onServer    bool
		snip, river taskLibrary
		bar         bar
	}{
		{"PostgreSQL", true, snipOnServer(), riverOnServer(), ratioAtMost(1)},
		{"SQLite", false, snipOnFiles(), riverOnSQLite(), bar{}},
	} {
		usual := row{what: "a task is picked up on an idle system, " + pair.where, unit: "ms", reference: pair.river.name, bar: pair.bar}
		slow := row{what: "p99 of each round, " + pair.where, unit: "ms", reference: pair.river.name, bar: pair.bar}
		for range b.rounds {
			ours, err := b.pickUp(ctx, pair.snip, pair.onServer)
			if err != nil {
				return rows, err
			}
			theirs, err := b.pickUp(ctx, pair.river, pair.onServer)
			if err != nil {
				return rows, err
			}
			usual.measured, usual.against = append(usual.measured, ours...), append(usual.against, theirs...)
			slow.measured, slow.against = append(slow.measured, quantile(ours, 0.99)), append(slow.against, quantile(theirs, 0.99))
		}
		rows = append(rows, usual, slow)
	}
	return rows, nil
}

// pickUp returns milliseconds.
func (b *bench) pickUp(ctx context.Context, library taskLibrary, onServer bool) (took []float64, err error) {
	defer func() { err = errors.Join(err, b.cleanUp()) }()
	q, _, err := b.openTasks(ctx, library, onServer, byDefault)
	if err != nil {
		return nil, err
	}
	book := newTaskBook(b.samples + 1)
	events := book.events()
	started := make(chan time.Time, b.samples+1)
	count := events.started
	events.started = func(number int) {
		started <- time.Now()
		count(number)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- q.work(working, events) }()
	for number := range b.samples + 1 {
		time.Sleep(150*time.Millisecond + rand.N(100*time.Millisecond))
		began := time.Now()
		if err := q.push(ctx, number); err != nil {
			return nil, err
		}
		select {
		case at := <-started:
			if number > 0 { // The first one waits for the worker to come up.
				took = append(took, at.Sub(began).Seconds()*1000)
			}
		case err := <-ended:
			return nil, errors.Join(errors.New("the worker has stopped by itself"), err)
		case <-time.After(passLimit):
			return nil, fmt.Errorf("%s: a task was not picked up in %s", library.name, passLimit)
		}
	}
	select {
	case <-book.all:
	case <-time.After(passLimit):
		return nil, fmt.Errorf("%s: a task was not done in %s", library.name, passLimit)
	}
	stop()
	if err := errors.Join(<-ended, ctx.Err()); err != nil {
		return nil, err
	}
	return took, book.check(ctx, q, b.samples+1)
}
