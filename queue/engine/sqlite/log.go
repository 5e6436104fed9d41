package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// Declare makes a topic, or changes its bound.
func (e *Engine) Declare(ctx context.Context, c queue.TopicConfig) (id queue.TopicID, err error) {
	c, err = c.Check(e.Caps())
	if err != nil {
		return id, err
	}
	// Mostly it is there, as it shall be: then nothing is written.
	var same bool
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		var t topic
		t, err := findTopic(ctx, tx, c.Name)
		same = err == nil && t.maxBytes == c.MaxBytes && t.partitions == c.Partitions
		id = t.id
		if errors.Is(err, queue.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || same {
		return id, err
	}
	var declared queue.TopicID
	err = e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) (err error) {
		declared, err = declare(ctx, tx, c)
		return err
	})
	if err != nil {
		return id, err // Declared may still be written to.
	}
	return declared, nil
}

func declare(ctx context.Context, tx sqlitefile.Tx, c queue.TopicConfig) (queue.TopicID, error) {
	t, err := findTopic(ctx, tx, c.Name)
	if errors.Is(err, queue.ErrNotFound) {
		return create(ctx, tx, c)
	}
	if err != nil {
		return t.id, err
	}
	if t.partitions != c.Partitions {
		return t.id, fmt.Errorf("topic %q: Partitions is %d, but the topic was made with %d", c.Name, c.Partitions, t.partitions)
	}
	_, err = tx.ExecContext(ctx, "UPDATE queue_topics SET max_bytes = $2 WHERE name = $1", c.Name, c.MaxBytes)
	return t.id, err
}

func create(ctx context.Context, tx sqlitefile.Tx, c queue.TopicConfig) (queue.TopicID, error) {
	id := queue.NewTopicID()
	return id, insertTopic(ctx, tx, id, c)
}

func insertTopic(ctx context.Context, tx sqlitefile.Tx, id queue.TopicID, c queue.TopicConfig) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO queue_topics (name, id, partitions, max_bytes) VALUES ($1, $2, $3, $4)",
		c.Name, id[:], c.Partitions, c.MaxBytes)
	for p := 0; p < c.Partitions && err == nil; p++ {
		_, err = tx.ExecContext(ctx, "INSERT INTO queue_partitions (topic, partition) VALUES ($1, $2)", c.Name, p)
	}
	return err
}

type topic struct {
	id         queue.TopicID
	partitions int
	bytes      int64
	maxBytes   int64
}

func findTopic(ctx context.Context, tx sqlitefile.Tx, name string) (t topic, err error) {
	var id []byte
	err = tx.QueryRowContext(ctx, "SELECT id, partitions, bytes, max_bytes FROM queue_topics WHERE name = $1", name).
		Scan(&id, &t.partitions, &t.bytes, &t.maxBytes)
	if errors.Is(err, sql.ErrNoRows) {
		return t, fmt.Errorf("topic %q: %w", name, queue.ErrNotFound)
	}
	if err != nil {
		return t, fmt.Errorf("topic %q: %w", name, err)
	}
	copy(t.id[:], id)
	return t, nil
}

type partition struct {
	part     int64
	appended int64
	bytes    int64 // Of the whole topic.
	maxBytes int64
}

