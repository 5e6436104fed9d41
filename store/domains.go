package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/wire"
)

// domainColumns are what scanDomain reads.
const domainColumns = `id, host, ignore_case, root, not_found, not_found_text, version, created_at, updated_at`

func scanDomain(row interface{ Scan(...any) error }) (snip.Domain, error) {
	var d snip.Domain
	var created, updated int64
	err := row.Scan(&d.ID, &d.Host, &d.IgnoreCase, &d.Root, &d.NotFound, &d.NotFoundText, &d.Version, &created, &updated)
	if err != nil {
		return snip.Domain{}, err
	}
	d.CreatedAt, d.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return d, nil
}

// findDomain finds a domain by its host as the store has it. In a transaction it stays as
// it is for those who called lockDomains or holdDomains before.
func findDomain(ctx context.Context, r queryer, host string) (snip.Domain, error) {
	d, err := scanDomain(r.QueryRowContext(ctx, `SELECT `+domainColumns+` FROM domains WHERE host = $1`, host))
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Domain{}, &snip.Error{Code: snip.NotFound, Message: fmt.Sprintf("There is no domain %q.", host)}
	}
	return d, err
}

// Domain finds a domain by its host; the empty one is the instance's own.
func (v *View) Domain(ctx context.Context, host string) (snip.Domain, error) {
	d, err := findDomain(ctx, v.store.Read(), asKept(host))
	return d, v.store.failed("find domain", err)
}

// asKept returns a host that may be typed in another way than it is kept.
func asKept(host string) string {
	if clean, err := snip.CleanHost(host); err == nil {
		return clean
	}
	return host // The store has no such one.
}

// ListDomains returns all domains, the instance's own first, then by host.
func (v *View) ListDomains(ctx context.Context) ([]snip.Domain, error) { return v.store.Domains(ctx) }

// Domains returns all domains, the instance's own first, then by host.
func (s *Store) Domains(ctx context.Context) ([]snip.Domain, error) {
	domains, err := s.readDomains(ctx)
	return domains, s.failed("list domains", err)
}

