package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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
			INSERT INTO queue.topics AS t (name, id, partitions) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET name = excluded.name WHERE t.partitions = excluded.partitions
			RETURNING t.name, t.id, t.partitions
		), parts AS (
			INSERT INTO queue.partitions (topic, partition, max_bytes)
			SELECT name, n, $4 FROM topic, generate_series(0, partitions - 1) n
			ON CONFLICT (topic, partition) DO UPDATE SET max_bytes = excluded.max_bytes
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
	}, `
		SELECT t.id, t.partitions, p.max_bytes
		FROM queue.topics t JOIN queue.partitions p ON p.topic = t.name AND p.partition = 0
		WHERE t.name = $1`, name)
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
		_, err := e.oldest(ctx, name, p)
		return err
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
	answers, err := collect(ctx, e, pgx.RowTo[string],
		"SELECT queue.append($1::text, $2::int, $3::int, $4::bigint, $5::bytea, $6::bigint, $7::bigint, $8::bytea)",
		name, p, len(b.Messages), int64(rand.Uint32()), segment, int64(b.First), earliest, frames)
	if err != nil {
		return err
	}
	switch answers[0] {
	case "appended":
		e.grew(name)
		return nil
	case "not found":
		return queue.ErrNotFound
	case "full":
		return &queue.FullError{Subject: fmt.Sprintf("topic %q", name), RetryAfter: 5 * time.Second}
	}
	expected, err := strconv.ParseInt(answers[0], 10, 64)
	if err != nil {
		return fmt.Errorf("the server's append answers %q", answers[0])
	}
	return &queue.SequenceError{Segment: b.Segment, Expected: uint64(expected)}
}

// Read returns entries from a position on.
func (e *Engine) Read(ctx context.Context, name string, p int, from queue.Position, max int) ([]queue.Entry, error) {
	entries, err := e.read(ctx, name, p, from, max)
	if err != nil {
		return nil, fmt.Errorf("read topic %q, partition %d: %w", name, p, err)
	}
	return entries, nil
}

func (e *Engine) read(ctx context.Context, name string, p int, from queue.Position, max int) ([]queue.Entry, error) {
	at, lost := parsePlace(from)
	if lost == nil && !at.start {
		// Mostly the entry of the position is there: it comes too, to be checked.
		rows, err := e.readFrom(ctx, name, p, at.base, at.offset(), max)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 && rows[0].base == at.base {
			if err := at.check(rows[0].mark, rows[0].count); err != nil {
				return nil, err
			}
			return entries(rows, at.offset())
		}
	}
	for {
		oldest, err := e.oldest(ctx, name, p)
		if err != nil {
			return nil, err
		}
		if lost == nil {
			lost = at.checkOldest(oldest)
		}
		if lost != nil {
			return nil, lost
		}
		rows, err := e.readFrom(ctx, name, p, oldest, oldest, max)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 && rows[0].base == oldest {
			return entries(rows, oldest)
		}
		// Nothing was ever appended, or it was trimmed meanwhile.
		if again, err := e.oldest(ctx, name, p); err != nil || again == oldest {
			return nil, err
		}
	}
}

// oldest returns the offset of the first message kept in a partition.
func (e *Engine) oldest(ctx context.Context, name string, p int) (int64, error) {
	found, err := collect(ctx, e, pgx.RowTo[int64], "SELECT oldest FROM queue.partitions WHERE topic = $1 AND partition = $2", name, p)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, queue.ErrNotFound
	}
	return found[0], nil
}

// stored is a row of entries.
type stored struct {
	base    int64
	mark    int64
	count   int
	segment queue.SegmentID
	first   int64
	frames  []byte // Null where all of it lies before what is read.
}

// scanStored collects rows, with no more memory for each than its frames take.
func scanStored(rows pgx.Rows) (all []stored, err error) {
	var r stored
	var segment pgtype.DriverBytes // Not a copy.
	_, err = pgx.ForEachRow(rows, []any{&r.base, &r.mark, &r.count, &segment, &r.first, &r.frames}, func() error {
		r.segment = queue.SegmentID{}
		copy(r.segment[:], segment)
		all = append(all, r)
		return nil
	})
	return all, err
}

// readFrom returns the row of that base, if it is there, and those that hold the
// messages from an offset on, at least so many.
func (e *Engine) readFrom(ctx context.Context, name string, p int, base, offset int64, limit int) (all []stored, err error) {
	end := offset + int64(max(0, min(limit, 1<<40)))
	err = e.try(ctx, func(ctx context.Context) error {
		rows, err := e.pool.Query(ctx, e.statement(
			"SELECT base, mark, count, segment, first, frames FROM queue.read($1::text, $2::int, $3::bigint, $4::bigint, $5::bigint)"),
			e.mode, name, p, base, offset, end)
		if err != nil {
			return err
		}
		all, err = scanStored(rows)
		return err
	})
	return all, err
}

// entries decodes rows, from an offset on.
func entries(rows []stored, offset int64) ([]queue.Entry, error) {
	all := make([]queue.Entry, 0, len(rows))
	for _, r := range rows {
		if r.frames == nil {
			continue
		}
		one, err := r.entry()
		if err != nil {
			return nil, err
		}
		all = append(all, one.From(int(max(0, offset-r.base))))
	}
	return all, nil
}

func (r stored) entry() (one queue.Entry, err error) {
	name := queue.FormatEntry(uint64(r.base), uint32(r.mark))
	if one.Messages, err = queue.DecodeFrames(r.frames, r.count); err != nil {
		return one, fmt.Errorf("entry %s: %w", name, err)
	}
	one.Segment, one.First, one.Offset = r.segment, uint64(r.first), uint64(r.base)
	one.Position, one.Next = queue.Position{Entry: name}, queue.Position{Entry: name, Index: r.count}
	return one, nil
}
