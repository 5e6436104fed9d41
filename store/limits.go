package store

import (
	"context"
	"database/sql"
	"errors"
)

// TakeClick takes one of the redirects that a link's click limit leaves, and reports
// false if none is left. Of all that ask, in any processes, as many are told true as the
// limit says. What was taken is on disk on return; after an error it may have been taken
// all the same. It touches no row that counting locks.
func (s *Store) TakeClick(ctx context.Context, link, limit int64) (taken bool, err error) {
	// Those who come for a link that is used up need no write.
	if left, err := s.ClickLeft(ctx, link, limit); err != nil || !left {
		return false, err
	}
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		var used int64
		// The link is asked for because a row of one that was deleted would stay for ever.
		err := tx.QueryRowContext(ctx, `
			INSERT INTO click_limits (link_id, used) SELECT id, 1 FROM links WHERE id = $1
			ON CONFLICT (link_id) DO UPDATE SET used = click_limits.used + 1 WHERE click_limits.used < $2
			RETURNING used`, link, limit).Scan(&used)
		taken = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, s.failed("take a click", err)
	}
	return taken, nil
}

// ClickLeft reports whether TakeClick would take one. It takes none.
func (s *Store) ClickLeft(ctx context.Context, link, limit int64) (bool, error) {
	var used int64
	err := s.db.QueryRowContext(ctx, `SELECT used FROM click_limits WHERE link_id = $1`, link).Scan(&used)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, s.failed("read a click limit", err)
	}
	return used < limit, nil
}

// removeLimit forgets how much of its click limit a link has used up.
func removeLimit(ctx context.Context, tx session, link int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM click_limits WHERE link_id = $1`, link)
	return err
}
