package queue

import (
	"context"
	"time"
)

// GroupStore keeps what the members of consumer groups share: a roster, which
// the library writes as a whole and compares before it swaps, and the positions.
// Who owns which partition is decided once, in this package, by what it puts in
// the roster.
//
// To the implementer: what LogEngine says of calls holds here too. A roster is
// at most 1 MiB.
type GroupStore interface {
	// Roster returns the group's roster for a topic, the number of its last swap,
	// and the engine's time, which must not jump with the wall clock where the
	// engine can help it. A group never seen has an empty roster and version 0.
	// A roster whose times cannot be compared with now any more (the host was
	// restarted since) comes back empty, under its version.
	Roster(ctx context.Context, group, topic string) (roster []byte, version int64, now time.Duration, err error)

	// Swap puts a roster in the place of the one of that version, under the next
	// version, or returns ErrConflict.
	Swap(ctx context.Context, group, topic string, version int64, roster []byte) error

	// Position returns the group's place in a partition: zero if it never committed.
	Position(ctx context.Context, group string, topic TopicID, partition int) (Position, error)

	// Commit moves the group's place from one position to another, or returns
	// ErrFenced if it did not stand at from.
	Commit(ctx context.Context, group string, topic TopicID, partition int, from, to Position) error
}
