package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

var _ queue.Mover = (*Engine)(nil)

// MakeTopic makes a topic with an ID from elsewhere.
func (e *Engine) MakeTopic(ctx context.Context, id queue.TopicID, c queue.TopicConfig) error {
	c, err := c.Check(e.Caps())
	if err != nil {
		return err
	}
	got, err := e.declareAs(ctx, id, c)
	if err == nil && got != id {
		err = fmt.Errorf("there is another topic of that name")
	}
	if err != nil {
		return fmt.Errorf("make topic %q: %w", c.Name, err)
	}
	return nil
}

// Numbers returns the next number of each segment that a partition remembers.
func (e *Engine) Numbers(ctx context.Context, name string, p int) (map[queue.SegmentID]uint64, error) {
	type number struct {
		Segment []byte
		Next    int64
	}
	all, err := collect(ctx, e, pgx.RowToStructByPos[number], `
		SELECT segment, max(next) FROM (
			SELECT e.segment, e.first + e.count AS next FROM queue.partitions p JOIN queue.entries e ON e.part = p.part
			WHERE p.topic = $1::text AND p.partition = $2::int AND e.segment IS NOT NULL
			UNION ALL
			SELECT s.segment, s.next FROM queue.partitions p JOIN queue.segments s ON s.part = p.part
			WHERE p.topic = $1::text AND p.partition = $2::int
		) AS numbers GROUP BY segment`, name, p)
	if err != nil {
		return nil, fmt.Errorf("numbers of topic %q, partition %d: %w", name, p, err)
	}
	next := map[queue.SegmentID]uint64{}
	for _, n := range all {
		next[queue.SegmentID(n.Segment)] = uint64(n.Next)
	}
	return next, nil
}

// Place puts entries behind those that a partition has.
func (e *Engine) Place(ctx context.Context, name string, p int, entries []queue.Entry) error {
	var bases, marks, counts, firsts []int64
	var earliest []*int64
	var segments, frames [][]byte
	for _, one := range entries {
		base, mark, err := queue.ParseEntry(one.Position.Entry)
		if err != nil {
			return fmt.Errorf("place in topic %q, partition %d: %w", name, p, err)
		}
		var segment []byte
		if !one.Segment.IsZero() {
			segment = one.Segment[:]
		}
		var first *int64
		if t := (queue.Batch{Messages: one.Messages}).Earliest(); !t.IsZero() {
			nanos := t.UnixNano()
			first = &nanos
		}
		bases, marks, counts = append(bases, int64(base)), append(marks, int64(mark)), append(counts, int64(len(one.Messages)))
		segments, firsts, earliest = append(segments, segment), append(firsts, int64(one.First)), append(earliest, first)
		frames = append(frames, queue.AppendFrames(nil, one.Messages))
	}
	// The first entries of a partition are the oldest that it has.
	_, err := collect(ctx, e, pgx.RowTo[int64], `
		WITH moved AS (
			SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[], $9::bytea[])
				AS m (base, mark, count, segment, first, earliest, frames)
		), part AS (
			SELECT p.part, (SELECT e.total FROM queue.entries e WHERE e.part = p.part ORDER BY e.base DESC LIMIT 1) AS total
			FROM queue.partitions p WHERE p.topic = $1::text AND p.partition = $2::int
		), placed AS (
			INSERT INTO queue.entries (part, base, mark, count, total, segment, first, earliest, frames)
			SELECT part, base, mark, count,
				coalesce(total, 0) + sum(length(frames)) OVER (ORDER BY base), segment, first, earliest, frames
			FROM moved, part
			RETURNING base
		)
		UPDATE queue.partitions p SET oldest = (SELECT min(base) FROM placed)
		FROM part WHERE p.part = part.part AND part.total IS NULL
		RETURNING p.part`, name, p, bases, marks, counts, segments, firsts, earliest, frames)
	if err != nil {
		return fmt.Errorf("place in topic %q, partition %d: %w", name, p, err)
	}
	return nil
}

// SetNumbers sets the next numbers of segments.
func (e *Engine) SetNumbers(ctx context.Context, name string, p int, next map[queue.SegmentID]uint64) error {
	var segments [][]byte
	var numbers []int64
	for segment, n := range next {
		segments, numbers = append(segments, segment[:]), append(numbers, int64(n))
	}
	today := int(e.cfg.Now().Unix() / (24 * 60 * 60))
	_, err := collect(ctx, e, pgx.RowTo[int64], `
		INSERT INTO queue.segments (part, segment, next, seen_on)
		SELECT p.part, s.segment, s.next, $5::int
		FROM queue.partitions p, unnest($3::bytea[], $4::bigint[]) AS s (segment, next)
		WHERE p.topic = $1::text AND p.partition = $2::int
		ON CONFLICT (part, segment) DO UPDATE SET next = excluded.next, seen_on = excluded.seen_on
		RETURNING part`, name, p, segments, numbers, today)
	if err != nil {
		return fmt.Errorf("numbers of topic %q, partition %d: %w", name, p, err)
	}
	return nil
}
