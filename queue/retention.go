package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Compare orders positions of one partition: -1 if p is before q, 0 if they are
// equal, +1 if p is after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Entry, q.Entry), cmp.Compare(p.Index, q.Index))
}

// Retention trims a topic: what is older than MaxAge, and the oldest once the
// topic is three quarters full. It never trims what a group that Waits names has
// not processed.
type Retention struct {
	Engine LogEngine
	Topic  string
	MaxAge time.Duration // Of an entry's last message. Default: 7 days.
	Every  time.Duration // Between two passes of Run. Default: a minute.

	// Waits returns the position of the group that the topic waits for. Default: it waits
	// for nobody.
	Waits func(ctx context.Context, topic TopicID, partition int) (Position, error)

	Now    func() time.Time // Default: time.Now.
	Logger *slog.Logger     // Default: none.
}

// retentionStep is how many messages a pass looks at between two trims.
const retentionStep = 10_000

// Run trims now and then until ctx ends. An outage is reported and waited out.
func (r Retention) Run(ctx context.Context) error {
	log := r.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for {
		if err := r.Pass(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotFound) {
			log.Warn("retention", "error", err)
		}
		if pause(ctx, jitter(cmp.Or(r.Every, time.Minute))) != nil {
			return nil
		}
	}
}

// Pass trims once.
func (r Retention) Pass(ctx context.Context) error {
	stats, err := r.Engine.Stats(ctx, r.Topic)
	if err != nil {
		return fmt.Errorf("retention of topic %q: %w", r.Topic, err)
	}
	for p, part := range stats.Partitions {
		// Mostly nothing is old or in the way, and then nothing need be read.
		if !full(stats) && !part.Oldest.Before(r.cutoff()) {
			continue
		}
		if err := r.partition(ctx, stats.ID, p, part.End); err != nil {
			return fmt.Errorf("retention of topic %q: partition %d: %w", r.Topic, p, err)
		}
	}
	return nil
}

func (r Retention) partition(ctx context.Context, topic TopicID, p int, end Position) error {
	waits := end
	if r.Waits != nil {
		var err error
		if waits, err = r.Waits(ctx, topic, p); err != nil {
			return err
		}
	}
	if waits == (Position{}) {
		return nil
	}
	// A position from another life of the log says nothing about what this one holds.
	if _, err := r.Engine.Read(ctx, r.Topic, p, waits, 1); err != nil {
		if errors.Is(err, ErrPositionLost) {
			return nil
		}
		return err
	}
	cutoff := r.cutoff()
	for {
		entries, err := r.Engine.Read(ctx, r.Topic, p, Position{}, retentionStep)
		if err != nil {
			return err
		}
		stats, err := r.Engine.Stats(ctx, r.Topic)
		if err != nil {
			return err
		}
		var before Position
		for _, e := range entries {
			if e.Next.Compare(waits) > 0 || !full(stats) && !e.Messages[len(e.Messages)-1].Time.Before(cutoff) {
				break
			}
			before = e.Next
		}
		// Trim keeps the entry whose end is the position, so a pass that found only
		// that one is done.
		if before == (Position{}) || before == entries[0].Next {
			return nil
		}
		if err := r.Engine.Trim(ctx, r.Topic, p, before); err != nil {
			return err
		}
	}
}

// cutoff is the time before which a message is old.
func (r Retention) cutoff() time.Time {
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	return now().Add(-cmp.Or(r.MaxAge, 7*24*time.Hour))
}

func full(s TopicStats) bool { return s.Bytes > s.MaxBytes/4*3 }
