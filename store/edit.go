package store

import (
	"context"
	"database/sql"
	"errors"

	"snip"
)

// EditLink changes what is not nil in e, all of it or nothing. With a new code the
// link keeps what was counted for it.
func (s *Store) EditLink(ctx context.Context, code string, e snip.LinkEdit) (snip.Link, error) {
	if err := e.Check(s.rules); err != nil {
		return snip.Link{}, err
	}
	if e == (snip.LinkEdit{}) {
		return s.Link(ctx, code)
	}
	now := s.now()
	var expires sql.NullInt64
	if e.ExpiresAt != nil {
		expires = expiryColumn(*e.ExpiresAt)
	}
	var l snip.Link
	err := s.write(ctx, func(ctx context.Context, tx session) error {
		var err error
		l, err = scanLink(tx.QueryRowContext(ctx, `
			UPDATE links SET
				code = COALESCE(CAST($3 AS TEXT), code),
				url = COALESCE(CAST($4 AS TEXT), url),
				title = COALESCE(CAST($5 AS TEXT), title),
				expires_at = CASE WHEN $6 THEN CAST($7 AS BIGINT) ELSE expires_at END,
				updated_at = $8
			WHERE domain = $1 AND code = $2
			RETURNING `+linkColumns,
			ownDomain, code, e.Code, e.Target, e.Title, e.ExpiresAt != nil, expires, now.UnixMicro()))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return notFound(code)
		case s.db.taken(err):
			return conflict(*e.Code)
		}
		return err
	})
	if err != nil {
		return snip.Link{}, s.failed("edit link", err)
	}
	return l, nil
}

// DeleteLink removes a link and all that was counted for it. Clicks on it that are
// still under way will count for nothing, also if its code is given out again.
func (s *Store) DeleteLink(ctx context.Context, code string) error {
	err := s.write(ctx, func(ctx context.Context, tx session) error {
		var id int64
		err := tx.QueryRowContext(ctx,
			`DELETE FROM links WHERE domain = $1 AND code = $2 RETURNING id`, ownDomain, code).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound(code)
		}
		if err != nil {
			return err
		}
		return removeCounts(ctx, tx, id)
	})
	return s.failed("delete link", err)
}
