package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// TestAppendsAreSynced looks at what an append leaves set when it commits.
func TestAppendsAreSynced(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclare(t, e, 1)
	conn := dial(t, url)
	mustExec(t, conn, "SET synchronous_commit = off")
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // The test may have ended it.
	mustExec(t, tx, appendSQL, 0, "a")
	if got := mustExec(t, tx, "SHOW synchronous_commit"); got != "on" {
		t.Errorf("an append commits with synchronous_commit = %s", got)
	}
}

// appendSQL appends to topic orders as the engine does, in whatever transaction.
const appendSQL = "SELECT queue.append('orders', $1::int, 1, 1, NULL, 0, NULL, " +
	"decode('0100', 'hex') || set_byte('\\x00', 0, length($2::text)) || convert_to($2::text, 'UTF8'))"

// TestAnUncommittedAppendIsWaitedFor: who appends after it comes after it, and nobody
// reads past it.
func TestAnUncommittedAppendIsWaitedFor(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclare(t, e, 2)
	conn := dial(t, url)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := mustExec(t, tx, appendSQL, 0, "first"); got != "appended" {
		t.Fatalf("append = %q", got)
	}
	done := make(chan error, 1)
	go func() { done <- e.Append(t.Context(), "orders", 0, batch("second")) }()
	until(t, dial(t, url), "the second append waits", waitsForLock)
	if got, _ := mustRead(t, e, queue.Position{}); got != "" {
		t.Errorf("Read() beside an uncommitted append = %q", got)
	}
	if err := e.Append(t.Context(), "orders", 1, batch("elsewhere")); err != nil {
		t.Errorf("Append() to another partition = %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Append() = %v", err)
	}
	if got, _ := mustRead(t, e, queue.Position{}); got != "first second" {
		t.Errorf("Read() = %q, want %q", got, "first second")
	}
}

