// Package worker is what happens off the request, one file per kind of work.
package worker

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	if cfg.Store == nil {
		return nil, errors.New("count: Store must be set")
	}
	clicks, err := event.NewClicks()
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	c := &Count{cfg: cfg, clicks: clicks, inbox: &inbox.Inbox{Consumer: CountGroup}}
	c.group, err = queue.NewGroup(queue.GroupConfig{
		Name: CountGroup, Topic: cfg.Topic, Engine: cfg.Engine, Store: cfg.Roster,
		Handle: c.handle, Resume: c.Resume, MaxBatch: 10_000,
		Session: cfg.Session, Drain: cfg.Drain, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	return c, nil
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
		fresh, err := c.inbox.Receive(ctx, tx, d)
		if err != nil {
			return err
		}
		counts, err := c.sum(fresh)
		if err != nil {
			return err
		}
		n = len(fresh)
		return c.cfg.Store.CountClicks(ctx, tx, counts)
	})
	if err != nil {
		return err
	}
	c.counted.Add(int64(n))
	return nil
}

// sum adds up clicks per link and slot. A message it does not know comes from a
// newer program: counting halts there until this one is replaced too, since to
// skip it would be to lose clicks.
func (c *Count) sum(messages []queue.Message) ([]store.Count, error) {
	type key struct {
		link int64
		slot int64
	}
	sums := make(map[key]*store.Count, len(messages)/4)
	for _, m := range messages {
		if m.Type != event.ClickType {
			return nil, fmt.Errorf("count: message type %q is not known to this version", m.Type)
		}
		click, err := c.clicks.Decode(m.Body)
		if err != nil {
			return nil, fmt.Errorf("count: %w", err)
		}
		slot := click.At.Truncate(snip.Slot)
		k := key{click.Link, slot.Unix()}
		s := sums[k]
		if s == nil {
			s = &store.Count{Link: click.Link, Slot: slot}
			sums[k] = s
		}
		s.Clicks++
		if click.Class == snip.Human {
			s.HumanClicks++
		}
	}
	counts := make([]store.Count, 0, len(sums))
	for _, s := range sums {
		counts = append(counts, *s)
	}
	slices.SortFunc(counts, func(a, b store.Count) int {
		return cmp.Or(cmp.Compare(a.Link, b.Link), a.Slot.Compare(b.Slot))
	})
	return counts, nil
}