func findPartition(ctx context.Context, tx sqlitefile.Tx, name string, p int) (x partition, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT p.part, p.appended, t.bytes, t.max_bytes
		FROM queue_partitions p JOIN queue_topics t ON t.name = p.topic
		WHERE p.topic = $1 AND p.partition = $2`, name, p).
		Scan(&x.part, &x.appended, &x.bytes, &x.maxBytes)
	if errors.Is(err, sql.ErrNoRows) {
		return x, fmt.Errorf("topic %q: partition %d: %w", name, p, queue.ErrNotFound)
	}
	if err != nil {
		return x, fmt.Errorf("topic %q: partition %d: %w", name, p, err)
	}
	return x, nil
}

// Append adds a batch.
func (e *Engine) Append(ctx context.Context, name string, p int, b queue.Batch) error {
	frames := queue.AppendFrames(nil, b.Messages)
	if len(frames) > maxBatchBytes {
		return fmt.Errorf("batch of %d bytes, at most %d are taken", len(frames), maxBatchBytes)
	}
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		return e.append(ctx, tx, name, p, b, frames)
	})
	if err == nil {
		e.waker.ringLog()
	}
	return err
}

func (e *Engine) append(ctx context.Context, tx sqlitefile.Tx, name string, p int, b queue.Batch, frames []byte) error {
	at, err := findPartition(ctx, tx, name, p)
	if err != nil || len(b.Messages) == 0 {
		return err
	}
	if !b.Segment.IsZero() {
		if err := e.sequence(ctx, tx, at.part, b); err != nil {
			return err
		}
	}
	if at.bytes+int64(len(frames)) > at.maxBytes {
		return &queue.FullError{Subject: fmt.Sprintf("topic %q", name), RetryAfter: 5 * time.Second}
	}
	err = insertEntry(ctx, tx, at.part, at.appended, rand.Uint32(), b, frames)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE queue_partitions SET appended = appended + $2 WHERE part = $1", at.part, len(b.Messages))
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE queue_topics SET bytes = bytes + $2 WHERE name = $1", name, len(frames))
	}
	if err != nil {
		return fmt.Errorf("topic %q: append: %w", name, err)
	}
	return nil
}

func insertEntry(ctx context.Context, tx sqlitefile.Tx, part, base int64, mark uint32, b queue.Batch, frames []byte) error {
	var earliest sql.NullInt64
	if t := b.Earliest(); !t.IsZero() {
		earliest = sql.NullInt64{Int64: t.UnixNano(), Valid: true}
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO queue_entries (part, base, mark, count, segment, first, earliest, frames)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		part, base, mark, len(b.Messages), b.Segment[:], int64(b.First), earliest, frames)
	return err
}

// sequence checks that the batch is the next of its segment, and makes the one
// after it the next.
func (e *Engine) sequence(ctx context.Context, tx sqlitefile.Tx, part int64, b queue.Batch) error {
	var next int64
	err := tx.QueryRowContext(ctx, "SELECT next FROM queue_segments WHERE part = $1 AND segment = $2", part, b.Segment[:]).Scan(&next)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("segment %s: %w", b.Segment, err)
	}
	if uint64(next) != b.First {
		return &queue.SequenceError{Segment: b.Segment, Expected: uint64(next)}
	}
	now := e.cfg.Now()
	_, err = tx.ExecContext(ctx, `
		INSERT INTO queue_segments (part, segment, next, seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (part, segment) DO UPDATE SET next = excluded.next, seen_at = excluded.seen_at`,
		part, b.Segment[:], next+int64(len(b.Messages)), now.Unix())
	if err == nil && next == 0 {
		// Each new segment removes a few of those whose time is over.
		_, err = tx.ExecContext(ctx, `
			DELETE FROM queue_segments WHERE (part, segment) IN
			(SELECT part, segment FROM queue_segments WHERE seen_at < $1 LIMIT 10)`, now.Add(-segmentMemory).Unix())
	}
	if err != nil {
		return fmt.Errorf("segment %s: %w", b.Segment, err)
	}
	return nil
}

// Read returns entries from a position on.
func (e *Engine) Read(ctx context.Context, name string, p int, from queue.Position, max int) (entries []queue.Entry, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		at, err := findPartition(ctx, tx, name, p)
		if err != nil {
			return err
		}
		base, skip, err := seek(ctx, tx, at, from)
		if err != nil {
			return err
		}
		entries, err = readEntries(ctx, tx, at.part, base, skip, max)
		return err
	})
	return entries, err
}

func readEntries(ctx context.Context, tx sqlitefile.Tx, part, base int64, skip, max int) ([]queue.Entry, error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT base, mark, count, segment, first, frames FROM queue_entries
		WHERE part = $1 AND base >= $2 ORDER BY base`, part, base)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var entries []queue.Entry
	for n := 0; n < max && rows.Next(); {
		var one queue.Entry
		var base, first int64
		var mark uint32
		var count int
		var segment, frames []byte
		if err := rows.Scan(&base, &mark, &count, &segment, &first, &frames); err != nil {
			return nil, err
		}
		entry := queue.FormatEntry(uint64(base), mark)
		if one.Messages, err = queue.DecodeFrames(frames, count); err != nil {
			return nil, fmt.Errorf("entry %s: %w", entry, err)
		}
		copy(one.Segment[:], segment)
		one.First, one.Offset = uint64(first), uint64(base)
		one.Position, one.Next = queue.Position{Entry: entry}, queue.Position{Entry: entry, Index: count}
		entries = append(entries, one.From(skip))
		n += count - skip
		skip = 0
	}
	return entries, rows.Err()
}

