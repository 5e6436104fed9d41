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
	// A transaction of all would take longer than the store lets one.
	for first := 0; first < n && err == nil; first += linksAtOnce {
		err = insertLinks(ctx, s, first, min(linksAtOnce, n-first))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

const linksAtOnce = 200_000

func insertLinks(ctx context.Context, s *store.Store, first, n int) error {
	end := strconv.Itoa(first + n)
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			WITH RECURSIVE n (i) AS (SELECT `+strconv.Itoa(first)+` UNION ALL SELECT i + 1 FROM n WHERE i + 1 < `+end+`)
			INSERT INTO links (domain, code, url, title, created_at, updated_at)
			SELECT '', 'c' || i, 'https://example.com/a/page/of/some/length?number=' || i, '', 0, 0 FROM n`)
		if err != nil {
			return err
		}
		var last int
		err = tx.QueryRowContext(ctx, `SELECT MAX(id) FROM links`).Scan(&last)
		if err == nil && last != first+n {
			err = fmt.Errorf("link %d has the number %d", first+n, last)
		}
		return err
	})
}

// manyLinks makes links and leaves them.
func manyLinks(ctx context.Context, at place, n int) error {
	s, err := makeLinks(ctx, at, n)
	if err != nil {
		return err
	}
	return s.Close()
}
