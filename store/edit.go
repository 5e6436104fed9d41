package store

import (
	"context"
	"database/sql"
	"errors"

	"snip"
	"snip/event"
)

// EditLink changes what is not nil in e, all of it or nothing. With a new code the
// link keeps what was counted for it. The change is told to topic "links".
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
	err := s.change(ctx, func(ctx context.Context, tx session) error {
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
		case err != nil:
			return err
		}
		c := event.LinkChange{Link: l.ID, Change: event.Edited, Codes: []string{l.Code}}
		if l.Code != code {
			c.Codes = append(c.Codes, code)
		}
		return s.tell(ctx, tx, now, c)
	})
	if err != nil {
		return snip.Link{}, s.failed("edit link", err)
	}
	return l, nil
}

// DeleteLink removes a link and all that was counted for it. Clicks on it that are
// still under way will count for nothing, also if its code is given out again. The
// change is told to topic "links".
func (s *Store) DeleteLink(ctx context.Context, code string) error {
	err := s.change(ctx, func(ctx context.Context, tx session) error {
		var id int64
		err := tx.QueryRowContext(ctx,
			`DELETE FROM links WHERE domain = $1 AND code = $2 RETURNING id`, ownDomain, code).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound(code)
		}
		if err != nil {
			return err
		}
		if err := removeCounts(ctx, tx, id); err != nil {
			return err
		}
		return s.tell(ctx, tx, s.now(), event.LinkChange{Link: id, Change: event.Deleted, Codes: []string{code}})
	})
	return s.failed("delete link", err)
}
