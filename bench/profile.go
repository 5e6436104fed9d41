package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// profiled is how many redirects a profile takes, and half as many before it.
const profiled = 200_000

// profile measures what one redirect costs a process in processor time, which others on
// the machine disturb less than redirects per second, until all is done that it has put
// off: a web alone has shipped its clicks, one that does everything has counted them.
// What is allocated, the Go benchmarks of web, event, worker and queue/spool tell.
func profile(ctx context.Context, b *bench) (rows []row, err error) {
	bare, err := b.startBare()
	if err != nil {
		return nil, err
	}
	all := []*instance{bare}
	for _, parts := range [][]string{nil, {"web"}} {
		at, err := b.newPlace(ctx, false)
		if err != nil {
			return nil, err
		}
		s, err := b.startSnip(ctx, at, parts...)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	cost, memory := make([][]float64, len(all)), make([][]float64, len(all))
	for range b.rounds {
		for i, s := range all {
			one, err := s.costOfRedirect(ctx, "/bench")
			if err != nil {
				return nil, err
			}
			bytes, err := s.memory()
			if err != nil {
				return nil, err
			}
			cost[i], memory[i] = append(cost[i], one), append(memory[i], float64(bytes)/1e6)
		}
	}
	for i, name := range []string{"snip, one process on files", "snip web alone on files"} {
		rows = append(rows,
			row{what: "processor time of a redirect: " + name, unit: "µs", measured: cost[i+1], reference: "bare net/http", against: cost[0]},
			row{what: fmt.Sprintf("its memory after %d redirects", profiled), unit: "MB", measured: memory[i+1], bar: medianAtMost(60)})
	}
	return rows, nil
}

// costOfRedirect is in microseconds.
func (s *instance) costOfRedirect(ctx context.Context, path string) (float64, error) {
	l := load{address: s.address, path: onePath(path)}
	settle := func(n int) error {
		if err := l.times(ctx, n); err != nil {
			return err
		}
		return quiet(s.processes...)
	}
	if err := settle(profiled / 2); err != nil {
		return 0, err
	}
	before, err := used(s.processes)
	if err != nil {
		return 0, err
	}
	if err := settle(profiled); err != nil {
		return 0, err
	}
	after, err := used(s.processes)
	return float64((after - before).Nanoseconds()) / 1e3 / profiled, err
}

// startBare starts the reference, the process of which is looked at.
func (b *bench) startBare() (*instance, error) {
	address, err := freeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := start(exec.Command(self, "serve", "bare", address), listens(address))
	if err != nil {
		return nil, err
	}
	b.atEnd(func() error { p.stop(); return nil })
	return &instance{address: address, processes: []*process{p}}, nil
}
