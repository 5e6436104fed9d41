// Package worker is what happens off the request, one file per kind of work.
package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/inbox"
	"snip/store"
)

// CountGroup is the consumer group that counts clicks.
const CountGroup = "count"

// ClicksTopic describes topic "clicks". Web and worker declare the same one.
func ClicksTopic(maxBytes int64) queue.TopicConfig {
	return queue.TopicConfig{
		Name: "clicks", Partitions: 4, MaxBytes: maxBytes,
		Durability: queue.DurablePower, Sequences: true,
	}
}

// CountConfig describes a worker that counts.
type CountConfig struct {
	Store  *store.Store
	Engine queue.LogEngine
	Roster queue.GroupStore
	Topic  queue.TopicConfig

	// Generation is one that is being built, apart from what is shown. Default: what
	// is shown is counted on.
	Generation int

	Session time.Duration // See queue.GroupConfig.
	Drain   time.Duration // See queue.GroupConfig.
	Logger  *slog.Logger
}

// Count adds clicks to their links. What it adds and how far it came stand in one
// transaction, so a click is counted once whatever is killed in between.
type Count struct {
	cfg     CountConfig
	group   *queue.Group
	inbox   *inbox.Inbox
	clicks  *event.Clicks
	counted atomic.Int64
}

// NewCount checks the configuration. It does no I/O.
func NewCount(cfg CountConfig) (*Count, error) {
	return newCount(cfg, func(error) {})
}

// newCount also takes who is told of every delivery that failed.
func newCount(cfg CountConfig, failed func(error)) (*Count, error) {
	if cfg.Store == nil {
		return nil, errors.New("count: Store must be set")
	}
	clicks, err := event.NewClicks()
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	c := &Count{cfg: cfg, clicks: clicks, inbox: &inbox.Inbox{
		Consumer: CountGroup, Generation: cfg.Generation,
		// A rebuild begins where the topic does by now.
		FromMiddle: cfg.Generation != 0,
	}}
	c.group, err = queue.NewGroup(queue.GroupConfig{
		Name: groupName(cfg.Generation), Topic: cfg.Topic, Engine: cfg.Engine, Store: cfg.Roster,
		Handle: func(ctx context.Context, d queue.Delivery) error {
			err := c.handle(ctx, d)
			if err != nil {
				failed(err)
			}
			return err
		},
		Resume: c.Resume, MaxBatch: 10_000,
		Session: cfg.Session, Drain: cfg.Drain, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	return c, nil
}

// groupName: who builds a generation shares no partitions with who counts.
func groupName(generation int) string {
	if generation == 0 {
		return CountGroup
	}
	return fmt.Sprint(CountGroup, "-", generation)
}

// Run counts until ctx ends, and then on to the end of the topic within the drain
// limit. It always returns nil: that the other workers could not be told of its end
// is only logged, for they find out within Session.
func (c *Count) Run(ctx context.Context) error {
	if err := c.group.Run(ctx); err != nil && c.cfg.Logger != nil {
		c.cfg.Logger.Warn("the other workers were not told of the stop", "error", err)
	}
	return nil
}

// Counted returns how many clicks this process has counted.
func (c *Count) Counted() int64 { return c.counted.Load() }

// Resume returns how far clicks of a partition were counted, by any process.
func (c *Count) Resume(ctx context.Context, topic queue.TopicID, partition int) (queue.Position, error) {
	return c.inbox.Position(ctx, c.cfg.Store.Read(), topic, partition)
}

// Lag tells how far counting is behind, over all processes.
func (c *Count) Lag(ctx context.Context) (queue.Lag, error) {
	return queue.MeasureLag(ctx, c.cfg.Engine, c.cfg.Topic.Name, c.Resume)
}

func (c *Count) handle(ctx context.Context, d queue.Delivery) error {
	var n int
	err := c.cfg.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if c.cfg.Generation != 0 {
			if err := c.cfg.Store.Building(ctx, tx, c.cfg.Generation); err != nil {
				return err
			}
		}
		fresh, err := c.inbox.Receive(ctx, tx, d)
		if err != nil {
			return err
		}
		clicks, err := c.decode(fresh)
		if err != nil {
			return err
		}
		n = len(clicks)
		return c.cfg.Store.CountClicks(ctx, tx, c.cfg.Generation, clicks)
	})
	if err != nil {
		return err
	}
	c.counted.Add(int64(n))
	return nil
}

// decode reads clicks. A message it does not know comes from a newer program: counting
// halts there until this one is replaced too, since to skip it would be to lose clicks.
func (c *Count) decode(messages []queue.Message) ([]snip.Click, error) {
	clicks, met := make([]snip.Click, len(messages)), event.Texts{}
	for i, m := range messages {
		if m.Type != event.ClickType {
			return nil, fmt.Errorf("count: message type %q is not known to this version", m.Type)
		}
		var err error
		if clicks[i], err = c.clicks.DecodeSharing(m.Body, met); err != nil {
			return nil, fmt.Errorf("count: %w", err)
		}
	}
	return clicks, nil
}
