package store

import (
	"context"
	"database/sql"
	"time"

	"snip"
)

// LinkStats returns what was counted for a link, all of it as of one moment.
// CountedUpTo and Dropped stay zero: the store cannot know them.
func (s *Store) LinkStats(ctx context.Context, code string) (snip.Stats, error) {
	stats, err := s.linkStats(ctx, code)
	if err != nil {
		return snip.Stats{}, s.failed("read statistics", err)
	}
	return stats, nil
}

func (s *Store) linkStats(ctx context.Context, code string) (snip.Stats, error) {
	tx, err := s.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return snip.Stats{}, err
	}
	defer tx.Rollback() // There is nothing to commit.
	l, err := findLink(ctx, tx, code)
	if err != nil {
		return snip.Stats{}, err
	}
	rows, err := tx.QueryContext(ctx,
		`SELECT slot, clicks, human_clicks FROM totals WHERE link_id = $1 ORDER BY slot`, l.ID)
	if err != nil {
		return snip.Stats{}, err
	}
	defer rows.Close()
	stats := snip.Stats{Link: l, Clicks: l.Clicks, HumanClicks: l.HumanClicks}
	for rows.Next() {
		var start int64
		var c snip.SlotCount
		if err := rows.Scan(&start, &c.Clicks, &c.HumanClicks); err != nil {
			return snip.Stats{}, err
		}
		c.Start = time.Unix(start, 0).UTC()
		stats.Slots = append(stats.Slots, c)
	}
	return stats, rows.Err()
}
