package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// Declare makes a topic, or changes its bound.
func (e *Engine) Declare(ctx context.Context, c queue.TopicConfig) (queue.TopicID, error) {
	c, err := c.Check(e.Caps())
	if err != nil {
		return queue.TopicID{}, err
	}
	id, err := e.declareAs(ctx, queue.NewTopicID(), c)
	if err != nil {
		return queue.TopicID{}, fmt.Errorf("declare topic %q: %w", c.Name, err)
	}
	return id, nil
}

// declareAs gives a topic that is made the ID, and returns that which it has.
func (e *Engine) declareAs(ctx context.Context, id queue.TopicID, c queue.TopicConfig) (queue.TopicID, error) {
	// Mostly it is there, as it shall be: then nothing is written.
	t, err := e.findTopic(ctx, c.Name)
	if err == nil && t.partitions == c.Partitions && t.maxBytes == c.MaxBytes {
		return t.id, nil
	}
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return queue.TopicID{}, err
	}
	made, err := collect(ctx, e, pgx.RowTo[[]byte], `
		WITH topic AS (
			INSERT INTO queue.topics AS t (name, id, partitions, max_bytes) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET max_bytes = excluded.max_bytes WHERE t.partitions = excluded.partitions
			RETURNING t.name, t.id, t.partitions
		), parts AS (
			INSERT INTO queue.partitions (topic, partition)
			SELECT name, n FROM topic, generate_series(0, partitions - 1) n
			ON CONFLICT (topic, partition) DO NOTHING
		)
		SELECT id FROM topic`, c.Name, id[:], c.Partitions, c.MaxBytes)
	if err != nil {
		return queue.TopicID{}, err
	}
	if len(made) == 0 {
		if t, err = e.findTopic(ctx, c.Name); err != nil {
			return queue.TopicID{}, err
		}
		return queue.TopicID{}, fmt.Errorf("the topic was made with %d partitions, Partitions is %d", t.partitions, c.Partitions)
	}
	return topicID(made[0])
}

type topic struct {
	id         queue.TopicID
	partitions int
	maxBytes   int64
}

func (e *Engine) findTopic(ctx context.Context, name string) (topic, error) {
	all, err := collect(ctx, e, func(row pgx.CollectableRow) (t topic, err error) {
		var id []byte
		if err := row.Scan(&id, &t.partitions, &t.maxBytes); err != nil {
			return t, err
		}
		t.id, err = topicID(id)
		return t, err
	}, "SELECT id, partitions, max_bytes FROM queue.topics WHERE name = $1", name)
	if err != nil {
		return topic{}, err
	}
	if len(all) == 0 {
		return topic{}, queue.ErrNotFound
	}
	return all[0], nil
}

func topicID(b []byte) (id queue.TopicID, err error) {
	if copy(id[:], b) != len(id) {
		return id, fmt.Errorf("the topic's ID has %d bytes", len(b))
	}
	return id, nil
}

// Append adds a batch.
func (e *Engine) Append(ctx context.Context, name string, p int, b queue.Batch) error {
	if err := e.append(ctx, name, p, b); err != nil {
		return fmt.Errorf("append to topic %q, partition %d: %w", name, p, err)
	}
	return nil
}

func (e *Engine) append(ctx context.Context, name string, p int, b queue.Batch) error {
	frames := queue.AppendFrames(nil, b.Messages)
	if len(frames) > maxBatchBytes {
		return fmt.Errorf("batch of %d bytes, at most %d are taken", len(frames), maxBatchBytes)
	}
	if len(b.Messages) == 0 {
		return e.findPartition(ctx, name, p)
	}
	var segment []byte // Of none: null.
	if !b.Segment.IsZero() {
		segment = b.Segment[:]
	}
	var earliest *int64
	if t := b.Earliest(); !t.IsZero() {
		nanos := t.UnixNano()
		earliest = &nanos
	}
	type answer struct {
		Outcome  string
		Expected *int64
	}
	answers, err := collect(ctx, e, pgx.RowToStructByPos[answer],
		"SELECT outcome, expected FROM queue.append($1::text, $2::int, $3::int, $4::bigint, $5::bytea, $6::bigint, $7::bigint, $8::bytea)",
		name, p, len(b.Messages), int64(rand.Uint32()), segment, int64(b.First), earliest, frames)
	if err != nil {
		return err
	}
	switch a := answers[0]; a.Outcome {
	case "appended":
		e.grew(name)
		return nil
	case "not found":
		return queue.ErrNotFound
	case "full":
		return &queue.FullError{Subject: fmt.Sprintf("topic %q", name), RetryAfter: 5 * time.Second}
	case "out of sequence":
		return &queue.SequenceError{Segment: b.Segment, Expected: uint64(*a.Expected)}
	default:
		return fmt.Errorf("the server's append function answers %q", a.Outcome)
	}
}

func (e *Engine) findPartition(ctx context.Context, name string, p int) error {
	found, err := collect(ctx, e, pgx.RowTo[int], "SELECT 1 FROM queue.partitions WHERE topic = $1 AND partition = $2", name, p)
	if err == nil && len(found) == 0 {
		return queue.ErrNotFound
	}
	return err
}

