package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LogEngine keeps topics: append-only logs in ordered partitions.
//
// To the implementer: every method may be called concurrently, by this process
// and by others on the same store. No method waits for messages to arrive; it
// may wait for a lock or the network, until ctx ends. After an error that is not
// one of this package's, the caller does not know whether the call took effect
// and finds out by asking again. What a caller passes in is not kept after the
// call returns, and what is returned is the caller's.
type LogEngine interface {
	// Caps says what this engine does. It never changes.
	Caps() Caps

	// Declare makes the topic if it is not there, and answers with the random ID
	// it got at its creation. Declaring again with the same partitions is the way
	// to change its bound; another number of partitions is an error that names both.
	// An engine starts with t.Check(caps), so that what it does not claim is refused
	// with ErrUnsupported.
	Declare(ctx context.Context, t TopicConfig) (TopicID, error)

	// Append adds all of b or none of it, and returns once it is as durable as Caps
	// says. A batch without messages does nothing. Where b.Segment is not zero and
	// Caps.Sequences is set, b.First must be the next number of that segment in this
	// partition (0 for one never seen), else a *SequenceError answers.
	// A batch that does not fit in the bound answers a *FullError.
	Append(ctx context.Context, topic string, partition int, b Batch) error

	// Read returns the entries from a position on, in order, until they hold at
	// least max messages or the log ends: possibly none, never a part of an entry
	// but at its start, where from may point into it. The zero position reads from
	// the oldest entry kept. ErrPositionLost: see there; the last entry that was
	// read to its end is still a position of the log after it was trimmed.
	Read(ctx context.Context, topic string, partition int, from Position, max int) ([]Entry, error)

	// Trim forgets the entries that end before the position, and only those: the
	// entry the position points into, or stands at the end of, is kept.
	Trim(ctx context.Context, topic string, partition int, before Position) error

	// Stats describes the topic as it is now.
	Stats(ctx context.Context, topic string) (TopicStats, error)
}

// Waiter is what an engine implements that can tell when there may be more to
// read. Without it readers poll.
type Waiter interface {
	// Wait returns when the topic may have grown since the call that returned seen,
	// or when ctx ends. It starts with 0, for which it returns at once. It may
	// return too often, but a caller that reads after Wait and finds nothing, then
	// waits with what Wait returned, misses nothing.
	Wait(ctx context.Context, topic string, seen uint64) (uint64, error)
}

// TopicConfig describes a topic.
type TopicConfig struct {
	Name       string // 1 to 100 of a-z, 0-9, '.', '-', '_'.
	Partitions int    // 1 to 1024. Default: 1. Fixed at creation.

	// MaxBytes bounds what the topic keeps, counted as the engine stores it, over
	// all partitions. At the bound Append answers ErrFull: what is in the topic is
	// never dropped for what comes. Default: 1 GiB. At least 64 KiB.
	MaxBytes int64

	// Durability is the least the caller accepts. Default: DurableNothing.
	Durability Durability

	// Sequences asks that the engine remembers the next number of each segment.
	Sequences bool
}

const (
	defaultMaxBytes = 1 << 30
	maxPartitions   = 1024
)

// Check fills in the defaults and refuses what is out of range, or what the
// engine of these capabilities does not claim.
func (t TopicConfig) Check(c Caps) (TopicConfig, error) {
	if err := CheckName("Name", t.Name); err != nil {
		return t, err
	}
	if t.Partitions == 0 {
		t.Partitions = 1
	}
	if t.Partitions < 1 || t.Partitions > maxPartitions {
		return t, fmt.Errorf("topic %q: Partitions is %d, must be 1 to %d", t.Name, t.Partitions, maxPartitions)
	}
	if t.MaxBytes == 0 {
		t.MaxBytes = defaultMaxBytes
	}
	if t.MaxBytes < 64<<10 {
		return t, fmt.Errorf("topic %q: MaxBytes is %d, must be at least 65536", t.Name, t.MaxBytes)
	}
	if t.Durability > c.Durability {
		return t, fmt.Errorf("topic %q: Durability %q wanted, engine %s keeps what it took through %q: %w",
			t.Name, t.Durability, c.Engine, c.Durability, ErrUnsupported)
	}
	if t.Sequences && !c.Sequences {
		return t, fmt.Errorf("topic %q: Sequences wanted, engine %s does not remember segment numbers: %w",
			t.Name, c.Engine, ErrUnsupported)
	}
	return t, nil
}

