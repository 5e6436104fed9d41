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

// Rebuild counts all that topic "clicks" holds anew, beside what is shown, and shows it
// in one step once it is as far. Meanwhile clicks come in and are counted as ever. It
// returns how many it counted.
//
// It needs every click that was ever counted to be in the topic still. If some were
// trimmed it returns an error, and what is shown stays. So it does when ctx ends, and
// when another rebuild begins.
func Rebuild(ctx context.Context, cfg RebuildConfig) (clicks int64, err error) {
	if cfg.Progress == nil {
		cfg.Progress = func(int64) {}
	}
	topic, err := cfg.Engine.Declare(ctx, cfg.Topic)
	if err != nil {
		return 0, fmt.Errorf("rebuild: %w", err)
	}
	generation, err := cfg.Store.BuildGeneration(ctx)
	if err != nil {
		return 0, fmt.Errorf("rebuild: %w", err)
	}
	if err := cfg.Store.EraseGenerations(ctx); err != nil {
		return 0, fmt.Errorf("rebuild: %w", err)
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
		return 0, fmt.Errorf("rebuild: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	err = c.showWhenReady(ctx, topic, cfg.Progress)
	fail(nil)
	if err := errors.Join(err, <-ended); err != nil {
		return c.Counted(), fmt.Errorf("rebuild: %w", err)
	}
	if err := cfg.Store.EraseGenerations(context.WithoutCancel(ctx)); err != nil {
		return c.Counted(), fmt.Errorf("rebuild: it is shown, but the one before is not erased: %w", err)
	}
	return c.Counted(), nil
}

// hopeless tells errors that come again however often the delivery does.
func hopeless(err error) bool {
	_, gap := errors.AsType[*inbox.GapError](err)
	return gap || errors.Is(err, store.ErrGeneration)
}

// showWhenReady tries until the generation can be shown.
func (c *Count) showWhenReady(ctx context.Context, topic queue.TopicID, progress func(int64)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	ready := func(ctx context.Context, tx *sql.Tx) (bool, error) { return c.caughtUp(ctx, tx, topic) }
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		progress(c.Counted())
		shown, err := c.cfg.Store.ShowGeneration(ctx, c.cfg.Generation, ready)
		if shown || err != nil {
			return err
		}
	}
}

// caughtUp tells whether nothing that is shown is missing.
func (c *Count) caughtUp(ctx context.Context, tx *sql.Tx, topic queue.TopicID) (bool, error) {
	shown, err := c.cfg.Store.Generation(ctx, tx)
	if err != nil {
		return false, err
	}
	for p := range c.cfg.Topic.Partitions {
		had, err := (&inbox.Inbox{Consumer: CountGroup, Generation: shown}).Position(ctx, tx, topic, p)
		if err != nil {
			return false, err
		}
		have, err := (&inbox.Inbox{Consumer: CountGroup, Generation: c.cfg.Generation}).Position(ctx, tx, topic, p)
		if err != nil || have.Compare(had) < 0 {
			return false, err
		}
	}
	return true, nil
}
