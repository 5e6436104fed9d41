package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"snip"
	"snip/event"
)

// ownDomain is the instance's own, the only one so far.
const ownDomain = ""

// linkColumns are what scanLink reads before what else is in the row.
const linkColumns = `id, domain, code, url, title, expires_at, created_at, updated_at, clicks, human_clicks`

func scanLink(row interface{ Scan(...any) error }, more ...any) (snip.Link, error) {
	var l snip.Link
	var expires sql.NullInt64
	var created, updated int64
	columns := []any{&l.ID, &l.Domain, &l.Code, &l.Target, &l.Title, &expires, &created, &updated, &l.Clicks, &l.HumanClicks}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return snip.Link{}, err
	}
	if expires.Valid {
		l.ExpiresAt = time.UnixMicro(expires.Int64).UTC()
	}
	l.CreatedAt = time.UnixMicro(created).UTC()
	l.UpdatedAt = time.UnixMicro(updated).UTC()
	return l, nil
}

// expiryColumn is the inverse of what scanLink does with expires_at.
func expiryColumn(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// CreateLink keeps a new link. Of several at once that ask for one code, one gets
// it and the others get snip.Conflict. The change is told to topic "links": somebody may
// remember that no link had the code.
func (s *Store) CreateLink(ctx context.Context, n snip.NewLink) (snip.Link, error) {
	now := s.now()
	n.ExpiresAt = n.ExpiresAt.Truncate(time.Microsecond)
	if err := n.Check(now, s.rules); err != nil {
		return snip.Link{}, err
	}
	var l snip.Link
	err := s.change(ctx, func(ctx context.Context, tx session) error {
		var err error
		if l, err = s.insertNew(ctx, tx, n, now); err != nil {
			return err
		}
		return s.tell(ctx, tx, now, event.LinkChange{Link: l.ID, Change: event.Created, Codes: []string{l.Code}})
	})
	if err != nil {
		return snip.Link{}, s.failed("create link", err)
	}
	return l, nil
}

// insertNew inserts a link, with a code that is made up if it comes without one.
func (s *Store) insertNew(ctx context.Context, tx session, n snip.NewLink, now time.Time) (snip.Link, error) {
	if n.Code != "" {
		l, err := insertLink(ctx, tx, n.Code, n, now)
		if errors.Is(err, sql.ErrNoRows) {
			return snip.Link{}, conflict(n.Code)
		}
		return l, err
	}
	// With 7 characters even the second attempt is rare.
	const attempts = 10
	for range attempts {
		l, err := insertLink(ctx, tx, s.newCode(), n, now)
		if !errors.Is(err, sql.ErrNoRows) {
			return l, err
		}
	}
	return snip.Link{}, fmt.Errorf("no free code in %d attempts", attempts)
}

// insertLink returns sql.ErrNoRows if the code is taken.
func insertLink(ctx context.Context, tx session, code string, n snip.NewLink, now time.Time) (snip.Link, error) {
	return scanLink(tx.QueryRowContext(ctx, `
		INSERT INTO links (domain, code, url, title, expires_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6)
		ON CONFLICT (domain, code) DO NOTHING
		RETURNING `+linkColumns,
		ownDomain, code, n.Target, n.Title, expiryColumn(n.ExpiresAt), now.UnixMicro()))
}

// Link finds a link by its code.
func (s *Store) Link(ctx context.Context, code string) (snip.Link, error) {
	l, err := findLink(ctx, s.Read(), code)
	return l, s.failed("find link", err)
}

// reader is a pool of connections or a transaction.
type reader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func findLink(ctx context.Context, r reader, code string) (snip.Link, error) {
	l, err := scanLink(r.QueryRowContext(ctx,
		`SELECT `+linkColumns+` FROM links WHERE domain = $1 AND code = $2`, ownDomain, code))
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Link{}, notFound(code)
	}
	return l, err
}

// ListLinks returns a page of links, newest first. A link that is made meanwhile
// moves none to another page.
func (s *Store) ListLinks(ctx context.Context, p snip.Page) ([]snip.Link, error) {
	switch {
	case p.Limit < 1 || p.Limit > 1000:
		return nil, &snip.Error{Code: snip.Invalid, Field: "limit", Message: "A page has 1 to 1000 links."}
	case p.After < 0:
		return nil, &snip.Error{Code: snip.Invalid, Field: "after", Message: "There is no link with a negative ID."}
	}
	links, err := s.listLinks(ctx, p)
	return links, s.failed("list links", err)
}

func (s *Store) listLinks(ctx context.Context, p snip.Page) ([]snip.Link, error) {
	rows, err := s.Read().QueryContext(ctx, `
		SELECT `+linkColumns+` FROM links
		WHERE domain = $1 AND (id < $2 OR $2 = 0)
		ORDER BY id DESC LIMIT $3`, ownDomain, p.After, p.Limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var links []snip.Link
	for rows.Next() {
		l, err := scanLink(rows)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, rows.Err()
}

func notFound(code string) error {
	return &snip.Error{Code: snip.NotFound, Field: "code", Message: fmt.Sprintf("No link has the code %q.", code)}
}

func conflict(code string) error {
	return &snip.Error{Code: snip.Conflict, Field: "code", Message: fmt.Sprintf("The code %q is taken. Choose another one.", code)}
}
