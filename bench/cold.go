package main

import (
	"context"
	"fmt"
	"time"
)

// cold measures redirects of links that are in no cache: codes drawn evenly from many
// links. It tells how many were answered in a second, how long they took, and the
// memory of the program while its cache is at its bound.
func cold(ctx context.Context, b *bench) (rows []row, err error) {
	for _, onServer := range []bool{false, true} {
		more, err := b.coldOn(ctx, onServer)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
		if err := b.cleanUp(); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) coldOn(ctx context.Context, onServer bool) ([]row, error) {
	what := thousands(fmt.Sprint(b.links)) + " links on files"
	if onServer {
		what = thousands(fmt.Sprint(b.links)) + " links on PostgreSQL"
	}
	at, err := b.newPlace(ctx, onServer)
	if err != nil {
		return nil, err
	}
	if err := manyLinks(ctx, at, b.links); err != nil {
		return nil, err
	}
	s, err := b.startSnip(ctx, at)
	if err != nil {
		return nil, err
	}
	perSecond := row{what: "cold redirects, " + what, unit: "/s"}
	slow := row{what: "p99 of each round, " + what, unit: "ms"}
	memory := row{what: "memory meanwhile, " + what, unit: "MB"}
	for range b.rounds {
		took, elapsed, err := load{address: s.address, path: randomPath(b.links)}.during(ctx, b.length)
		if err != nil {
			return nil, err
		}
		bytes, err := s.memory()
		if err != nil {
			return nil, err
		}
		perSecond.measured = append(perSecond.measured, float64(len(took))/elapsed.Seconds())
		slow.measured = append(slow.measured, quantile(milliseconds(took), 0.99))
		memory.measured = append(memory.measured, float64(bytes)/1e6)
	}
	return []row{perSecond, slow, memory}, ctx.Err()
}

func milliseconds(took []time.Duration) []float64 {
	ms := make([]float64, len(took))
	for i, d := range took {
		ms[i] = d.Seconds() * 1e3
	}
	return ms
}