// TestTheOvershootIsOneBatchPerPartition has an append in flight in each partition, of
// which the others cannot know.
func TestTheOvershootIsOneBatchPerPartition(t *testing.T) {
	const partitions, bound = 4, 64 << 10
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	if _, err := e.Declare(t.Context(), queue.TopicConfig{Name: "orders", Partitions: partitions, MaxBytes: bound}); err != nil {
		t.Fatal(err)
	}
	large := batch(strings.Repeat("x", 10<<10))
	size := int64(len(queue.AppendFrames(nil, large.Messages)))
	for range bound/size - 1 {
		mustAppend(t, e, large)
	}
	frames := queue.AppendFrames(nil, large.Messages)
	var open []pgx.Tx
	for p := 1; p < partitions; p++ {
		tx, err := dial(t, url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := mustExec(t, tx, "SELECT queue.append('orders', $1::int, 1, 1, NULL, 0, NULL, $2)", p, frames); got != "appended" {
			t.Fatalf("append to partition %d = %q", p, got)
		}
		open = append(open, tx)
	}
	mustAppend(t, e, large)
	for _, tx := range open {
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := e.Stats(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if most := bound + (partitions-1)*size; stats.Bytes <= bound || stats.Bytes > most {
		t.Errorf("the topic holds %d bytes, want more than its bound of %d and at most %d", stats.Bytes, bound, most)
	}
	for p := range partitions {
		if err := e.Append(t.Context(), "orders", p, batch("x")); !errors.Is(err, queue.ErrFull) {
			t.Errorf("Append() to partition %d of a topic past its bound = %v, want %v", p, err, queue.ErrFull)
		}
	}
}

// TestSegmentsAreForgottenInTheEnd: not before their time, and only with their entries.
func TestSegmentsAreForgottenInTheEnd(t *testing.T) {
	now := time.Now()
	e := open(t, postgres.Config{URL: postgrestest.Start(t), Now: func() time.Time { return now }})
	mustDeclare(t, e, 1)
	old, kept := queue.NewSegmentID(), queue.NewSegmentID()
	of := func(s queue.SegmentID, first uint64) queue.Batch {
		b := batch("x", "y")
		b.Segment, b.First = s, first
		return b
	}
	next := func(s queue.SegmentID) uint64 {
		t.Helper()
		err := e.Append(t.Context(), "orders", 0, of(s, 1000))
		expected, ok := errors.AsType[*queue.SequenceError](err)
		if !ok {
			t.Fatalf("Append() = %v, want a *SequenceError", err)
		}
		return expected.Expected
	}
	trim := func() { // All but a last entry.
		t.Helper()
		mustAppend(t, e, batch("z"))
		stats, err := e.Stats(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Trim(t.Context(), "orders", 0, stats.Partitions[0].End); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, e, of(old, 0))
	mustAppend(t, e, of(kept, 0))
	trim()
	mustAppend(t, e, of(kept, 2))
	now = now.Add(e.Caps().SegmentMemory)
	trim()
	if got := next(old); got != 2 {
		t.Errorf("within its time a segment expects %d, want 2", got)
	}
	now = now.Add(48 * time.Hour)
	trim()
	if got := next(old); got != 0 {
		t.Errorf("after its time a segment expects %d, want 0", got)
	}
	if got := next(kept); got != 4 {
		t.Errorf("a segment that was trimmed later expects %d, want 4", got)
	}
}

// TestReadingStartsAtWhatIsKept, however little is asked for and much was trimmed.
func TestReadingStartsAtWhatIsKept(t *testing.T) {
	e := open(t, postgres.Config{URL: postgrestest.Start(t)})
	mustDeclare(t, e, 1)
	for _, body := range strings.Fields("a b c d e f g h i j") {
		mustAppend(t, e, batch(body))
	}
	entries, err := e.Read(t.Context(), "orders", 0, queue.Position{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Trim(t.Context(), "orders", 0, entries[6].Position); err != nil {
		t.Fatal(err)
	}
	for _, from := range []queue.Position{{}, entries[5].Next} {
		got, err := e.Read(t.Context(), "orders", 0, from, 2)
		if err != nil || len(got) != 2 || string(got[0].Messages[0].Body) != "g" {
			t.Errorf("Read() of 2 from %q = %v, %v, want g and h", from, got, err)
		}
	}
}

// TestACopyIsToldApart: a log that was restored from a copy and went on has other
// entries where the first had others.
func TestACopyIsToldApart(t *testing.T) {
	first := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: first})
	id := mustDeclare(t, e, 1)
	segment := queue.NewSegmentID()
	numbered := func(n uint64, body string) queue.Batch {
		b := batch(body)
		b.Segment, b.First = segment, n
		return b
	}
	mustAppend(t, e, numbered(0, "common"))
	_, common := mustRead(t, e, queue.Position{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	// A database can only be copied while nobody is connected to it.
	admin := dial(t, postgrestest.Start(t))
	config, err := pgx.ParseConfig(first)
	if err != nil {
		t.Fatal(err)
	}
	until(t, admin, "nobody is connected", "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = $1", config.Database)
	mustExec(t, admin, "CREATE DATABASE "+config.Database+"copy TEMPLATE "+config.Database)

	e = open(t, postgres.Config{URL: first})
	mustAppend(t, e, numbered(1, "lost"))
	_, lost := mustRead(t, e, queue.Position{})

	restored := open(t, postgres.Config{URL: strings.Replace(first, config.Database, config.Database+"copy", 1)})
	if got := mustDeclare(t, restored, 1); got != id {
		t.Errorf("the copy's topic has ID %s, want %s", got, id)
	}
	if _, err := restored.Read(t.Context(), "orders", 0, lost, 1); !errors.Is(err, queue.ErrPositionLost) {
		t.Errorf("Read() from what the copy has not = %v, want %v", err, queue.ErrPositionLost)
	}
	err = restored.Append(t.Context(), "orders", 0, numbered(2, "x"))
	if s, ok := errors.AsType[*queue.SequenceError](err); !ok || s.Expected != 1 {
		t.Errorf("Append() to the copy = %v, want a *SequenceError that expects 1", err)
	}
	mustAppend(t, restored, numbered(1, "again"))
	if _, err := restored.Read(t.Context(), "orders", 0, lost, 1); !errors.Is(err, queue.ErrPositionLost) {
		t.Errorf("Read() from what stood there before = %v, want %v", err, queue.ErrPositionLost)
	}
	if got, _ := mustRead(t, restored, common); got != "again" {
		t.Errorf("Read() from what both have = %q, want %q", got, "again")
	}
}
