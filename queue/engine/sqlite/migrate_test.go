package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"snip/queue"
	"snip/queue/engine/sqlite"
)

// logOfVersion1 makes a file as the first programs did, with two messages in topic
// orders, a segment whose next number is 2, a roster and a position.
func logOfVersion1(t *testing.T) (path string, id queue.TopicID, segment queue.SegmentID) {
	t.Helper()
	schema, err := os.ReadFile("testdata/log_v1.sql")
	if err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "log.db")
	id, segment = queue.NewTopicID(), queue.NewSegmentID()
	frames := queue.AppendFrames(nil, batch("a", "b").Messages)
	position := queue.Position{Entry: queue.FormatEntry(0, 7), Index: 1}
	change(t, path, func(ctx context.Context, c *sql.Conn) error {
		for _, s := range []struct {
			query string
			args  []any
		}{
			{"PRAGMA journal_mode = wal", nil},
			{string(schema) + "PRAGMA user_version = 1;", nil},
			{"INSERT INTO topics (name, id, partitions, max_bytes, bytes) VALUES ('orders', ?, 1, 1 << 30, ?)", []any{id[:], len(frames)}},
			{"INSERT INTO partitions (part, topic, partition, appended) VALUES (1, 'orders', 0, 2)", nil},
			{"INSERT INTO entries (part, base, mark, count, segment, first, frames) VALUES (1, 0, 7, 2, ?, 0, ?)", []any{segment[:], frames}},
			{"INSERT INTO segments (part, segment, next, seen_at) VALUES (1, ?, 2, unixepoch())", []any{segment[:]}},
			{"INSERT INTO rosters (consumer, topic, boot, version, roster) VALUES ('count', 'orders', ?, 3, 'roster')", []any{strings.TrimSpace(string(boot))}},
			{"INSERT INTO positions (consumer, topic, partition, position) VALUES ('count', ?, 0, ?)", []any{id[:], position.String()}},
		} {
			if _, err := c.ExecContext(ctx, s.query, s.args...); err != nil {
				return fmt.Errorf("%s: %w", s.query, err)
			}
		}
		return nil
	})
	return path, id, segment
}

// TestLogOfAnEarlierProgram is opened by several at once, and goes on where it was.
func TestLogOfAnEarlierProgram(t *testing.T) {
	path, id, segment := logOfVersion1(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			e, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
			if err != nil {
				t.Errorf("Open() = %v", err)
				return
			}
			if err := e.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	all.Wait()
	e := open(t, sqlite.Config{Path: path})
	if got := mustDeclare(t, e); got != id {
		t.Errorf("the topic has ID %s, want %s", got, id)
	}
	b := batch("c")
	b.Segment, b.First = segment, 2
	mustAppend(t, e, b)
	if got := mustRead(t, e); got != "a b c" {
		t.Errorf("the log holds %q, want %q", got, "a b c")
	}
	roster, version, _, err := e.Roster(t.Context(), "count", "orders")
	if string(roster) != "roster" || version != 3 || err != nil {
		t.Errorf("Roster() = %q, %d, %v, want %q, 3", roster, version, err, "roster")
	}
	at, err := e.Position(t.Context(), "count", id, 0)
	if err != nil || at.Index != 1 {
		t.Errorf("Position() = %s, %v, want one of index 1", at, err)
	}
	if entries, err := e.Read(t.Context(), "orders", 0, at, 1); err != nil || len(entries) != 1 {
		t.Errorf("Read() from the position = %v, %v, want one entry", entries, err)
	}
	mustDeclareQueue(t, e, queue.QueueConfig{})
	mustPush(t, e, task("x"))
	wantIDs(t, mustPull(t, e), "x")
	if got := value[int](t, path, "PRAGMA user_version"); got != 2 {
		t.Errorf("user_version = %d: a program of that time would make a log of its own in the file", got)
	}
}

// TestFileOfTheCaller has tables of its own, one of them named like those of old logs,
// and a version that is the caller's.
func TestFileOfTheCaller(t *testing.T) {
	for _, version := range []int{0, 1, 2, 99} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			change(t, path, statement(fmt.Sprintf(`
				CREATE TABLE topics (name TEXT); INSERT INTO topics VALUES ('mine');
				PRAGMA user_version = %d`, version)))
			for range 2 {
				e := open(t, sqlite.Config{Path: path})
				mustDeclare(t, e)
				mustAppend(t, e, batch("a"))
				mustDeclareQueue(t, e, queue.QueueConfig{})
				mustPush(t, e, task(""))
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := value[int](t, path, "PRAGMA user_version"); got != version {
				t.Errorf("user_version = %d, want %d as before", got, version)
			}
			if got := value[string](t, path, "SELECT group_concat(name) FROM topics"); got != "mine" {
				t.Errorf("the caller's table holds %q, want %q", got, "mine")
			}
			if got := value[string](t, path, `
				SELECT coalesce(group_concat(name), '') FROM sqlite_schema
				WHERE name NOT LIKE 'queue\_%' ESCAPE '\' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`); got != "topics" {
				t.Errorf("beside queue_... there are %s, want the caller's alone", got)
			}
		})
	}
}

func TestNamesThatAreTakenAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	change(t, path, statement("CREATE TABLE queue_tasks (mine TEXT)"))
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); err == nil || !strings.Contains(err.Error(), "queue_tasks") {
		t.Errorf("Open() = %v, want an error that names queue_tasks", err)
	}
	if got := value[int](t, path, "SELECT COUNT(*) FROM sqlite_schema"); got != 1 {
		t.Errorf("%d tables and indexes are in the file, want the caller's alone", got)
	}
}

// value reads one value of the file.
func value[T any](t *testing.T, path, query string, args ...any) (v T) {
	t.Helper()
	change(t, path, func(ctx context.Context, c *sql.Conn) error {
		return c.QueryRowContext(ctx, query, args...).Scan(&v)
	})
	return v
}
