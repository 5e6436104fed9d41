package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"snip"
)

// saltBytes is the length of a salt.
const saltBytes = 32

// Salts returns the salts by which visitors are told apart, by the UTC day they are
// for, in days since 1970: those of yesterday, today and tomorrow. It makes what is
// missing, the same for all processes, and erases what is older. What is made is on
// disk on return.
func (s *Store) Salts(ctx context.Context) (map[int64][]byte, error) {
	today := snip.Day(s.now())
	salts, err := s.readSalts(ctx, today)
	if err == nil && salts[today] != nil && salts[today+1] != nil {
		return salts, nil
	}
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx session) error { return makeSalts(ctx, tx, today) })
	}
	if err == nil {
		salts, err = s.readSalts(ctx, today)
	}
	return salts, s.failed("salts", err)
}

func makeSalts(ctx context.Context, tx session, today int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM salts WHERE day < $1", today-1); err != nil {
		return err
	}
	for _, day := range []int64{today, today + 1} {
		salt := make([]byte, saltBytes)
		rand.Read(salt) // Never fails.
		_, err := tx.ExecContext(ctx, "INSERT INTO salts (day, salt) VALUES ($1, $2) ON CONFLICT (day) DO NOTHING",
			day, hex.EncodeToString(salt))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) readSalts(ctx context.Context, today int64) (map[int64][]byte, error) {
	rows, err := s.Read().QueryContext(ctx, "SELECT day, salt FROM salts WHERE day >= $1", today-1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	salts := map[int64][]byte{}
	for rows.Next() {
		var day int64
		var text string
		if err := rows.Scan(&day, &text); err != nil {
			return nil, err
		}
		if salts[day], err = hex.DecodeString(text); err != nil {
			return nil, fmt.Errorf("salt of day %d: %w", day, err)
		}
	}
	return salts, rows.Err()
}
