package worker

import (
	"context"
	"database/sql"
	"time"

	"snip/queue"
)

// segmentMemory is how long the inbox remembers a segment: longer than the spool
// keeps a file, which is longer than anything can bring its messages back.
const segmentMemory = 31 * 24 * time.Hour

// Retention says how long figures are kept in how much detail.
type Retention struct {
	// FineDays is after how many days the figures of 15 minutes are compacted to days.
	// 0: never.
	FineDays int
	// Zone is where those days begin and end. Default: UTC.
	Zone *time.Location
	// Now is the wall clock. Default: time.Now.
	Now func() time.Time
}

// Retain trims topic "clicks" behind the count, and once an hour forgets old segments
// and compacts old figures, until ctx ends.
func (c *Count) Retain(ctx context.Context, keep Retention) error {
	if keep.Zone == nil {
		keep.Zone = time.UTC
	}
	if keep.Now == nil {
		keep.Now = time.Now
	}
	r := queue.Retention{
		Engine: c.cfg.Engine, Topic: c.cfg.Topic.Name, Waits: c.Resume, Logger: c.cfg.Logger,
	}
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx) // Its only error is nil: it reports and goes on.
	}()
	for {
		c.report(ctx, "forget old segments", c.forget(ctx, keep))
		c.report(ctx, "compact old figures", c.compact(ctx, keep))
		select {
		case <-ctx.Done():
			<-done
			return nil
		case <-tick.C:
		}
	}
}

func (c *Count) forget(ctx context.Context, keep Retention) error {
	return c.cfg.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return c.inbox.Forget(ctx, tx, keep.Now().Add(-segmentMemory))
	})
}

func (c *Count) compact(ctx context.Context, keep Retention) error {
	if keep.FineDays == 0 {
		return nil
	}
	before := keep.Now().AddDate(0, 0, -keep.FineDays)
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = c.cfg.Store.Compact(ctx, keep.Zone, before); err != nil {
			return err
		}
	}
	return nil
}

func (c *Count) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && c.cfg.Logger != nil {
		c.cfg.Logger.Warn(what, "error", err)
	}
}
