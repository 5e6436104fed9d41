package main

import (
	"context"
	"fmt"
	"time"
)

// contestant is one of those that are measured in turns.
type contestant struct {
	name    string
	measure func(ctx context.Context, length time.Duration) (float64, error)
	got     []float64
}

// inTurns measures all, one after the other, and all of that again, since a shared
// machine is never twice as fast as it was.
func inTurns(ctx context.Context, rounds int, length time.Duration, all ...*contestant) error {
	for range rounds {
		for _, c := range all {
			n, err := c.measure(ctx, length)
			if err == nil {
				err = ctx.Err() // What was broken off is no measurement.
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.got = append(c.got, n)
		}
	}
	return nil
}

// beside is the row of a contestant and its reference, which may be nil.
func (c *contestant) beside(reference *contestant, unit string, b bar) row {
	r := row{what: c.name, unit: unit, measured: c.got, bar: b}
	if reference != nil {
		r.reference, r.against = reference.name, reference.got
	}
	return r
}
