package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"snip"
)

// CheckKey returns the key that a secret belongs to, or an error with the code
// snip.Unauthorized: only who has the secret learns that its key was revoked or has
// expired. How long it takes tells nothing about secrets: they are looked up by their
// hash. That the key was used is written later, by nobody who waits for it.
func (s *Store) CheckKey(ctx context.Context, secret string) (snip.Key, error) {
	k, err := scanKey(s.db.QueryRowContext(ctx, `SELECT `+keyColumns+` FROM keys WHERE hash = $1`, hash(secret)))
	now := s.now()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return snip.Key{}, unauthorized("This key is not known here.")
	case err != nil:
		return snip.Key{}, s.failed("check key", err)
	case !k.RevokedAt.IsZero():
		return snip.Key{}, unauthorized("This key was revoked on %s.", k.RevokedAt.Format(time.RFC3339))
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return snip.Key{}, unauthorized("This key expired on %s.", k.ExpiresAt.Format(time.RFC3339))
	}
	s.uses.note(k, now)
	return k, nil
}

func unauthorized(format string, args ...any) error {
	return &snip.Error{Code: snip.Unauthorized, Message: fmt.Sprintf(format, args...)}
}

// firstKey is the name under which it is remembered that there was a first key.
const firstKey = "first admin key"

// FirstAdminKey makes an admin key if none was ever made. Of all processes that
// ask, ever, at most one is told the secret.
func (s *Store) FirstAdminKey(ctx context.Context) (secret string, made bool, err error) {
	err = s.change(ctx, func(ctx context.Context, tx session) error {
		made = false
		now := s.now()
		first, err := tx.ExecContext(ctx,
			`INSERT INTO done (name, at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, firstKey, now.UnixMicro())
		if err != nil {
			return err
		}
		if n, err := first.RowsAffected(); err != nil || n == 0 {
			return err
		}
		var keys int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM keys WHERE scopes LIKE '%admin'`).Scan(&keys)
		if err != nil || keys > 0 {
			return err
		}
		secret, made = newSecret(), true
		_, err = s.insertKey(ctx, tx, secret, snip.NewKey{Label: "first", Scopes: []snip.Scope{snip.ScopeAdmin}}, now)
		return err
	})
	if err != nil || !made {
		return "", false, s.failed("create first key", err)
	}
	return secret, true, nil
}

// newSecret returns 260 random bits behind a prefix that scanners for leaked
// secrets can look for.
func newSecret() string { return "snip_" + rand.Text() + rand.Text() }

// hash needs no salt and no slow function: a secret has too many bits to be guessed.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
