package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"snip/store"
)

func openStore(ctx context.Context, at place) (*store.Store, error) {
	if at.url != "" {
		return store.Open(ctx, store.Config{URL: at.url})
	}
	return store.Open(ctx, store.Config{Path: filepath.Join(at.dir, "snip.db")})
}

// makeLinks opens a store and makes links c0, c1 and so on, which have the numbers from
// 1 on.
func makeLinks(ctx context.Context, at place, n int) (*store.Store, error) {
	s, err := openStore(ctx, at)
	if err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < `+strconv.Itoa(n)+`)
			INSERT INTO links (domain, code, url, title, created_at, updated_at)
			SELECT '', 'c' || i, 'https://example.com/a/page/of/some/length?number=' || i, '', 0, 0 FROM n`)
		if err != nil {
			return err
		}
		var wrong int
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM links WHERE code <> 'c' || (id - 1)`).Scan(&wrong)
		if err == nil && wrong > 0 {
			err = fmt.Errorf("%d links have other numbers than they should", wrong)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// manyLinks makes links and leaves them.
func manyLinks(ctx context.Context, at place, n int) error {
	s, err := makeLinks(ctx, at, n)
	if err != nil {
		return err
	}
	return s.Close()
}
