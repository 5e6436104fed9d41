package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"snip"
	"snip/event"
	"snip/wire"
)

// CreateLink keeps a new link. Of several at once that ask for one code, one gets
// it and the others get snip.Conflict. The change is told to topic "links": somebody may
// remember that no link had the code.
func (v *View) CreateLink(ctx context.Context, n snip.NewLink) (l snip.Link, made bool, err error) {
	l, made, err = v.createLink(ctx, n)
	return l, made, v.store.failed("create link", err)
}

func (v *View) createLink(ctx context.Context, n snip.NewLink) (l snip.Link, made bool, err error) {
	s, now := v.store, v.store.now()
	n.Domain = asKept(n.Domain)
	if !v.seesDomain(n.Domain) {
		return snip.Link{}, false, &snip.Error{Code: snip.Forbidden, Field: "domain",
			Message: fmt.Sprintf("This key makes links on %s only.", domainName(*v.key.Domain))}
	}
	asked, err := askedFor(n)
	if err != nil {
		return snip.Link{}, false, err
	}
	// What was made stays so, also if it could not be made any more.
	if l, err := v.madeBefore(ctx, s.Read(), asked, now); !errors.Is(err, errNotMade) {
		return l, err == nil, err
	}
	// As it is kept, so that it cannot be over once it is.
	n.StartsAt, n.ExpiresAt = n.StartsAt.Truncate(time.Microsecond), n.ExpiresAt.Truncate(time.Microsecond)
	if err := n.Check(now, s.rules); err != nil {
		return snip.Link{}, false, err
	}
	n.Settings = kept(n.Settings)
	password, err := s.hashPassword(ctx, n.Password)
	if err != nil {
		return snip.Link{}, false, err
	}
	for range madeUp {
		err = s.change(ctx, func(ctx context.Context, tx session) error {
			l, made, err = v.makeOnce(ctx, tx, n, asked, password, now)
			return err
		})
		if err == nil {
			return l, made, nil
		}
		if n.Code != "" || !codeTaken(err) {
			return snip.Link{}, false, err
		}
	}
	return snip.Link{}, false, fmt.Errorf("no free code in %d attempts", madeUp)
}

// madeUp is how many codes are made up for a link at most. With 7 characters even the
// second one is rare.
const madeUp = 10

// codeTaken reports that a link was not made because another one has its code.
func codeTaken(err error) bool {
	e, ok := errors.AsType[*snip.Error](err)
	return ok && e.Code == snip.Conflict && e.Field == "code"
}

// makeOnce makes a link unless it was made by the same request before.
func (v *View) makeOnce(ctx context.Context, tx session, n snip.NewLink, asked request, password string, now time.Time) (snip.Link, bool, error) {
	first, err := v.remember(ctx, tx, asked, now)
	if err != nil {
		return snip.Link{}, false, err
	}
	if !first {
		l, err := v.madeBefore(ctx, tx, asked, now)
		return l, err == nil, err
	}
	l, made, err := v.reuseOrMake(ctx, tx, n, password, now)
	if err != nil {
		return snip.Link{}, false, err
	}
	return l, made, v.rememberLink(ctx, tx, asked, l.ID)
}

// reuseOrMake makes a link unless one is there that will do.
func (v *View) reuseOrMake(ctx context.Context, tx session, n snip.NewLink, password string, now time.Time) (snip.Link, bool, error) {
	domains, err := lockDomains(ctx, tx)
	if err != nil {
		return snip.Link{}, false, err
	}
	if !domains.has(n.Domain) {
		return snip.Link{}, false, &snip.Error{Code: snip.Invalid, Field: "domain",
			Message: fmt.Sprintf("There is no domain %q here. Make it first, or leave it out.", n.Domain)}
	}
	if domains.others() {
		if err := n.Settings.Check(domains.rules(v.store.rules)); err != nil {
			return snip.Link{}, false, err
		}
	}
	row, err := rowOf(n.Settings)
	if err != nil {
		return snip.Link{}, false, err
	}
	folded := domains.ignoreCase(n.Domain)
	if n.Reuse {
		l, err := v.reusable(ctx, tx, n, row, now)
		if !errors.Is(err, sql.ErrNoRows) {
			return l, false, err
		}
	}
	l := snip.Link{
		Domain: n.Domain, Code: n.Code, Owner: v.key.ID, Version: 1, HasPassword: password != "", CreatedAt: now, UpdatedAt: now,
	}
	if l.Settings, err = row.settings(""); err != nil {
		return snip.Link{}, false, err
	}
	l.Tags = n.Tags
	if err := v.store.insertLink(ctx, tx, &l, row, password, folded); err != nil {
		return snip.Link{}, false, err
	}
	if err := addTags(ctx, tx, []int64{l.ID}, l.Tags); err != nil {
		return snip.Link{}, false, err
	}
	return l, true, v.tellCreated(ctx, tx, l, now)
}

