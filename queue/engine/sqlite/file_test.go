package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine/sqlite"
)

func open(t *testing.T, cfg sqlite.Config) *sqlite.Engine {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "log.db")
	}
	e, err := sqlite.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return e
}

func mustDeclare(t *testing.T, e *sqlite.Engine) queue.TopicID {
	t.Helper()
	id, err := e.Declare(t.Context(), queue.TopicConfig{Name: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func batch(bodies ...string) queue.Batch {
	var b queue.Batch
	for _, body := range bodies {
		b.Messages = append(b.Messages, queue.Message{Body: []byte(body)})
	}
	return b
}

func mustAppend(t *testing.T, e *sqlite.Engine, b queue.Batch) {
	t.Helper()
	if err := e.Append(t.Context(), "orders", 0, b); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, e *sqlite.Engine) string {
	t.Helper()
	entries, err := e.Read(t.Context(), "orders", 0, queue.Position{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		for _, m := range e.Messages {
			all = append(all, string(m.Body))
		}
	}
	return strings.Join(all, " ")
}

// change does to the file what the engine would not.
func change(t *testing.T, path string, do func(ctx context.Context, c *sql.Conn) error) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := do(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
}

func statement(query string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, c *sql.Conn) error {
		_, err := c.ExecContext(ctx, query)
		return err
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), sqlite.Config{}); err == nil || !strings.Contains(err.Error(), "Path") {
		t.Errorf("Open() without a path = %v, want an error that names Path", err)
	}
	path := filepath.Join(t.TempDir(), "no", "log.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open() in a directory that is not there = %v, want %v", err, os.ErrNotExist)
	}
}

func TestOpenRefusesALaterSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	if err := open(t, sqlite.Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	change(t, path, statement("UPDATE queue_version SET version = 99"))
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("Open() of schema version 99 = %v, want an error that names it", err)
	}
}

// TestDeletedFile deletes the file alone, then with what belongs to it, under two
// engines: both go on with the new one, and neither harms it when it lets go of the
// old one.
func TestDeletedFile(t *testing.T) {
	for name, suffixes := range map[string][]string{"alone": {""}, "whole": {"", "-wal", "-shm"}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.db")
			one, two := open(t, sqlite.Config{Path: path}), open(t, sqlite.Config{Path: path})
			id := mustDeclare(t, one)
			mustAppend(t, one, batch("a"))
			before, err := two.Stats(t.Context(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			for _, suffix := range suffixes {
				if err := os.Remove(path + suffix); err != nil {
					t.Fatal(err)
				}
			}
			if err := one.Append(t.Context(), "orders", 0, batch("b")); !errors.Is(err, queue.ErrNotFound) {
				t.Errorf("Append() to a topic that went with its file = %v, want %v", err, queue.ErrNotFound)
			}
			if again := mustDeclare(t, one); again == id {
				t.Error("the topic has its old ID in a new file")
			}
			mustAppend(t, one, batch("c"))
			if got := mustRead(t, two); got != "c" {
				t.Errorf("another engine reads %q, want %q", got, "c")
			}
			mustAppend(t, two, batch("d"))
			if _, err := two.Read(t.Context(), "orders", 0, before.Partitions[0].End, 1); !errors.Is(err, queue.ErrPositionLost) {
				t.Errorf("Read() from a position of the old file = %v, want %v", err, queue.ErrPositionLost)
			}
			for _, e := range []*sqlite.Engine{one, open(t, sqlite.Config{Path: path})} {
				if got := mustRead(t, e); got != "c d" {
					t.Errorf("the new file holds %q, want %q", got, "c d")
				}
			}
		})
	}
}

// TestFileDeletedUnderAnAppend: the append has the old file and waits for its lock.
func TestFileDeletedUnderAnAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	e := open(t, sqlite.Config{Path: path})
	mustDeclare(t, e)
	done := make(chan error, 1)
	change(t, path, func(ctx context.Context, c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		go func() { done <- e.Append(t.Context(), "orders", 0, batch("a")) }()
		select {
		case err := <-done:
			return fmt.Errorf("Append() = %w while another has the lock", err)
		case <-time.After(100 * time.Millisecond): // Long enough to have begun.
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		_, err := c.ExecContext(ctx, "ROLLBACK")
		return err
	})
	if err := <-done; err == nil {
		t.Error("Append() = nil, but the file is gone")
	}
	mustDeclare(t, e)
	mustAppend(t, e, batch("b"))
	if got := mustRead(t, e); got != "b" {
		t.Errorf("the new file holds %q, want %q", got, "b")
	}
}

