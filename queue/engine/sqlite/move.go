package sqlite

import (
	"context"
	"errors"
	"fmt"

	"snip/internal/sqlitefile"
	"snip/queue"
)

var _ queue.Mover = (*Engine)(nil)

// MakeTopic makes a topic with an ID from elsewhere.
func (e *Engine) MakeTopic(ctx context.Context, id queue.TopicID, c queue.TopicConfig) error {
	c, err := c.Check(e.Caps())
	if err != nil {
		return err
	}
	return e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		t, err := findTopic(ctx, tx, c.Name)
		if err == nil && t.id != id {
			return fmt.Errorf("there is another topic %q", c.Name)
		}
		if errors.Is(err, queue.ErrNotFound) {
			return insertTopic(ctx, tx, id, c)
		}
		return err
	})
}

// Numbers returns the next number of each segment that a partition remembers.
func (e *Engine) Numbers(ctx context.Context, name string, p int) (map[queue.SegmentID]uint64, error) {
	next := map[queue.SegmentID]uint64{}
	err := e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		at, err := findPartition(ctx, tx, name, p)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT segment, next FROM queue_segments WHERE part = $1", at.part)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var segment []byte
			var n uint64
			if err := rows.Scan(&segment, &n); err != nil {
				return err
			}
			next[queue.SegmentID(segment)] = n
		}
		return rows.Err()
	})
	return next, err
}

// Place puts entries behind those that a partition has.
func (e *Engine) Place(ctx context.Context, name string, p int, entries []queue.Entry) error {
	return e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		at, err := findPartition(ctx, tx, name, p)
		if err != nil {
			return err
		}
		var bytes int
		for _, one := range entries {
			base, mark, err := queue.ParseEntry(one.Position.Entry)
			if err != nil {
				return err
			}
			frames := queue.AppendFrames(nil, one.Messages)
			bytes += len(frames)
			b := queue.Batch{Segment: one.Segment, First: one.First, Messages: one.Messages}
			if err := insertEntry(ctx, tx, at.part, int64(base), mark, b, frames); err != nil {
				return err
			}
			at.appended = int64(base) + int64(len(one.Messages))
		}
		_, err = tx.ExecContext(ctx, "UPDATE queue_partitions SET appended = $2 WHERE part = $1", at.part, at.appended)
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE queue_topics SET bytes = bytes + $2 WHERE name = $1", name, bytes)
		}
		return err
	})
}

// SetNumbers sets the next numbers of segments.
func (e *Engine) SetNumbers(ctx context.Context, name string, p int, next map[queue.SegmentID]uint64) error {
	return e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		at, err := findPartition(ctx, tx, name, p)
		if err != nil {
			return err
		}
		for segment, n := range next {
			_, err := tx.ExecContext(ctx, `
				INSERT INTO queue_segments (part, segment, next, seen_at) VALUES ($1, $2, $3, $4)
				ON CONFLICT (part, segment) DO UPDATE SET next = excluded.next, seen_at = excluded.seen_at`,
				at.part, segment[:], int64(n), e.cfg.Now().Unix())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
