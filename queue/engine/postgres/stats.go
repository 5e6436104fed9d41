package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// Stats describes a topic.
func (e *Engine) Stats(ctx context.Context, name string) (queue.TopicStats, error) {
	type row struct {
		ID             []byte
		MaxBytes, Kept int64
		Base, Mark     *int64 // Of the last entry. Null: nothing was ever appended.
		Count          *int
		Earliest       *int64 // Of the first.
	}
	rows, err := collect(ctx, e, pgx.RowToStructByPos[row], `
		SELECT t.id, p.max_bytes, coalesce(last.total, 0) - p.trimmed, last.base, last.mark, last.count, oldest.earliest
		FROM queue.topics t JOIN queue.partitions p ON p.topic = t.name
		LEFT JOIN LATERAL (
			SELECT base, mark, count, total FROM queue.entries e WHERE e.part = p.part ORDER BY base DESC LIMIT 1
		) last ON true
		LEFT JOIN queue.entries oldest ON oldest.part = p.part AND oldest.base = p.oldest
		WHERE t.name = $1 ORDER BY p.partition`, name)
	if err == nil && len(rows) == 0 {
		err = queue.ErrNotFound
	}
	if err != nil {
		return queue.TopicStats{}, fmt.Errorf("stats of topic %q: %w", name, err)
	}
	s := queue.TopicStats{MaxBytes: rows[0].MaxBytes}
	if s.ID, err = topicID(rows[0].ID); err != nil {
		return s, fmt.Errorf("stats of topic %q: %w", name, err)
	}
	for _, r := range rows {
		s.Bytes += r.Kept
		one := queue.PartitionStats{Oldest: instant(r.Earliest)}
		if r.Base != nil {
			one.Appended = uint64(*r.Base + int64(*r.Count))
			one.End = queue.Position{Entry: queue.FormatEntry(uint64(*r.Base), uint32(*r.Mark)), Index: *r.Count}
		}
		s.Partitions = append(s.Partitions, one)
	}
	return s, nil
}

// Backlog says what stands behind a position.
func (e *Engine) Backlog(ctx context.Context, name string, p int, from queue.Position) (queue.Lag, error) {
	lag, err := e.backlog(ctx, name, p, from)
	if err != nil {
		return lag, fmt.Errorf("backlog of topic %q, partition %d: %w", name, p, err)
	}
	return lag, nil
}

func (e *Engine) backlog(ctx context.Context, name string, p int, from queue.Position) (queue.Lag, error) {
	at, lost := parsePlace(from)
	type row struct {
		Oldest   int64
		Mark     *int64 // Of the entry of the position. Null: it is not there.
		Count    int
		Appended int64
		Earliest *int64 // Of all that stands behind.
	}
	rows, err := collect(ctx, e, pgx.RowToStructByPos[row], `
		SELECT p.oldest, here.mark, coalesce(here.count, 0), coalesce(last.base + last.count, 0), behind.earliest
		FROM queue.partitions p
		LEFT JOIN queue.entries here ON here.part = p.part AND here.base = $3::bigint
		LEFT JOIN LATERAL (
			SELECT base, count FROM queue.entries e WHERE e.part = p.part ORDER BY base DESC LIMIT 1
		) last ON true
		CROSS JOIN LATERAL (
			SELECT min(e.earliest) AS earliest FROM queue.entries e
			WHERE e.part = p.part AND e.base >= greatest($3::bigint, p.oldest) AND e.base + e.count > $4::bigint
		) behind
		WHERE p.topic = $1::text AND p.partition = $2::int`, name, p, at.base, at.offset())
	if err != nil {
		return queue.Lag{}, err
	}
	if len(rows) == 0 {
		return queue.Lag{}, queue.ErrNotFound
	}
	if lost != nil {
		return queue.Lag{}, lost
	}
	r := rows[0]
	if r.Mark != nil && !at.start {
		err = at.check(*r.Mark, r.Count)
	} else {
		err = at.checkOldest(r.Oldest)
	}
	if err != nil {
		return queue.Lag{}, err
	}
	return queue.Lag{
		Messages: uint64(r.Appended - max(at.offset(), r.Oldest)),
		Oldest:   instant(r.Earliest),
	}, nil
}

func instant(nanos *int64) time.Time {
	if nanos == nil {
		return time.Time{}
	}
	return time.Unix(0, *nanos).UTC()
}
