package postgres_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// TestTrimmedSpaceIsUsedAgain fills a topic and trims it in turn, with nothing to clear
// up after it but the server's own autovacuum.
func TestTrimmedSpaceIsUsedAgain(t *testing.T) {
	messages, rounds := 100_000, 4
	if os.Getenv("SNIP_TORTURE") != "" {
		messages, rounds = 1_000_000, 10
	}
	// It looks every second for what to vacuum, and has no other database to look at.
	url := postgrestest.New(t, "fsync=off", "autovacuum_naptime=1s").Database(t)
	// One session, which reports all it did at the same time.
	e := open(t, postgres.Config{URL: url + "&pool_max_conns=1"})
	mustDeclare(t, e, 1)
	watch := dial(t, url)
	var body [100]byte
	b := queue.Batch{Segment: queue.NewSegmentID()}
	for range 1000 {
		b.Messages = append(b.Messages, queue.Message{Body: body[:]})
	}
	var sizes []int64
	var appended, trimmed time.Duration
	for range rounds {
		began := time.Now()
		for range messages / len(b.Messages) {
			mustAppend(t, e, b)
			b.First += uint64(len(b.Messages))
		}
		appended += time.Since(began)
		began = time.Now()
		stats, err := e.Stats(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Trim(t.Context(), "orders", 0, stats.Partitions[0].End); err != nil {
			t.Fatal(err)
		}
		trimmed += time.Since(began)
		vacuumed(t, e, watch, b.First/uint64(len(b.Messages)))
		sizes = append(sizes, size(t, watch, "queue.entries"))
	}
	t.Logf("sizes %d, %d messages appended in %s, trimmed in %s", sizes, rounds*messages, appended, trimmed)
	if first, last := sizes[1], sizes[rounds-1]; last > first+first/4 {
		t.Errorf("the table has %d bytes after two rounds and %d after %d", first, last, rounds)
	}
	if n := mustExec(t, watch, "SELECT count(*)::text FROM queue.entries"); n != "1" {
		t.Errorf("%s entries are left, want 1", n)
	}
	if n := mustExec(t, watch, "SELECT count(*)::text FROM queue.segments"); n != "1" {
		t.Errorf("%s segments are noted, want 1", n)
	}
}

// vacuumed waits until the space of all entries but the last one is free.
func vacuumed(t *testing.T, e *postgres.Engine, watch *pgx.Conn, appended uint64) {
	t.Helper()
	for deadline := time.Now().Add(4 * patience); ; time.Sleep(50 * time.Millisecond) {
		// The session reports with its next transaction, or after ten seconds.
		if _, err := e.Stats(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		var yes bool
		err := watch.QueryRow(t.Context(), `
			SELECT bool_and(n_tup_ins >= $1 AND n_tup_ins - n_tup_del < 100 AND n_dead_tup = 0) FROM pg_stat_all_tables
			WHERE relid = 'queue.entries'::regclass
				OR relid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'queue.entries'::regclass)`, appended).Scan(&yes)
		if err != nil {
			t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("what was trimmed is not vacuumed")
		}
	}
}

// TestAnAppendChangesNoRow but adds one, so that it is as fast beside a transaction
// that is open for hours as without.
func TestAnAppendChangesNoRow(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclare(t, e, 1)
	b := batch("x")
	b.Segment = queue.NewSegmentID()
	for range 100 {
		mustAppend(t, e, b)
		b.First++
	}
	if err := e.Close(); err != nil { // Sessions report what they did when they end.
		t.Fatal(err)
	}
	watch := dial(t, url)
	const of = "FROM pg_stat_all_tables WHERE schemaname = 'queue'"
	until(t, watch, "the inserts are reported", "SELECT sum(n_tup_ins) >= 100 "+of)
	if n := mustExec(t, watch, "SELECT sum(n_tup_upd + n_tup_del)::text "+of); n != "0" {
		t.Errorf("%s rows were changed by appends", n)
	}
}

// TestHeartbeatsStayInTheirPages: what is updated again and again is updated in place.
func TestHeartbeatsStayInTheirPages(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	id := mustDeclare(t, e, 1)
	const beats = 2000
	var at queue.Position
	for version := range int64(beats) {
		if err := e.Swap(t.Context(), "count", "orders", version, []byte(strings.Repeat("x", 200))); err != nil {
			t.Fatal(err)
		}
		next := queue.Position{Entry: queue.FormatEntry(uint64(version), 1), Index: 1}
		if err := e.Commit(t.Context(), "count", id, 0, at, next); err != nil {
			t.Fatal(err)
		}
		at = next
	}
	watch := dial(t, url)
	for _, table := range []string{"queue.rosters", "queue.positions"} {
		if got := size(t, watch, table); got > 1<<20 {
			t.Errorf("one row of %s has grown to %d bytes", table, got)
		}
	}
}

func size(t *testing.T, conn *pgx.Conn, table string) (bytes int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT pg_total_relation_size($1::text::regclass)", table).Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
