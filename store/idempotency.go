package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"snip"
)

// idempotencyAge is for how long a request is remembered.
const idempotencyAge = 24 * time.Hour

// request is one that may be sent again. The zero value is not remembered.
type request struct {
	name string // Hash of what the caller named it.
	hash string // Of all that is asked for.
}

// errNotMade: no such request made a link within the age.
var errNotMade = errors.New("the request made no link yet")

// askedFor returns what is remembered of a request. What is asked for may hold a
// password, which nobody must be able to guess from its hash: it is made with a key that
// is not kept.
func askedFor(n snip.NewLink) (request, error) {
	if n.IdempotencyKey == "" {
		return request{}, nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return request{}, fmt.Errorf("encode request: %w", err)
	}
	h := hmac.New(sha256.New, []byte(n.IdempotencyKey))
	_, _ = h.Write(b) // Never fails.
	return request{hash(n.IdempotencyKey), hex.EncodeToString(h.Sum(nil))}, nil
}

// madeBefore returns the link that a request made, as it is now, or errNotMade.
func (v *View) madeBefore(ctx context.Context, r queryer, asked request, now time.Time) (snip.Link, error) {
	if asked == (request{}) {
		return snip.Link{}, errNotMade
	}
	var before string
	var id int64
	err := r.QueryRowContext(ctx, `
		SELECT request, link_id FROM idempotency WHERE owner = $1 AND name = $2 AND created_at > $3`,
		v.key.ID, asked.name, now.Add(-idempotencyAge).UnixMicro()).Scan(&before, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Link{}, errNotMade
	}
	if err != nil {
		return snip.Link{}, err
	}
	if before != asked.hash {
		return snip.Link{}, &snip.Error{Code: snip.Reused, Field: "Idempotency-Key",
			Message: "Something else was asked for with this key before. Use a new one for each request."}
	}
	l, err := v.linkByID(ctx, r, id)
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Link{}, &snip.Error{Code: snip.Conflict, Field: "Idempotency-Key",
			Message: "The link that was made with this key was deleted since. Use a new key to make another one."}
	}
	return l, err
}

// remember reports whether a request is the first of its name within the age. Others
// with the same name wait until the end of the transaction.
func (v *View) remember(ctx context.Context, tx session, asked request, now time.Time) (first bool, err error) {
	if asked == (request{}) {
		return true, nil
	}
	old := now.Add(-idempotencyAge).UnixMicro()
	if err := forgetRequests(ctx, tx, old); err != nil {
		return false, err
	}
	result, err := tx.ExecContext(ctx, `
		INSERT INTO idempotency (owner, name, request, link_id, created_at) VALUES ($1, $2, $3, 0, $4)
		ON CONFLICT (owner, name) DO UPDATE SET request = excluded.request, link_id = 0, created_at = excluded.created_at
		WHERE idempotency.created_at <= $5`, v.key.ID, asked.name, asked.hash, now.UnixMicro(), old)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// rememberLink says which link the request made.
func (v *View) rememberLink(ctx context.Context, tx session, asked request, link int64) error {
	if asked == (request{}) {
		return nil
	}
	_, err := tx.ExecContext(ctx, `UPDATE idempotency SET link_id = $3 WHERE owner = $1 AND name = $2`, v.key.ID, asked.name, link)
	return err
}

// forgetRequests erases a few that are too old. Since each request that is remembered
// does so, there are never many.
func forgetRequests(ctx context.Context, tx session, old int64) error {
	skip := ""
	if tx.kind == onPostgres {
		skip = "FOR UPDATE SKIP LOCKED" // Others may be erasing them.
	}
	_, err := tx.ExecContext(ctx, `
		DELETE FROM idempotency WHERE (owner, name) IN (
			SELECT owner, name FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT 10 `+skip+`)`, old)
	return err
}