// TestReplacedFileWakes: a reader that waits learns that there is another log.
func TestReplacedFileWakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	one, two := open(t, sqlite.Config{Path: path}), open(t, sqlite.Config{Path: path})
	mustDeclare(t, one)
	mustAppend(t, one, batch("a"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	read := make(chan string)
	go func() {
		defer close(read)
		var seen uint64
		last := ""
		for last != "b" {
			entries, err := two.Read(ctx, "orders", 0, queue.Position{}, 1)
			if err == nil && len(entries) > 0 && string(entries[0].Messages[0].Body) != last {
				last = string(entries[0].Messages[0].Body)
				read <- last
			}
			if seen, err = two.Wait(ctx, "orders", seen); err != nil {
				return
			}
		}
	}()
	if got := <-read; got != "a" {
		t.Fatalf("read %q, want %q", got, "a")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	mustDeclare(t, one)
	mustAppend(t, one, batch("b"))
	if got := <-read; got != "b" {
		t.Errorf("read %q, want %q", got, "b")
	}
}

func TestRosterOfAnotherBootIsEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	e := open(t, sqlite.Config{Path: path})
	if err := e.Swap(t.Context(), "count", "orders", 0, []byte("roster")); err != nil {
		t.Fatal(err)
	}
	change(t, path, statement("UPDATE queue_rosters SET boot = 'another'"))
	roster, version, _, err := e.Roster(t.Context(), "count", "orders")
	if err != nil || len(roster) > 0 || version != 1 {
		t.Errorf("Roster() = %q, version %d, %v, want none under version 1", roster, version, err)
	}
	if err := e.Swap(t.Context(), "count", "orders", 1, []byte("new")); err != nil {
		t.Errorf("Swap() = %v", err)
	}
	if roster, _, _, err = e.Roster(t.Context(), "count", "orders"); err != nil || string(roster) != "new" {
		t.Errorf("Roster() = %q, %v, want %q", roster, err, "new")
	}
}

// TestSegmentsAreForgotten goes to both sides of the time that Caps states.
func TestSegmentsAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	e := open(t, sqlite.Config{Now: func() time.Time { return now }})
	mustDeclare(t, e)
	of := func(s queue.SegmentID, first uint64) queue.Batch {
		b := batch("x")
		b.Segment, b.First = s, first
		return b
	}
	old, used := queue.NewSegmentID(), queue.NewSegmentID()
	mustAppend(t, e, of(old, 0))
	mustAppend(t, e, of(used, 0))
	now = now.Add(e.Caps().SegmentMemory - time.Hour)
	mustAppend(t, e, of(used, 1))
	mustAppend(t, e, of(queue.NewSegmentID(), 0))
	want := func(s queue.SegmentID, expected uint64) {
		t.Helper()
		err := e.Append(t.Context(), "orders", 0, of(s, 99))
		if got, ok := errors.AsType[*queue.SequenceError](err); !ok || got.Expected != expected {
			t.Errorf("Append() = %v, want a *SequenceError that expects %d", err, expected)
		}
	}
	want(old, 1)
	want(used, 2)
	now = now.Add(2 * time.Hour)
	mustAppend(t, e, of(queue.NewSegmentID(), 0))
	want(old, 0)
	want(used, 2)
}

// TestTrimTakesSteps trims more than one transaction does, of small and of large
// entries.
func TestTrimTakesSteps(t *testing.T) {
	e := open(t, sqlite.Config{})
	mustDeclare(t, e)
	ctx := t.Context()
	results := make(chan error)
	const small, large = 1200, 8
	for i := range small + large {
		go func() {
			b := batch("x")
			if i < large {
				b = batch(strings.Repeat("x", 1<<20))
			}
			results <- e.Append(ctx, "orders", 0, b)
		}()
	}
	for range small + large {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, e, batch("last"))
	stats, err := e.Stats(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Trim(ctx, "orders", 0, stats.Partitions[0].End); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, e); got != "last" {
		t.Errorf("%d bytes are left, want %q", len(got), "last")
	}
	want := int64(len(queue.AppendFrames(nil, batch("last").Messages)))
	if stats, err = e.Stats(ctx, "orders"); err != nil || stats.Bytes != want {
		t.Errorf("%d bytes are counted, %v, want %d", stats.Bytes, err, want)
	}
}