// CheckName tells whether a name can be a topic's or a group's: 1 to 100 of a-z,
// 0-9, '.', '-' and '_'. The error names the field.
func CheckName(field, name string) error {
	if len(name) < 1 || len(name) > 100 {
		return fmt.Errorf("%s is %d bytes long, must be 1 to 100", field, len(name))
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return fmt.Errorf("%s %q may only hold a-z, 0-9, '.', '-' and '_'", field, name)
		}
	}
	return nil
}

// TopicID is made at random when a topic is created and never used again: a topic
// that was deleted, or whose store was replaced, comes back with another.
type TopicID [16]byte

// SegmentID names a producer whose messages are numbered from 0. A segment
// belongs to one partition of one topic for life. The zero value is nobody.
type SegmentID [16]byte

// NewTopicID returns a random ID.
func NewTopicID() TopicID { return TopicID(randomID()) }

// NewSegmentID returns a random ID.
func NewSegmentID() SegmentID { return SegmentID(randomID()) }

func randomID() (id [16]byte) {
	rand.Read(id[:]) // Never fails, by its documentation.
	return id
}

// String returns 32 hexadecimal digits.
func (id TopicID) String() string { return hex.EncodeToString(id[:]) }

// String returns 32 hexadecimal digits.
func (id SegmentID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the ID is that of nobody.
func (id SegmentID) IsZero() bool { return id == SegmentID{} }

// ParseSegmentID reads what String wrote.
func ParseSegmentID(s string) (SegmentID, error) {
	id, err := parseID(s)
	return SegmentID(id), err
}

// ParseTopicID reads what String wrote.
func ParseTopicID(s string) (TopicID, error) {
	id, err := parseID(s)
	return TopicID(id), err
}

func parseID(s string) (id [16]byte, err error) {
	if len(s) != 32 {
		return id, fmt.Errorf("ID %q is not 32 hexadecimal digits", s)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return id, fmt.Errorf("ID %q is not 32 hexadecimal digits", s)
	}
	return id, nil
}

// Batch is what one Append adds: the unit of storage.
type Batch struct {
	Segment  SegmentID // Zero for messages of no segment.
	First    uint64    // Number of Messages[0] in its segment.
	Messages []Message
}

// Entry is a batch as it stands in a partition.
type Entry struct {
	Position Position // Of Messages[0].
	Next     Position // After the last message: where reading goes on.
	Offset   uint64   // Messages of this partition before Messages[0], since the topic's creation.
	Batch
}

// Position is an ordered place in one partition. The zero value is before
// everything. Entry is the engine's own word for an entry, the same for the same
// entry for ever and, where two positions are of one log, greater as a string for
// the later one; Index is how many messages of it are behind the position.
//
// A position of an entry carries a check that the engine made at random when it
// was appended, so that one from another life of the log is told apart.
type Position struct {
	Entry string
	Index int
}

// String returns "entry:index", or the empty string for the zero position.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return p.Entry + ":" + strconv.Itoa(p.Index)
}

// ParsePosition reads what String wrote.
func ParsePosition(s string) (Position, error) {
	if s == "" {
		return Position{}, nil
	}
	i := strings.LastIndexByte(s, ':')
	if i < 1 {
		return Position{}, fmt.Errorf("position %q is not entry:index", s)
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return Position{}, fmt.Errorf("position %q is not entry:index", s)
	}
	return Position{Entry: s[:i], Index: n}, nil
}

// TopicStats describes a topic at one moment.
type TopicStats struct {
	ID         TopicID
	Bytes      int64 // Kept now, counted as TopicConfig.MaxBytes is.
	MaxBytes   int64
	Partitions []PartitionStats
}

// PartitionStats describes one partition.
type PartitionStats struct {
	End      Position  // After the last message; zero while nothing was ever appended.
	Appended uint64    // Messages since the topic's creation, trimmed ones included.
	Oldest   time.Time // Time of the first message kept; zero if none is.
}
