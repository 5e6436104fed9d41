package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Lag is how far a group is behind.
type Lag struct {
	Oldest   time.Time // The earliest Message.Time not yet processed; zero if nothing is behind.
	Messages uint64    // Not yet processed.
}

// Backlogger is what an engine implements that can look over a partition without
// reading its messages. Without it the first message behind a position stands for
// the oldest, which is exact only where times grow along a partition.
type Backlogger interface {
	// Backlog says what stands behind a position: the zero Lag for nothing. Errors
	// are those of LogEngine.Read.
	Backlog(ctx context.Context, topic string, partition int, from Position) (Lag, error)
}

// MeasureLag tells how far a group that resumes at these positions is behind over
// all partitions of a topic. Everything appended before the call is looked at.
func MeasureLag(ctx context.Context, engine LogEngine, topic string,
	resume func(ctx context.Context, topic TopicID, partition int) (Position, error),
) (Lag, error) {
	var all Lag
	stats, err := engine.Stats(ctx, topic)
	if err != nil {
		return all, fmt.Errorf("lag of topic %q: %w", topic, err)
	}
	for p, part := range stats.Partitions {
		// The end was read before the position: a position that reached it has
		// everything behind it that was there when the call began.
		at, err := resume(ctx, stats.ID, p)
		if err != nil {
			return all, fmt.Errorf("lag of topic %q: position in partition %d: %w", topic, p, err)
		}
		if at == part.End {
			continue
		}
		one, err := backlog(ctx, engine, topic, p, at, part)
		if err != nil {
			return all, fmt.Errorf("lag of topic %q: partition %d: %w", topic, p, err)
		}
		all.Messages += one.Messages
		if all.Oldest.IsZero() || !one.Oldest.IsZero() && one.Oldest.Before(all.Oldest) {
			all.Oldest = one.Oldest
		}
	}
	return all, nil
}

func backlog(ctx context.Context, engine LogEngine, topic string, p int, at Position, part PartitionStats) (Lag, error) {
	if b, ok := engine.(Backlogger); ok {
		lag, err := b.Backlog(ctx, topic, p, at)
		if !isLost(err, at) {
			return lag, err
		}
		return b.Backlog(ctx, topic, p, Position{})
	}
	entries, err := engine.Read(ctx, topic, p, at, 1)
	if isLost(err, at) {
		entries, err = engine.Read(ctx, topic, p, Position{}, 1)
	}
	if err != nil || len(entries) == 0 {
		return Lag{}, err
	}
	first := entries[0]
	return Lag{Oldest: first.Messages[0].Time, Messages: part.Appended - min(first.Offset, part.Appended)}, nil
}

// isLost: the group will go on from the oldest entry kept.
func isLost(err error, at Position) bool {
	return errors.Is(err, ErrPositionLost) && at != (Position{})
}
