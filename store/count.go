package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"snip"
)

// Count is how many clicks a link got within one slot.
type Count struct {
	Link        int64
	Slot        time.Time // Any moment within it.
	Clicks      int64     // Of every class.
	HumanClicks int64     // Those of people among them.
}

// CountClicks adds counts to their links and to the totals, in the transaction of
// the caller. What belongs to a link that is no longer there is left out of both,
// so that a link's clicks are always the sum of its totals.
func (s *Store) CountClicks(ctx context.Context, tx *sql.Tx, counts []Count) error {
	slots, links := sums(counts)
	// Links first: where rows are locked one by one, this keeps a link from being
	// deleted before its totals are written.
	if err := inChunks(ctx, tx, updateLinks, links); err != nil {
		return fmt.Errorf("store: count clicks of links: %w", err)
	}
	if err := inChunks(ctx, tx, addTotals, slots); err != nil {
		return fmt.Errorf("store: count clicks of slots: %w", err)
	}
	return nil
}

// total is one row to add. Those for links have no slot.
type total struct{ link, slot, clicks, human int64 }

// sums adds up counts per slot and per link. Both come in the order of their keys,
// the same one in every transaction, so that no two wait for each other.
func sums(counts []Count) (slots, links []total) {
	for _, c := range counts {
		slots = append(slots, total{c.Link, c.Slot.Truncate(snip.Slot).Unix(), c.Clicks, c.HumanClicks})
	}
	slices.SortFunc(slots, func(a, b total) int {
		return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.slot, b.slot))
	})
	slots = mergeEqual(slots)
	links = slices.Clone(slots)
	for i := range links {
		links[i].slot = 0
	}
	return slots, mergeEqual(links)
}

// mergeEqual adds up neighbours with one key, in place.
func mergeEqual(totals []total) []total {
	merged := totals[:0]
	for _, t := range totals {
		if n := len(merged); n > 0 && merged[n-1].link == t.link && merged[n-1].slot == t.slot {
			merged[n-1].clicks += t.clicks
			merged[n-1].human += t.human
			continue
		}
		merged = append(merged, t)
	}
	return merged
}

// The statements take rows of link, slot, clicks and human clicks, whose columns
// SQLite and PostgreSQL both name column1 to column4.
const (
	updateLinks = `
		UPDATE links SET clicks = clicks + v.column3, human_clicks = human_clicks + v.column4
		FROM (VALUES %s) AS v
		WHERE links.id = v.column1`
	// SQLite needs a WHERE there, to tell ON CONFLICT from the condition of a join.
	addTotals = `
		INSERT INTO totals (link_id, slot, clicks, human_clicks)
		SELECT v.column1, v.column2, v.column3, v.column4
		FROM (VALUES %s) AS v JOIN links ON links.id = v.column1
		WHERE TRUE
		ON CONFLICT (link_id, slot) DO UPDATE SET
			clicks = totals.clicks + excluded.clicks,
			human_clicks = totals.human_clicks + excluded.human_clicks`
)

// inChunks runs a statement over rows, a bounded number at a time.
func inChunks(ctx context.Context, tx *sql.Tx, statement string, rows []total) error {
	// SQLite looks up a parameter by walking over all of them: with more rows the
	// walk costs more than the statements that are saved.
	const most = 32
	var full *sql.Stmt
	for chunk := range slices.Chunk(rows, most) {
		args := make([]any, 0, 4*len(chunk))
		for _, t := range chunk {
			args = append(args, t.link, t.slot, t.clicks, t.human)
		}
		text := fmt.Sprintf(statement, placeholders(len(chunk)))
		if len(chunk) < most {
			_, err := tx.ExecContext(ctx, text, args...)
			return err // It was the last one.
		}
		if full == nil {
			var err error
			if full, err = tx.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // Closed below, which it does not see.
				return err
			}
			defer full.Close()
		}
		if _, err := full.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// placeholders returns n rows of four. The first row tells PostgreSQL the types.
func placeholders(n int) string {
	var b strings.Builder
	for i := range n {
		format := ", ($%d, $%d, $%d, $%d)"
		if i == 0 {
			format = "(CAST($%d AS BIGINT), CAST($%d AS BIGINT), CAST($%d AS BIGINT), CAST($%d AS BIGINT))"
		}
		fmt.Fprintf(&b, format, 4*i+1, 4*i+2, 4*i+3, 4*i+4)
	}
	return b.String()
}