// stored is a row of entries, or of none where a partition has none in the range.
type stored struct {
	Oldest  int64 // Of the partition.
	Base    *int64
	Mark    int64
	Count   int
	Segment []byte
	First   int64
	Frames  []byte // Null where all of it lies before the place.
}

// Read returns entries from a position on.
func (e *Engine) Read(ctx context.Context, name string, p int, from queue.Position, max int) ([]queue.Entry, error) {
	entries, err := e.read(ctx, name, p, from, max)
	if err != nil {
		return nil, fmt.Errorf("read topic %q, partition %d: %w", name, p, err)
	}
	return entries, nil
}

func (e *Engine) read(ctx context.Context, name string, p int, from queue.Position, limit int) ([]queue.Entry, error) {
	at, lost := parsePlace(from)
	if lost != nil || limit <= 0 {
		limit = 0 // Only to see whether position and partition are there.
	}
	// Entries stand without a gap, so offsets tell where enough messages end. The
	// entry of the position comes too, to be checked.
	rows, err := collect(ctx, e, pgx.RowToStructByPos[stored], `
		SELECT p.oldest, e.base, coalesce(e.mark, 0), coalesce(e.count, 0), e.segment, coalesce(e.first, 0),
			CASE WHEN e.base + e.count > $4::bigint AND $5::bigint > 0 THEN e.frames END
		FROM queue.partitions p
		LEFT JOIN queue.entries e ON e.part = p.part AND e.base >= greatest($3::bigint, p.oldest)
			AND e.base < greatest($3::bigint + 1, $4::bigint + $5::bigint, p.oldest + $5::bigint)
		WHERE p.topic = $1::text AND p.partition = $2::int
		ORDER BY e.base`, name, p, at.base, at.offset(), int64(min(limit, 1<<40)))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, queue.ErrNotFound
	}
	if lost != nil {
		return nil, lost
	}
	if err := at.check(rows[0]); err != nil {
		return nil, err
	}
	var entries []queue.Entry
	for _, r := range rows {
		if r.Frames == nil {
			continue
		}
		one, err := r.entry()
		if err != nil {
			return nil, err
		}
		entries = append(entries, one.From(int(max(0, at.offset()-*r.Base))))
	}
	return entries, nil
}

func (r stored) entry() (one queue.Entry, err error) {
	name := queue.FormatEntry(uint64(*r.Base), uint32(r.Mark))
	if one.Messages, err = queue.DecodeFrames(r.Frames, r.Count); err != nil {
		return one, fmt.Errorf("entry %s: %w", name, err)
	}
	copy(one.Segment[:], r.Segment)
	one.First, one.Offset = uint64(r.First), uint64(*r.Base)
	one.Position, one.Next = queue.Position{Entry: name}, queue.Position{Entry: name, Index: r.Count}
	return one, nil
}

// place is a position, read.
type place struct {
	start bool // The zero position: before everything.
	base  int64
	index int64
	mark  uint32
}

// parsePlace returns ErrPositionLost for what no log of this engine ever gave.
func parsePlace(at queue.Position) (place, error) {
	if at == (queue.Position{}) {
		return place{start: true}, nil
	}
	base, mark, err := queue.ParseEntry(at.Entry)
	if err != nil {
		return place{}, err
	}
	if base > 1<<62 || at.Index < 0 || at.Index > 1<<32 {
		return place{}, fmt.Errorf("position %s: %w", at, queue.ErrPositionLost)
	}
	return place{base: int64(base), index: int64(at.Index), mark: mark}, nil
}

// offset is the number of messages before the place.
func (p place) offset() int64 { return p.base + p.index }

// check tells whether the log holds the place, by the first row from its base on.
func (p place) check(r stored) error {
	switch {
	case p.start:
		return nil
	case r.Base != nil && *r.Base == p.base && uint32(r.Mark) == p.mark && p.index <= int64(r.Count):
		return nil
	case p.base < r.Oldest && p.offset() == r.Oldest:
		return nil // It stands at the end of what was trimmed.
	}
	return fmt.Errorf("position %s:%d: %w", queue.FormatEntry(uint64(p.base), p.mark), p.index, queue.ErrPositionLost)
}

// What one transaction forgets at most, so that it is short.
const (
	trimEntries = 500
	trimBytes   = 16 << 20 // And the entry that passes it.
)

// Trim forgets entries that end before a position.
func (e *Engine) Trim(ctx context.Context, name string, p int, before queue.Position) error {
	if err := e.trim(ctx, name, p, before); err != nil {
		return fmt.Errorf("trim topic %q, partition %d: %w", name, p, err)
	}
	return nil
}

func (e *Engine) trim(ctx context.Context, name string, p int, before queue.Position) error {
	if _, err := e.read(ctx, name, p, before, 0); err != nil || before == (queue.Position{}) {
		return err
	}
	at, err := parsePlace(before)
	if err != nil {
		return err
	}
	today := int(e.cfg.Now().Unix() / (24 * 60 * 60))
	for {
		more, err := collect(ctx, e, pgx.RowTo[bool], "SELECT more FROM queue.trim($1::text, $2::int, $3::bigint, $4::int, $5::bigint, $6::int, $7::int)",
			name, p, at.base, trimEntries, int64(trimBytes), today, today-segmentDays)
		if err != nil || !more[0] {
			return err
		}
	}
}
