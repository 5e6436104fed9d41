package queue

import (
	"context"
	"errors"
	"fmt"
)

// Mover is a LogEngine whose topics can be moved to another one with their IDs, their
// positions and the numbers of their segments, so that groups and producers go on there
// where they were. Nobody else may use the topic meanwhile.
type Mover interface {
	LogEngine
	// Numbers returns the next number of each segment that a partition remembers.
	Numbers(ctx context.Context, topic string, partition int) (map[SegmentID]uint64, error)
	// MakeTopic makes a topic with an ID from elsewhere. It does nothing if that topic
	// is there.
	MakeTopic(ctx context.Context, id TopicID, c TopicConfig) error
	// Place puts entries behind those that a partition has, at the positions they had
	// elsewhere. All or none are there afterwards.
	Place(ctx context.Context, topic string, partition int, entries []Entry) error
	// SetNumbers sets the next numbers of segments.
	SetNumbers(ctx context.Context, topic string, partition int, next map[SegmentID]uint64) error
}

// moveMessages is how many messages are on their way at once.
const moveMessages = 5000

// MoveTopic copies a topic, and compares the two afterwards. It can be called again
// after it was broken off, and goes on where it was. It returns how many messages the
// copy holds. A topic that is not there is no error.
func MoveTopic(ctx context.Context, to, from Mover, c TopicConfig) (messages uint64, err error) {
	stats, err := from.Stats(ctx, c.Name)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		c.Partitions = len(stats.Partitions)
		c.MaxBytes = stats.MaxBytes
		err = to.MakeTopic(ctx, stats.ID, c)
	}
	if err != nil {
		return 0, fmt.Errorf("move topic %q: %w", c.Name, err)
	}
	for p := range stats.Partitions {
		n, err := movePartition(ctx, to, from, c.Name, p)
		if err != nil {
			return messages, fmt.Errorf("move topic %q: partition %d: %w", c.Name, p, err)
		}
		messages += n
	}
	got, err := to.Stats(ctx, c.Name)
	if err != nil {
		return messages, fmt.Errorf("move topic %q: %w", c.Name, err)
	}
	for p, part := range stats.Partitions {
		if got.Partitions[p] != part {
			return messages, fmt.Errorf("move topic %q: partition %d is %+v in the copy, and %+v in the original", c.Name, p, got.Partitions[p], part)
		}
	}
	return messages, nil
}

func movePartition(ctx context.Context, to, from Mover, topic string, p int) (messages uint64, err error) {
	for at := (Position{}); ; {
		// What a try before has brought stands there already.
		entries, err := to.Read(ctx, topic, p, at, moveMessages)
		if err != nil {
			return 0, err
		}
		there := len(entries) > 0
		if !there {
			if entries, err = from.Read(ctx, topic, p, at, moveMessages); err != nil {
				return 0, err
			}
		}
		if len(entries) == 0 {
			break
		}
		if !there {
			if err := to.Place(ctx, topic, p, entries); err != nil {
				return 0, err
			}
		}
		for _, e := range entries {
			messages += uint64(len(e.Messages))
		}
		at = entries[len(entries)-1].Next
	}
	numbers, err := from.Numbers(ctx, topic, p)
	if err != nil {
		return 0, err
	}
	return messages, to.SetNumbers(ctx, topic, p, numbers)
}
