package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"snip/queue"
	"snip/queue/inbox"
	"snip/store"
)

// RebuildConfig describes a rebuild.
type RebuildConfig struct {
	Store  *store.Store
	Engine queue.LogEngine
	Roster queue.GroupStore
	Topic  queue.TopicConfig

	// Progress is told now and then how many clicks were counted. Default: nobody is.
	Progress func(clicks int64)
	Logger   *slog.Logger
}

// Rebuilt is what a rebuild did.
type Rebuilt struct {
	// Clicks is how many it counted.
	Clicks int64
	// Since is when the first UTC day began whose figures were replaced. What is older
	// stayed as it was, for the topic does not hold all of it any more. The zero time:
	// everything was replaced.
	Since time.Time
}

// Rebuild counts all that topic "clicks" holds anew, beside what is shown, and puts it
// in the place of that in one step once both have counted the same messages. Meanwhile
// clicks come in and are counted as ever. If it returns an error, as it does when ctx
// ends or another rebuild begins, what is shown stays.
func Rebuild(ctx context.Context, cfg RebuildConfig) (Rebuilt, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(int64) {}
	}
	topic, err := cfg.Engine.Declare(ctx, cfg.Topic)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	generation, err := cfg.Store.BuildGeneration(ctx)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	if err := cfg.Store.EraseGenerations(ctx); err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c, err := newCount(CountConfig{
		Store: cfg.Store, Engine: cfg.Engine, Roster: cfg.Roster, Topic: cfg.Topic, Generation: generation, Logger: cfg.Logger,
	}, func(err error) {
		if hopeless(err) {
			fail(err)
		}
	})
	if err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	since, err := c.showWhenReady(ctx, topic, cfg.Progress)
	fail(nil)
	if err := errors.Join(err, <-ended); err != nil {
		return Rebuilt{}, fmt.Errorf("rebuild: %w", err)
	}
	done := Rebuilt{Clicks: c.Counted(), Since: since}
	if err := cfg.Store.EraseGenerations(context.WithoutCancel(ctx)); err != nil {
		return done, fmt.Errorf("rebuild: it is shown, but what it leaves is not erased: %w", err)
	}
	return done, nil
}

// hopeless tells errors that come again however often the delivery does.
func hopeless(err error) bool {
	_, gap := errors.AsType[*inbox.GapError](err)
	return gap || errors.Is(err, store.ErrGeneration)
}

// showWhenReady tries until the generation can be shown.
func (c *Count) showWhenReady(ctx context.Context, topic queue.TopicID, progress func(int64)) (since time.Time, err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	ready := func(ctx context.Context, tx *sql.Tx) (bool, error) { return c.caughtUp(ctx, tx, topic) }
	for {
		select {
		case <-ctx.Done():
			return since, context.Cause(ctx)
		case <-tick.C:
		}
		progress(c.Counted())
		shown, since, err := c.cfg.Store.ShowGeneration(ctx, c.cfg.Generation, ready)
		if shown || err != nil {
			return since, err
		}
	}
}

// caughtUp tells whether the same messages are counted as are shown.
func (c *Count) caughtUp(ctx context.Context, tx *sql.Tx, topic queue.TopicID) (bool, error) {
	live := &inbox.Inbox{Consumer: CountGroup}
	for p := range c.cfg.Topic.Partitions {
		had, err := live.Position(ctx, tx, topic, p)
		if err != nil {
			return false, err
		}
		have, err := c.inbox.Position(ctx, tx, topic, p)
		if err != nil || have.Compare(had) != 0 {
			return false, err
		}
	}
	return true, nil
}
