package store

import (
	"context"
	"database/sql"
	"hash/fnv"
	"slices"
	"time"

	"snip"
)

// reusable finds the oldest link that does what is asked for already, or returns
// sql.ErrNoRows. Of several transactions that ask for the same at once, one looks at a
// time: the others find what it made.
func (v *View) reusable(ctx context.Context, tx session, n snip.NewLink, row settingsRow, now time.Time) (snip.Link, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(n.Domain + "\n" + n.Target)) // Never fails.
	if err := lockUntilEnd(ctx, tx, `SELECT pg_advisory_xact_lock($1)`, int64(h.Sum64())); err != nil {
		return snip.Link{}, err
	}
	args := append(row.values(), n.Domain, v.owner(), now.UnixMicro(), n.Code, fold(n.Code))
	rows, err := tx.QueryContext(ctx, `
		SELECT `+linkColumns+` FROM links
		WHERE substr(links.url, 1, 200) = substr($1, 1, 200) AND links.url = $1 AND links.title = $2 AND links.note = $3
			AND links.starts_at IS NOT DISTINCT FROM $4 AND links.expires_at IS NOT DISTINCT FROM $5
			AND links.click_limit = $6 AND links.fallback = $7 AND (links.status = $8 OR links.status = 0 AND $8 = 307)
			AND links.query = $9 AND links.forward_path = $10 AND links.rules = $11 AND links.campaign = $12
			AND links.domain = $13 AND ($14 = 0 OR links.owner = $14)
			AND (links.expires_at IS NULL OR links.expires_at > $15)
			AND ($16 = '' OR links.code = $16 OR links.folded = $17)
			AND links.archived_at IS NULL AND links.password_hash = ''
		ORDER BY links.id`, args...)
	if err != nil {
		return snip.Link{}, err
	}
	defer rows.Close()
	for rows.Next() {
		l, err := scanLink(rows)
		if err != nil {
			return snip.Link{}, err
		}
		if usedUp := l.ClickLimit > 0 && l.LimitUsed >= l.ClickLimit; !usedUp && slices.Equal(l.Tags, n.Tags) {
			return l, nil
		}
	}
	if err := rows.Err(); err != nil {
		return snip.Link{}, err
	}
	return snip.Link{}, sql.ErrNoRows
}
