package main

import (
	"errors"
	"slices"
	"time"
)

// bench is what benchmarks are told, and what they share.
type bench struct {
	rounds  int
	length  time.Duration // Of one measurement.
	watch   time.Duration // Of an idle program.
	samples int           // Clicks or tasks that are waited for.
	links   int           // That are in no cache.
	clicks  int           // That are weighed.
	sizes   []int         // Of growth.
	tasks   int           // In the way of others, or in a pass.
	passes  int
	hold    time.Duration // Of a snapshot.
	before  string        // Path of an earlier program. Empty: there is none.

	servers
	ends []func() error
}

// atEnd has something done when the benchmark is over, the last first.
func (b *bench) atEnd(do func() error) { b.ends = append(b.ends, do) }

// cleanUp does it.
func (b *bench) cleanUp() (err error) {
	for _, do := range slices.Backward(b.ends) {
		err = errors.Join(err, do())
	}
	b.ends = nil
	return err
}
