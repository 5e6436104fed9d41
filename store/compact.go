package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"snip"
	"snip/rollup"
)

// compactLinks is how many links a step compacts at most, so that others who write
// wait only for a moment.
const compactLinks = 200

// Compact turns the 15-minute rollups of one day into one a link, if the day, in the
// given zone, ended before a moment. It returns whether there may be more to do. Of a
// whole day in that zone every figure stays as it was.
func (s *Store) Compact(ctx context.Context, zone *time.Location, before time.Time) (more bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		more, err = compact(ctx, tx, zone, before)
		return err
	})
	return more, s.failed("compact", err)
}

func compact(ctx context.Context, tx session, zone *time.Location, before time.Time) (more bool, err error) {
	if err := shareGeneration(ctx, tx); err != nil {
		return false, err
	}
	var oldest sql.NullInt64
	err = tx.QueryRowContext(ctx, `
		SELECT MIN(slot) FROM rollups
		WHERE generation = 0 AND slot >= (SELECT compacted_until FROM instance)`).Scan(&oldest)
	if err != nil || !oldest.Valid {
		return false, err
	}
	day := snip.DateOf(time.Unix(oldest.Int64, 0).In(zone))
	start, end := day.Start(zone), day.AddDays(1).Start(zone)
	if end.After(before) {
		return false, nil
	}
	in := span{start.Unix(), end.Unix()}
	links, err := fragmented(ctx, tx, in)
	if err != nil {
		return false, err
	}
	for _, link := range links {
		if err := compactLink(ctx, tx, link, in); err != nil {
			return false, err
		}
	}
	if len(links) < compactLinks {
		_, err = tx.ExecContext(ctx, `UPDATE instance SET compacted_until = $1`, in.end)
	}
	return true, err
}

// fragmented returns the links that have more than one rollup of 15 minutes in a
// span. With one there is nothing to gain, and it tells more than that of a day.
func fragmented(ctx context.Context, tx session, in span) ([]int64, error) {
	// All links, 0, come last, as they do when clicks are counted.
	rows, err := tx.QueryContext(ctx, `
		SELECT link_id FROM rollups
		WHERE generation = 0 AND slot >= $1 AND slot < $2 AND seconds = $3
		GROUP BY link_id HAVING COUNT(*) > 1
		ORDER BY link_id = 0, link_id LIMIT $4`, in.start, in.end, slotSeconds, compactLinks)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var links []int64
	for rows.Next() {
		var link int64
		if err := rows.Scan(&link); err != nil {
			return nil, err
		}
		links = append(links, link)
	}
	return links, rows.Err()
}

func compactLink(ctx context.Context, tx session, link int64, in span) error {
	if err := lockLink(ctx, tx, link); err != nil {
		return err
	}
	rows, err := readRollups(ctx, tx, shown, link, in)
	if err != nil {
		return err
	}
	// What was compacted in another zone stays as it is.
	rows = slices.DeleteFunc(rows, func(r *rollupRow) bool { return r.slot+r.seconds > in.end })
	days, err := daysOf(ctx, tx, shown, rows)
	if err != nil {
		return err
	}
	to := days[dayOf(in.start)]
	if to == nil {
		to = newDay(link, dayOf(in.start))
		if err := loadDays(ctx, tx, shown, []*dayRow{to}); err != nil {
			return err
		}
	}
	whole := &rollupRow{link: link, slot: in.start, seconds: in.end - in.start, facts: &rollup.Facts{}}
	for _, r := range rows {
		from := days[dayOf(r.slot)]
		whole.facts.Merge(r.facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
			return to.values.Move(d, from.values, p)
		})
	}
	to.changed = true
	if err := deleteRollups(ctx, tx, shown, rows); err != nil {
		return err
	}
	return saveBoth(ctx, tx, shown, []*dayRow{to}, []*rollupRow{whole})
}

// lockLink keeps others from counting for a link until the end of the transaction.
func lockLink(ctx context.Context, tx session, link int64) error {
	if link == allLinks {
		return lockInstance(ctx, tx, shown, snip.Counts{})
	}
	_, err := tx.ExecContext(ctx, `UPDATE links SET clicks = clicks WHERE id = $1`, link)
	return err
}
