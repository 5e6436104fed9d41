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

// firstKey is the name under which it is remembered that there was a first key.
const firstKey = "first admin key"

// CreateAdminKey makes a key that may do everything and returns its secret, which
// cannot be read again.
func (s *Store) CreateAdminKey(ctx context.Context, label string) (secret string, err error) {
	if err := snip.CheckLabel(label); err != nil {
		return "", err
	}
	secret = newSecret()
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		return s.insertAdminKey(ctx, tx, secret, label)
	})
	if err != nil {
		return "", s.failed("create key", err)
	}
	return secret, nil
}

// FirstAdminKey makes an admin key if none was ever made. Of all processes that
// ask, ever, at most one is told the secret.
func (s *Store) FirstAdminKey(ctx context.Context) (secret string, made bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		made = false
		first, err := tx.ExecContext(ctx,
			`INSERT INTO done (name, at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, firstKey, s.now().UnixMicro())
		if err != nil {
			return err
		}
		if n, err := first.RowsAffected(); err != nil || n == 0 {
			return err
		}
		var keys int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM keys WHERE admin`).Scan(&keys); err != nil || keys > 0 {
			return err
		}
		secret, made = newSecret(), true
		return s.insertAdminKey(ctx, tx, secret, "first")
	})
	if err != nil || !made {
		return "", false, s.failed("create first key", err)
	}
	return secret, true, nil
}

// CheckKey returns the key that a secret belongs to, or an error with the code
// snip.Forbidden. How long it takes tells nothing about secrets: they are looked
// up by their hash.
func (s *Store) CheckKey(ctx context.Context, secret string) (snip.Key, error) {
	var k snip.Key
	var created int64
	err := s.Read().QueryRowContext(ctx,
		`SELECT id, label, admin, created_at FROM keys WHERE hash = $1`, hash(secret)).
		Scan(&k.ID, &k.Label, &k.Admin, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return snip.Key{}, &snip.Error{Code: snip.Forbidden, Message: "This key is not known here."}
	}
	if err != nil {
		return snip.Key{}, s.failed("check key", err)
	}
	k.CreatedAt = time.UnixMicro(created).UTC()
	return k, nil
}

func (s *Store) insertAdminKey(ctx context.Context, tx session, secret, label string) error {
	_, err := tx.ExecContext(ctx,
		`INSERT INTO keys (hash, label, admin, created_at) VALUES ($1, $2, TRUE, $3)`, hash(secret), label, s.now().UnixMicro())
	if err != nil {
		return fmt.Errorf("insert key: %w", err)
	}
	return nil
}

// newSecret returns 260 random bits behind a prefix that scanners for leaked
// secrets can look for.
func newSecret() string { return "snip_" + rand.Text() + rand.Text() }

// hash needs no salt and no slow function: a secret has too many bits to be guessed.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
