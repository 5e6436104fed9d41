package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"snip"
)

// valueKey is what a row of the refused layout counts.
type valueKey struct {
	slot, link int64
	dimension  snip.Dimension
	value      string
}

// weighRows counts the same clicks in a row per link, 15 minutes, dimension and value,
// and for all links together, in a file that is set up as the product's. It is spared
// much of what the product does: links have no totals, days no visitors, and the values
// no bound.
func weighRows(ctx context.Context, t *traffic, size int) error {
	dir, err := os.MkdirTemp("", "snip-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "rows.db")+
		"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=cache_size(-8192)")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{
		`CREATE TABLE value_rows (
			generation BIGINT NOT NULL, slot BIGINT NOT NULL, link_id BIGINT NOT NULL, seconds BIGINT NOT NULL,
			dimension BIGINT NOT NULL, value TEXT NOT NULL, clicks BIGINT NOT NULL, human_clicks BIGINT NOT NULL,
			PRIMARY KEY (generation, slot, link_id, seconds, dimension, value)
		) WITHOUT ROWID`,
		`CREATE INDEX value_rows_link ON value_rows (generation, link_id, slot)`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var took time.Duration
	for batch := range t.batches(size) {
		began := time.Now()
		if err := countRows(ctx, db, batch); err != nil {
			return err
		}
		took += time.Since(began)
	}
	fmt.Printf("  a row per value, counted %d at a time: %.0f clicks/s\n", size, float64(t.clicks)/took.Seconds())
	return printWeights(ctx, db, t.clicks)
}

// rowsAtOnce is how many rows a statement writes: as many as the product's.
const rowsAtOnce = 32

func countRows(ctx context.Context, db *sql.DB, clicks []snip.Click) error {
	counts := map[valueKey]snip.Counts{}
	for i := range clicks {
		c := &clicks[i]
		one := snip.Counts{Clicks: 1}
		if c.Class == snip.Human {
			one.HumanClicks = 1
		}
		for d := range snip.NumDimensions {
			for _, link := range []int64{c.Link, 0} {
				k := valueKey{c.At.Truncate(snip.Slot).Unix(), link, d, c.Value(d)}
				sum := counts[k]
				sum.Add(one)
				counts[k] = sum
			}
		}
	}
	keys := make([]valueKey, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y valueKey) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.link, y.link), cmp.Compare(x.dimension, y.dimension), cmp.Compare(x.value, y.value))
	})
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	many, err := tx.PrepareContext(ctx, upsertRows(rowsAtOnce))
	if err != nil {
		return err
	}
	defer many.Close()
	for chunk := range slices.Chunk(keys, rowsAtOnce) {
		var args []any
		for _, k := range chunk {
			args = append(args, k.slot, k.link, int(k.dimension), k.value, counts[k].Clicks, counts[k].HumanClicks)
		}
		if len(chunk) == rowsAtOnce {
			_, err = many.ExecContext(ctx, args...)
		} else {
			_, err = tx.ExecContext(ctx, upsertRows(len(chunk)), args...)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

func upsertRows(n int) string {
	return `INSERT INTO value_rows (generation, slot, link_id, seconds, dimension, value, clicks, human_clicks)
		VALUES ` + strings.Repeat(", (0, ?, ?, 900, ?, ?, ?, ?)", n)[2:] + `
		ON CONFLICT (generation, slot, link_id, seconds, dimension, value) DO UPDATE SET
			clicks = clicks + excluded.clicks, human_clicks = human_clicks + excluded.human_clicks`
}
