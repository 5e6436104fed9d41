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

// Retain trims topic "clicks" behind the count and forgets old segments, until
// ctx ends.
func (c *Count) Retain(ctx context.Context) error {
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
		select {
		case <-ctx.Done():
			<-done
			return nil
		case <-tick.C:
			c.forget(ctx)
		}
	}
}

func (c *Count) forget(ctx context.Context) {
	err := c.cfg.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		box, err := c.inbox(ctx, tx)
		if err != nil {
			return err
		}
		return box.Forget(ctx, tx, time.Now().Add(-segmentMemory))
	})
	if err != nil && ctx.Err() == nil && c.cfg.Logger != nil {
		c.cfg.Logger.Warn("forget old segments", "error", err)
	}
}
