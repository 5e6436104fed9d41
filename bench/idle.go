package main

import (
	"context"
	"time"
)

// idle measures the memory and the processor time of a Snip in one process that was
// used once. Both are watched at the same time.
func idle(ctx context.Context, b *bench) ([]row, error) {
	const settled = 5 * time.Second // After a start.
	var all []*instance
	for _, onServer := range []bool{false, true} {
		at, err := b.newPlace(ctx, onServer)
		if err != nil {
			return nil, err
		}
		s, err := b.startSnip(ctx, at)
		if err != nil {
			return nil, err
		}
		if err := (load{address: s.address, path: onePath("/bench")}).times(ctx, 1); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	time.Sleep(settled)
	before := make([]time.Duration, len(all))
	for i, s := range all {
		var err error
		if before[i], err = used(s.processes); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	select {
	case <-time.After(b.watch):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var rows []row
	for i, where := range []string{"on files", "on PostgreSQL"} {
		after, err := used(all[i].processes)
		if err != nil {
			return nil, err
		}
		share := (after - before[i]).Seconds() / time.Since(began).Seconds()
		memory, err := all[i].memory()
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			row{what: "memory of an idle Snip " + where, unit: "MB", measured: []float64{float64(memory) / 1e6}, bar: medianAtMost(60)},
			row{what: "its processor time, of one, over " + b.watch.String(), unit: "%", measured: []float64{share * 100}, bar: medianAtMost(1)})
	}
	return rows, nil
}
