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
	"snip/wire"
)

// keyColumns are what scanKey reads.
const keyColumns = `id, label, scopes, contact, time_zone, domain, own_links, expires_at, revoked_at, last_used, created_at`

func scanKey(row interface{ Scan(...any) error }) (snip.Key, error) {
	var k snip.Key
	var scopes string
	var expires, revoked, used sql.NullInt64
	var created int64
	err := row.Scan(&k.ID, &k.Label, &scopes, &k.Contact, &k.TimeZone, &k.Domain, &k.OwnLinks, &expires, &revoked, &used, &created)
	if err != nil {
		return snip.Key{}, err
	}
	for scope := range strings.SplitSeq(scopes, ",") {
		k.Scopes = append(k.Scopes, snip.Scope(scope))
	}
	k.ExpiresAt, k.RevokedAt, k.LastUsed = instantOf(expires), instantOf(revoked), instantOf(used)
	k.CreatedAt = time.UnixMicro(created).UTC()
	return k, nil
}

// instantOf returns the time of a column that is NULL for none.
func instantOf(column sql.NullInt64) time.Time {
	if !column.Valid {
		return time.Time{}
	}
	return time.UnixMicro(column.Int64).UTC()
}

// CreateKey makes a key and returns its secret, which cannot be read again.
func (v *View) CreateKey(ctx context.Context, n snip.NewKey) (k snip.Key, secret string, err error) {
	if err := v.administers(); err != nil {
		return snip.Key{}, "", err
	}
	now := v.store.now()
	n.ExpiresAt = n.ExpiresAt.Truncate(time.Microsecond)
	if err := n.Check(now); err != nil {
		return snip.Key{}, "", err
	}
	n.Scopes = snip.CleanScopes(n.Scopes)
	if n.Domain != nil {
		host := asKept(*n.Domain)
		n.Domain = &host
	}
	secret = newSecret()
	err = v.store.change(ctx, func(ctx context.Context, tx session) error {
		if n.Domain != nil {
			if _, err := findDomain(ctx, tx, *n.Domain); err != nil {
				return noSuchDomain(*n.Domain, err)
			}
		}
		k, err = v.insertKey(ctx, tx, secret, n, now)
		return err
	})
	if err != nil {
		return snip.Key{}, "", v.store.failed("create key", err)
	}
	return k, secret, nil
}

// noSuchDomain says of a field that it names a domain which is not there.
func noSuchDomain(host string, err error) error {
	if snip.CodeOf(err) != snip.NotFound {
		return err
	}
	return &snip.Error{Code: snip.Invalid, Field: "domain", Message: fmt.Sprintf("There is no domain %q. Add it first.", host)}
}

func (v *View) insertKey(ctx context.Context, tx session, secret string, n snip.NewKey, now time.Time) (snip.Key, error) {
	var scopes []string
	for _, s := range n.Scopes {
		scopes = append(scopes, string(s))
	}
	k, err := scanKey(tx.QueryRowContext(ctx, `
		INSERT INTO keys (hash, label, scopes, contact, time_zone, domain, own_links, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		RETURNING `+keyColumns,
		hash(secret), n.Label, strings.Join(scopes, ","), n.Contact, n.TimeZone, n.Domain, n.OwnLinks, timeColumn(n.ExpiresAt), now.UnixMicro()))
	if err != nil {
		return snip.Key{}, fmt.Errorf("insert key: %w", err)
	}
	return k, v.auditKey(ctx, tx, now, "key.created", snip.Key{}, k)
}

// auditKey tells what became of a key; before is the zero key for a new one.
func (v *View) auditKey(ctx context.Context, tx session, at time.Time, action string, before, after snip.Key) error {
	var was any
	if before.ID != 0 {
		was = wire.KeyOf(before)
	}
	changes, err := changesOf(was, wire.KeyOf(after))
	if err != nil {
		return err
	}
	return v.audit(ctx, tx, event.Audit{
		At: at, Action: action, Changes: changes,
		Subject: event.Subject{Kind: event.KeySubject, ID: after.ID, Label: after.Label},
	})
}

// CurrentKey returns the key on whose behalf is asked.
func (v *View) CurrentKey(context.Context) (snip.Key, error) {
	if v.key.ID == 0 {
		return snip.Key{}, &snip.Error{Code: snip.NotFound, Message: "No key is in use: on the host itself none is needed."}
	}
	return v.key, nil
}

// ListKeys returns all keys, the newest first, revoked ones among them.
func (v *View) ListKeys(ctx context.Context) ([]snip.Key, error) {
	if err := v.administers(); err != nil {
		return nil, err
	}
	keys, err := readKeys(ctx, v.store.Read(), `ORDER BY id DESC`)
	return keys, v.store.failed("list keys", err)
}

