package sqlite

import (
	"context"
	"database/sql"
	"time"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// Stats describes a topic.
func (e *Engine) Stats(ctx context.Context, name string) (s queue.TopicStats, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		t, err := findTopic(ctx, tx, name)
		if err != nil {
			return err
		}
		s = queue.TopicStats{ID: t.id, Bytes: t.bytes, MaxBytes: t.maxBytes}
		s.Partitions, err = partitionStats(ctx, tx, name)
		return err
	})
	return s, err
}

func partitionStats(ctx context.Context, tx sqlitefile.Tx, name string) ([]queue.PartitionStats, error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT p.appended, last.base, last.mark, last.count, oldest.earliest
		FROM queue_partitions p
		LEFT JOIN queue_entries last ON last.part = p.part
			AND last.base = (SELECT MAX(base) FROM queue_entries e WHERE e.part = p.part)
		LEFT JOIN queue_entries oldest ON oldest.part = p.part
			AND oldest.base = (SELECT MIN(base) FROM queue_entries e WHERE e.part = p.part)
		WHERE p.topic = $1 ORDER BY p.partition`, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []queue.PartitionStats
	for rows.Next() {
		var one queue.PartitionStats
		var base, mark, count, earliest sql.NullInt64
		if err := rows.Scan(&one.Appended, &base, &mark, &count, &earliest); err != nil {
			return nil, err
		}
		// Trim keeps the entry its position stands at: only a partition that never
		// had one is empty.
		if base.Valid {
			one.End = queue.Position{
				Entry: queue.FormatEntry(uint64(base.Int64), uint32(mark.Int64)), Index: int(count.Int64),
			}
		}
		one.Oldest = instant(earliest)
		all = append(all, one)
	}
	return all, rows.Err()
}

// Backlog says what stands behind a position.
func (e *Engine) Backlog(ctx context.Context, name string, p int, from queue.Position) (lag queue.Lag, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		at, err := findPartition(ctx, tx, name, p)
		if err != nil {
			return err
		}
		base, skip, err := seek(ctx, tx, at, from)
		if err != nil {
			return err
		}
		var first, earliest sql.NullInt64
		err = tx.QueryRowContext(ctx, "SELECT MIN(base), MIN(earliest) FROM queue_entries WHERE part = $1 AND base >= $2", at.part, base).
			Scan(&first, &earliest)
		if err != nil || !first.Valid {
			return err
		}
		lag = queue.Lag{Messages: uint64(at.appended - first.Int64 - int64(skip)), Oldest: instant(earliest)}
		return nil
	})
	return lag, err
}

func instant(nanos sql.NullInt64) time.Time {
	if !nanos.Valid {
		return time.Time{}
	}
	return time.Unix(0, nanos.Int64).UTC()
}
