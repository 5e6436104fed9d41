package sqlitefile_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snip/internal/sqlitefile"
)

// open opens a file with a table of numbers.
func open(t *testing.T, cfg sqlitefile.Config) *sqlitefile.File {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "test.db")
	}
	cfg.Migrate = makeNumbers
	f, err := sqlitefile.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return f
}

func makeNumbers(ctx context.Context, db *sql.DB) error {
	// Not IF NOT EXISTS: a migration reads what is missing, then makes it.
	var n int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'numbers'").Scan(&n)
	if err == nil && n == 0 {
		_, err = db.ExecContext(ctx, "CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
	}
	return err
}

func insert(n int) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO numbers VALUES ($1)", n)
		return err
	}
}

func mustWrite(t *testing.T, f *sqlitefile.File, n int) {
	t.Helper()
	if err := f.Write(t.Context(), insert(n)); err != nil {
		t.Fatalf("Write() = %v", err)
	}
}

func numbers(t *testing.T, f *sqlitefile.File) []int {
	t.Helper()
	rows, err := f.Read().QueryContext(t.Context(), "SELECT n FROM numbers ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func wantNumbers(t *testing.T, f *sqlitefile.File, want ...int) {
	t.Helper()
	if got := numbers(t, f); !slices.Equal(got, want) {
		t.Errorf("the file holds %v, want %v", got, want)
	}
}

func TestOpenChecksItsConfig(t *testing.T) {
	for _, c := range []struct {
		field string
		cfg   sqlitefile.Config
	}{
		{"Path", sqlitefile.Config{}},
		{"Readers", sqlitefile.Config{Path: "x", Readers: -1}},
		{"Busy", sqlitefile.Config{Path: "x", Busy: -time.Second}},
		{"Queue", sqlitefile.Config{Path: "x", Queue: -1}},
	} {
		if _, err := sqlitefile.Open(t.Context(), c.cfg); err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("Open(%+v) = %v, want an error that names %s", c.cfg, err, c.field)
		}
	}
}

func TestOpenReportsMigrate(t *testing.T) {
	broken := errors.New("broken")
	_, err := sqlitefile.Open(t.Context(), sqlitefile.Config{
		Path:    filepath.Join(t.TempDir(), "test.db"),
		Migrate: func(context.Context, *sql.DB) error { return broken },
	})
	if !errors.Is(err, broken) {
		t.Errorf("Open() = %v, want %v", err, broken)
	}
}

// TestOpenInOddPlaces opens paths with characters that mean something in a URL.
func TestOpenInOddPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%20é.db")
	mustWrite(t, open(t, sqlitefile.Config{Path: path}), 1)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestConnectionsAreSetUp asks connections of the pool and the writer, several of
// each kind, since a new one starts with SQLite's own settings.
func TestConnectionsAreSetUp(t *testing.T) {
	f := open(t, sqlitefile.Config{Readers: 2, Busy: 1234 * time.Millisecond, Cache: 1 << 20})
	want := map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "1234", "cache_size": "-1024",
	}
	type asker interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	check := func(who string, a asker, queryOnly string) {
		t.Helper()
		want["query_only"] = queryOnly
		for pragma, want := range want {
			var got string
			if err := a.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: PRAGMA %s = %q, %v, want %q", who, pragma, got, err, want)
			}
		}
	}
	for range 2 {
		conn, err := f.Read().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		check("reader", conn, "1")
	}
	err := f.Write(t.Context(), func(_ context.Context, tx *sql.Tx) error {
		check("writer", tx, "0")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadRefusesToWrite(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	if _, err := f.Read().ExecContext(t.Context(), "INSERT INTO numbers VALUES (1)"); err == nil {
		t.Error("a reader wrote")
	}
	wantNumbers(t, f)
}

// TestOrphansAreNotPlayed removes a file but not its write-ahead log, while it is
// open, and opens a new one.
func TestOrphansAreNotPlayed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	before := open(t, sqlitefile.Config{Path: path})
	mustWrite(t, before, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	after := open(t, sqlitefile.Config{Path: path})
	wantNumbers(t, after)
	mustWrite(t, after, 2)
	// Closing the last connection to a file removes its log, which now has another.
	if err := before.Close(); err != nil {
		t.Error(err)
	}
	mustWrite(t, after, 3)
	wantNumbers(t, open(t, sqlitefile.Config{Path: path}), 2, 3)
}

func TestClose(t *testing.T) {
	f := open(t, sqlitefile.Config{})
	release := hold(t, f)
	queued := write(t.Context(), f, insert(1))
	waitFor(t, "a queued write", func() bool { return f.Waiting() == 1 })
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	waitFor(t, "a closed file", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return errors.Is(f.Write(ctx, insert(2)), sqlitefile.ErrClosed)
	})
	release()
	if err := <-queued; err != nil {
		t.Errorf("the write that was taken before Close: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close() again = %v", err)
	}
}
