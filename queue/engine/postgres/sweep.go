package postgres

import (
	"context"
	"time"
)

const (
	sweepPause  = time.Second
	sweepRows   = 1000
	sweepEffort = 20 // Times as long as it took, so that it takes a twentieth of the time.
)

// sweeper deletes what is past its time, after pushes and settles, beside which it goes
// on: they do not wait for it.
type sweeper struct {
	more chan struct{} // Told when there may be something.
}

func (s *sweeper) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// sweep runs until ctx ends.
func (e *Engine) sweep(ctx context.Context) {
	for {
		select {
		case <-e.sweeper.more:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		e.forget(ctx)
		select {
		case <-time.After(max(sweepPause, sweepEffort*time.Since(began))):
		case <-ctx.Done():
		}
	}
}

// forget deletes what is past its time, a little in each transaction.
func (e *Engine) forget(ctx context.Context) {
	for n := int64(sweepRows); n >= sweepRows; {
		if err := e.row(ctx, "SELECT queue.forget($1::int)", []any{sweepRows}, &n); err != nil {
			if ctx.Err() == nil {
				e.cfg.Logger.Debug("what is past its time was not deleted, the next call tries it again", "error", err)
			}
			return
		}
	}
}