func (s *Store) readDomains(ctx context.Context) ([]snip.Domain, error) {
	rows, err := s.Read().QueryContext(ctx, `SELECT `+domainColumns+` FROM domains`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var domains []snip.Domain
	for rows.Next() {
		d, err := scanDomain(rows)
		if err != nil {
			return nil, err
		}
		domains = append(domains, d)
	}
	// A database may have an order of its own for texts.
	slices.SortFunc(domains, func(a, b snip.Domain) int { return strings.Compare(a.Host, b.Host) })
	return domains, rows.Err()
}

// CreateDomain keeps a new domain. A host that is there already, or on which the instance
// answers anyway, is refused.
func (v *View) CreateDomain(ctx context.Context, n snip.NewDomain) (d snip.Domain, err error) {
	if err := v.administers(); err != nil {
		return snip.Domain{}, err
	}
	if err := n.Check(v.store.rules); err != nil {
		return snip.Domain{}, err
	}
	n.Host = asKept(n.Host)
	now := v.store.now()
	err = v.changeDomains(ctx, func(ctx context.Context, tx session) error {
		if err := roomForDomain(ctx, tx); err != nil {
			return err
		}
		d, err = scanDomain(tx.QueryRowContext(ctx, `
			INSERT INTO domains (host, ignore_case, root, not_found, not_found_text, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $6)
			ON CONFLICT (host) DO NOTHING
			RETURNING `+domainColumns,
			n.Host, n.IgnoreCase, n.Root, n.NotFound, n.NotFoundText, now.UnixMicro()))
		if errors.Is(err, sql.ErrNoRows) {
			return &snip.Error{Code: snip.Conflict, Field: "host", Message: fmt.Sprintf("The domain %q is there already.", n.Host)}
		}
		if err != nil {
			return err
		}
		return v.tellDomain(ctx, tx, now, event.Created, snip.Domain{}, d)
	})
	if err != nil {
		return snip.Domain{}, v.store.failed("create domain", err)
	}
	return d, nil
}

func roomForDomain(ctx context.Context, tx session) error {
	var domains int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM domains`).Scan(&domains); err != nil {
		return err
	}
	if domains >= snip.MaxDomains {
		return &snip.Error{Code: snip.Conflict, Message: fmt.Sprintf("There are %d domains, and there can be no more.", domains)}
	}
	return nil
}

// changeDomains runs a transaction in which nobody else changes a domain, or gives a link
// a code.
func (v *View) changeDomains(ctx context.Context, fn func(context.Context, session) error) error {
	return v.store.change(ctx, func(ctx context.Context, tx session) error {
		if err := holdDomains(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// EditDomain changes what is not nil in e, all of it or nothing. Whether case matters can
// be changed only for so many codes at once.
func (v *View) EditDomain(ctx context.Context, host string, e snip.DomainEdit) (d snip.Domain, err error) {
	if err := v.administers(); err != nil {
		return snip.Domain{}, err
	}
	host = asKept(host)
	rules := v.store.rules
	rules.Own = append(slices.Clone(rules.Own), host)
	if err := e.Check(rules); err != nil {
		return snip.Domain{}, err
	}
	now := v.store.now()
	err = v.changeDomains(ctx, func(ctx context.Context, tx session) error {
		before, err := findDomain(ctx, tx, host)
		if err != nil {
			return err
		}
		if err := sameVersion(e.Version, before.Version, "domain"); err != nil {
			return err
		}
		d = before
		set(&d.IgnoreCase, e.IgnoreCase)
		set(&d.Root, e.Root)
		set(&d.NotFound, e.NotFound)
		set(&d.NotFoundText, e.NotFoundText)
		if d == before {
			return nil
		}
		if d.IgnoreCase != before.IgnoreCase {
			if err := foldCodes(ctx, tx, d); err != nil {
				return err
			}
		}
		d, err = scanDomain(tx.QueryRowContext(ctx, `
			UPDATE domains SET ignore_case = $2, root = $3, not_found = $4, not_found_text = $5, version = version + 1, updated_at = $6
			WHERE id = $1
			RETURNING `+domainColumns,
			d.ID, d.IgnoreCase, d.Root, d.NotFound, d.NotFoundText, now.UnixMicro()))
		if err != nil {
			return err
		}
		return v.tellDomain(ctx, tx, now, event.Edited, before, d)
	})
	if err != nil {
		return snip.Domain{}, v.store.failed("edit domain", err)
	}
	return d, nil
}

// DeleteDomain removes a domain that has no links. The instance's own stays.
func (v *View) DeleteDomain(ctx context.Context, host string, version int64) error {
	if err := v.administers(); err != nil {
		return err
	}
	if host == "" {
		return &snip.Error{Code: snip.Conflict, Message: "The instance's own domain cannot be deleted."}
	}
	err := v.changeDomains(ctx, func(ctx context.Context, tx session) error {
		d, err := findDomain(ctx, tx, asKept(host))
		if err != nil {
			return err
		}
		if err := sameVersion(version, d.Version, "domain"); err != nil {
			return err
		}
		var links int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM links WHERE domain = $1`, d.Host).Scan(&links); err != nil {
			return err
		}
		if links > 0 {
			return &snip.Error{Code: snip.Conflict, Message: fmt.Sprintf("The domain %q has links: %d of them. Delete them first.", d.Host, links)}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM domains WHERE id = $1`, d.ID); err != nil {
			return err
		}
		return v.tellDomain(ctx, tx, v.store.now(), event.Deleted, d, snip.Domain{})
	})
	return v.store.failed("delete domain", err)
}

// sameVersion refuses to change what is not in the version any more that was seen.
func sameVersion(seen, is int64, what string) error {
	if seen == 0 || seen == is {
		return nil
	}
	return &snip.Error{Code: snip.Changed, Message: fmt.Sprintf("The %s was changed meanwhile: it is in version %d, not %d. Look at it again.", what, is, seen)}
}

// tellDomain tells both topics what became of a domain, in the transaction of the change.
// Before is the zero domain for a new one, after for one that is gone.
func (v *View) tellDomain(ctx context.Context, tx session, at time.Time, change event.Change, before, after snip.Domain) error {
	named, was, is := after, any(nil), any(nil)
	if before.ID != 0 {
		was = wire.DomainOf(before)
	}
	if after.ID != 0 {
		is = wire.DomainOf(after)
	} else {
		named = before
	}
	body, err := event.DomainChange{Host: named.Host, Change: change}.Encode()
	if err != nil {
		return err
	}
	m := queue.Message{Key: "domain " + named.Host, Type: event.DomainType, Time: at, Body: body}
	if err := v.store.outbox.Write(ctx, tx.later(), m); err != nil {
		return err
	}
	changes, err := changesOf(was, is)
	if err != nil {
		return err
	}
	return v.audit(ctx, tx, event.Audit{
		At: at, Action: "domain." + string(change), Changes: changes,
		Subject: event.Subject{Kind: event.DomainSubject, ID: named.ID, Host: named.Host},
	})
}
