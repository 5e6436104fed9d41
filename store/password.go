package store

import (
	"context"

	"github.com/alexedwards/argon2id"
)

// maxHashing bounds how many passwords are hashed at once: each takes 19 MiB and some
// 20 ms of a processor.
const maxHashing = 2

// hashPassword returns the hash of a password, or "" for none. It must not be called in
// a transaction: others would wait.
func (s *Store) hashPassword(ctx context.Context, password string) (string, error) {
	if password == "" {
		return "", nil
	}
	select {
	case s.hashing <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-s.hashing }()
	return argon2id.CreateHash(password, &argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32})
}