// seek finds the base of the entry to read first, and how many of its messages to
// skip.
func seek(ctx context.Context, tx sqlitefile.Tx, at partition, from queue.Position) (base int64, skip int, err error) {
	if from == (queue.Position{}) {
		return 0, 0, nil
	}
	offset, check, err := queue.ParseEntry(from.Entry)
	if err != nil {
		return 0, 0, err
	}
	base = int64(offset)
	var mark uint32
	var count int
	err = tx.QueryRowContext(ctx, "SELECT mark, count FROM queue_entries WHERE part = $1 AND base = $2", at.part, base).Scan(&mark, &count)
	switch {
	case err == nil && mark == check && from.Index >= 0 && from.Index < count:
		return base, from.Index, nil
	case err == nil && mark == check && from.Index == count:
		return base + int64(count), 0, nil
	case errors.Is(err, sql.ErrNoRows):
		// It may stand at the end of what was trimmed.
		oldest, err := oldest(ctx, tx, at)
		if err != nil {
			return 0, 0, err
		}
		if base < oldest && base+int64(from.Index) == oldest {
			return oldest, 0, nil
		}
	case err != nil:
		return 0, 0, err
	}
	return 0, 0, fmt.Errorf("position %s: %w", from, queue.ErrPositionLost)
}

// oldest returns the offset of the first message kept.
func oldest(ctx context.Context, tx sqlitefile.Tx, at partition) (int64, error) {
	var base sql.NullInt64
	err := tx.QueryRowContext(ctx, "SELECT MIN(base) FROM queue_entries WHERE part = $1", at.part).Scan(&base)
	if err != nil || base.Valid {
		return base.Int64, err
	}
	return at.appended, nil
}

// What one transaction forgets at most, so that others get the lock.
const (
	trimEntries = 500
	trimBytes   = 4 << 20 // And the entry that passes it.
)

// Trim forgets entries that end before a position.
func (e *Engine) Trim(ctx context.Context, name string, p int, before queue.Position) error {
	if before == (queue.Position{}) {
		return e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
			_, err := findPartition(ctx, tx, name, p)
			return err
		})
	}
	for more := true; more; {
		err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) (err error) {
			more, err = trim(ctx, tx, name, p, before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// trim takes one step, and tells whether there may be more to forget.
func trim(ctx context.Context, tx sqlitefile.Tx, name string, p int, before queue.Position) (bool, error) {
	at, err := findPartition(ctx, tx, name, p)
	if err != nil {
		return false, err
	}
	if _, _, err := seek(ctx, tx, at, before); err != nil {
		return false, err
	}
	base, _, err := queue.ParseEntry(before.Entry)
	if err != nil {
		return false, err
	}
	last, n, bytes, err := oldestUpTo(ctx, tx, at.part, int64(base))
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM queue_entries WHERE part = $1 AND base <= $2", at.part, last); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE queue_topics SET bytes = bytes - $2 WHERE name = $1", name, bytes)
	return n == trimEntries || bytes >= trimBytes, err
}

// oldestUpTo finds the oldest entries before a base, as many as one step forgets.
func oldestUpTo(ctx context.Context, tx sqlitefile.Tx, part, base int64) (last int64, n int, bytes int64, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT base, length(frames) FROM queue_entries
		WHERE part = $1 AND base < $2 ORDER BY base LIMIT $3`, part, base, trimEntries)
	if err != nil {
		return 0, 0, 0, err
	}
	defer rows.Close()
	for bytes < trimBytes && rows.Next() {
		var size int64
		if err := rows.Scan(&last, &size); err != nil {
			return 0, 0, 0, err
		}
		n++
		bytes += size
	}
	return last, n, bytes, rows.Err()
}