func readKeys(ctx context.Context, from queryer, which string, args ...any) ([]snip.Key, error) {
	rows, err := from.QueryContext(ctx, `SELECT `+keyColumns+` FROM keys `+which, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var keys []snip.Key
	for rows.Next() {
		k, err := scanKey(rows)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// Key finds a key by its ID.
func (v *View) Key(ctx context.Context, id int64) (snip.Key, error) {
	if err := v.administers(); err != nil {
		return snip.Key{}, err
	}
	k, err := scanKey(v.store.Read().QueryRowContext(ctx, `SELECT `+keyColumns+` FROM keys WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Key{}, noSuchKey(id)
	}
	return k, v.store.failed("find key", err)
}

func noSuchKey(id int64) error {
	return &snip.Error{Code: snip.NotFound, Message: fmt.Sprintf("There is no key with the ID %d.", id)}
}

// EditKey changes what is not nil in e, all of it or nothing.
func (v *View) EditKey(ctx context.Context, id int64, e snip.KeyEdit) (snip.Key, error) {
	if err := e.Check(); err != nil {
		return snip.Key{}, err
	}
	return v.changeKey(ctx, id, "key.edited", func(k *snip.Key, _ time.Time) {
		set(&k.Label, e.Label)
		set(&k.Contact, e.Contact)
		set(&k.TimeZone, e.TimeZone)
		if e.ExpiresAt != nil {
			k.ExpiresAt = e.ExpiresAt.UTC().Truncate(time.Microsecond)
		}
	})
}

// set changes what is asked for.
func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// RevokeKey ends a key for ever. One that is revoked already stays as it is. On the host
// itself the last admin key can be revoked, too: another one can be made there.
func (v *View) RevokeKey(ctx context.Context, id int64) (snip.Key, error) {
	return v.changeKey(ctx, id, "key.revoked", func(k *snip.Key, now time.Time) {
		if k.RevokedAt.IsZero() {
			k.RevokedAt = now
		}
	})
}

// changeKey lets change have its way with a key, unless nobody could manage keys any
// more afterwards.
func (v *View) changeKey(ctx context.Context, id int64, action string, change func(k *snip.Key, now time.Time)) (k snip.Key, err error) {
	if err := v.administers(); err != nil {
		return snip.Key{}, err
	}
	now := v.store.now()
	err = v.store.change(ctx, func(ctx context.Context, tx session) error {
		// All of them, so that of two admin keys that are revoked at once one is the last.
		keys, err := readKeys(ctx, tx, `WHERE revoked_at IS NULL OR id = $1 ORDER BY id`+forUpdate(tx), id)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(k snip.Key) bool { return k.ID == id })
		if i < 0 {
			return noSuchKey(id)
		}
		before := keys[i]
		change(&keys[i], now)
		if k = keys[i]; equalKeys(k, before) {
			return nil
		}
		if v.key.ID != 0 && lastAdmin(before, keys, now) {
			return &snip.Error{Code: snip.Conflict, Message: "This is the last admin key that stays valid. Make another one first."}
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE keys SET label = $2, contact = $3, time_zone = $4, expires_at = $5, revoked_at = $6 WHERE id = $1`,
			id, k.Label, k.Contact, k.TimeZone, timeColumn(k.ExpiresAt), timeColumn(k.RevokedAt))
		if err != nil {
			return err
		}
		return v.auditKey(ctx, tx, now, action, before, k)
	})
	if err != nil {
		return snip.Key{}, v.store.failed("change key", err)
	}
	return k, nil
}

// equalKeys compares what can be changed.
func equalKeys(k, l snip.Key) bool {
	return k.Label == l.Label && k.Contact == l.Contact && k.TimeZone == l.TimeZone &&
		k.ExpiresAt.Equal(l.ExpiresAt) && k.RevokedAt.Equal(l.RevokedAt)
}

// lastAdmin reports that a change takes away the last key by which keys can be managed:
// before is what the key was, keys are as they would be. One that is never to expire is
// not made up for by one that is.
func lastAdmin(before snip.Key, keys []snip.Key, now time.Time) bool {
	admin := func(k snip.Key) bool {
		return k.May(snip.ScopeAdmin) && k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
	}
	return admin(before) && !slices.ContainsFunc(keys, func(k snip.Key) bool {
		return admin(k) && (k.ExpiresAt.IsZero() || !before.ExpiresAt.IsZero())
	})
}

// forUpdate locks the rows that a query of a transaction returns, in its order, where
// more than one transaction can write.
func forUpdate(tx session) string {
	if tx.kind == onSQLite {
		return ""
	}
	return " FOR UPDATE"
}
