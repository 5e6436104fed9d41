package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"snip"
	"snip/store"
)

// weigh counts a number of clicks, of each of several kinds, in batches as small as a
// busy worker has them and as large as they get. It tells how fast that was, how much
// the clicks take in each table and index, and how long questions take: as they were
// counted, and after compaction. Beside that stands a table with a row per value, which
// is the layout that was refused.
//
// What a table takes is the sum of its pages, as SQLite's dbstat tells it.
//
// It prints tables instead of rows: nothing is compared with what somebody else does.
func weigh(ctx context.Context, b *bench) ([]row, error) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return nil, err
	}
	for _, t := range allTraffic(b.clicks) {
		fmt.Printf("\n%s\n", t.name)
		if err := inStore(ctx, t, 1_000, func(*store.Store) error { return nil }); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		err := inStore(ctx, t, 10_000, func(s *store.Store) error { return weighStore(ctx, s, t, zone, b.rounds) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if err := weighRows(ctx, t, 10_000); err != nil {
			return nil, fmt.Errorf("%s: a row per value: %w", t.name, err)
		}
	}
	return nil, nil
}

// inStore counts the clicks the way the product does, and calls then.
func inStore(ctx context.Context, t *traffic, size int, then func(*store.Store) error) error {
	dir, err := os.MkdirTemp("", "snip-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(ctx, store.Config{Path: filepath.Join(dir, "snip.db")})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := numberLinks(ctx, s, t.links); err != nil {
		return err
	}
	var held, took time.Duration // With the lock, and with waiting for it too.
	for batch := range t.batches(size) {
		var begun time.Time
		began := time.Now()
		err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			begun = time.Now()
			return s.CountClicks(ctx, tx, 0, batch)
		})
		if err != nil {
			return err
		}
		held += time.Since(begun)
		took += time.Since(began)
	}
	fmt.Printf("  counted %d at a time: %.0f clicks/s, %.0f with the pauses in which others may write\n",
		size, float64(t.clicks)/held.Seconds(), float64(t.clicks)/took.Seconds())
	return then(s)
}

// weighStore weighs what was counted, compacts all but the last day, and weighs again.
func weighStore(ctx context.Context, s *store.Store, t *traffic, zone *time.Location, rounds int) error {
	if err := printWeights(ctx, s.Read(), t.clicks); err != nil {
		return err
	}
	if err := timeQuestions(ctx, s, t, zone, rounds); err != nil {
		return err
	}
	began, steps := time.Now(), 0
	for more := true; more; steps++ {
		var err error
		if more, err = s.Compact(ctx, zone, trafficEnd().Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	fmt.Printf("  compacted in %.1f s, in %d steps\n", time.Since(began).Seconds(), steps)
	if err := printWeights(ctx, s.Read(), t.clicks); err != nil {
		return err
	}
	return timeQuestions(ctx, s, t, zone, rounds)
}

// numberLinks makes links with the numbers from 1 on.
func numberLinks(ctx context.Context, s *store.Store, n int) error {
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < $1)
			INSERT INTO links (id, domain, code, url, title, created_at, updated_at)
			SELECT i, '', printf('c%07d', i), 'https://example.com/', '', 0, 0 FROM numbers`, n)
		return err
	})
}

// printWeights prints what every table and index takes that takes anything to speak of.
func printWeights(ctx context.Context, db *sql.DB, clicks int) error {
	rows, err := db.QueryContext(ctx, `
		SELECT d.name, s.tbl_name, d.pgsize FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
		WHERE aggregate = TRUE AND d.pgsize > $1 ORDER BY s.tbl_name, s.type DESC`, max(clicks/10, 4096))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, table string
		var bytes, n int64
		if err := rows.Scan(&name, &table, &bytes); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
			return err
		}
		fmt.Printf("    %-28s %9d rows %8.1f bytes/row %8.1f bytes/click\n",
			name, n, float64(bytes)/float64(n), float64(bytes)/float64(clicks))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var size, free int64
	err = db.QueryRowContext(ctx, `
		SELECT page_count * page_size, freelist_count * page_size
		FROM pragma_page_count, pragma_page_size, pragma_freelist_count`).Scan(&size, &free)
	if err != nil {
		return err
	}
	fmt.Printf("    %-28s %9.1f MB, of which %.1f MB are free to be used again\n", "file", float64(size)/1e6, float64(free)/1e6)
	return nil
}

// timeQuestions prints how long each of a few questions takes.
func timeQuestions(ctx context.Context, s *store.Store, t *traffic, zone *time.Location, rounds int) error {
	whole := snip.Range{From: snip.DateOf(trafficStart()), To: snip.DateOf(trafficEnd().Add(-time.Second)), Zone: zone}
	month := snip.Range{From: whole.To.AddDays(-29), To: whole.To, Zone: zone}
	hottest := []string{fmt.Sprintf("c%07d", t.hottest)}
	stats := func(codes []string, r snip.Range, step snip.Step) func() error {
		return func() error {
			_, err := s.Stats(ctx, snip.StatsQuery{Codes: codes, Range: r, Step: step, Top: 10})
			return err
		}
	}
	for _, q := range []struct {
		name string
		ask  func() error
	}{
		{"one link, 90 days by day", stats(hottest, whole, snip.StepDay)},
		{"one link, 30 days by hour", stats(hottest, month, snip.StepHour)},
		{"everything, 90 days by day", stats(nil, whole, snip.StepDay)},
		{"everything, 30 days by hour", stats(nil, month, snip.StepHour)},
		{"popular links, 90 days", func() error { _, err := s.Popular(ctx, whole, 10); return err }},
		{"popular links, 30 days", func() error { _, err := s.Popular(ctx, month, 10); return err }},
	} {
		var took []float64
		for range rounds {
			began := time.Now()
			if err := q.ask(); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			took = append(took, time.Since(began).Seconds())
		}
		fmt.Printf("    %-28s %9.1f ms  (%.1f to %.1f)\n", q.name, 1e3*median(took), 1e3*slices.Min(took), 1e3*slices.Max(took))
	}
	return nil
}