func (v *View) tellCreated(ctx context.Context, tx session, l snip.Link, now time.Time) error {
	err := v.store.tell(ctx, tx, now, event.LinkChange{Link: l.ID, Change: event.Created, Domain: l.Domain, Codes: []string{l.Code}})
	if err != nil {
		return err
	}
	changes, err := changesOf(nil, wire.LinkOf(l, ""))
	if err != nil {
		return err
	}
	if l.HasPassword {
		changes = append(changes, event.FieldChange{Field: event.PasswordField})
	}
	return v.audit(ctx, tx, event.Audit{At: now, Action: "link.created", Subject: subjectOf(l), Changes: changes})
}

func subjectOf(l snip.Link) event.Subject {
	return event.Subject{Kind: event.LinkSubject, ID: l.ID, Domain: l.Domain, Code: l.Code}
}

// insertLink inserts a link, with a code that is made up if it comes without one, and
// tells its ID and code.
func (s *Store) insertLink(ctx context.Context, tx session, l *snip.Link, row settingsRow, password string, folded bool) error {
	if l.Code == "" {
		l.Code = s.newCode()
	}
	fold := foldedColumn(l.Code, folded)
	args := append(row.values(), l.Domain, l.Code, fold, l.Owner, password, l.CreatedAt.UnixMicro())
	err := tx.QueryRowContext(ctx, `
		INSERT INTO links (`+settingsColumns+`, domain, code, folded, owner, password_hash, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18)
		ON CONFLICT DO NOTHING RETURNING id`, args...).Scan(&l.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return conflict(l.Code)
	}
	if err != nil {
		return err
	}
	if err := noAlias(ctx, tx, l.Domain, l.Code, fold); err != nil {
		return err
	}
	return addWords(ctx, tx, *l)
}

// foldedColumn is the code in lower case where case does not matter, else NULL.
func foldedColumn(code string, folded bool) sql.NullString {
	return sql.NullString{String: fold(code), Valid: folded}
}

// hosts are the domains there are, and whether each ignores case.
type hosts map[string]bool

// lockDomains reads all domains. They stay as they are until the end of the transaction:
// on a server, to read a table is to share it, which holdDomains waits for, and what is
// read is how it is once the lock was got.
func lockDomains(ctx context.Context, tx session) (hosts, error) {
	rows, err := tx.QueryContext(ctx, `SELECT host, ignore_case FROM domains`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	h := hosts{}
	for rows.Next() {
		var host string
		var ignoreCase bool
		if err := rows.Scan(&host, &ignoreCase); err != nil {
			return nil, err
		}
		h[host] = ignoreCase
	}
	return h, rows.Err()
}

func (h hosts) has(domain string) bool {
	_, ok := h[domain]
	return ok
}

func (h hosts) ignoreCase(domain string) bool { return h[domain] }

// others reports whether there are domains that the rules of a store do not know.
func (h hosts) others() bool { return len(h) > 1 }

// rules returns rules by which no link leads to a code of any domain.
func (h hosts) rules(r snip.Rules) snip.Rules {
	r.Own = slices.Clone(r.Own)
	for host := range h {
		if host != "" {
			r.Own = append(r.Own, host)
		}
	}
	return r
}

// domainName is how people name a domain.
func domainName(host string) string {
	if host == "" {
		return "the server's own domain"
	}
	return host
}
