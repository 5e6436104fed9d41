package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// TestADeadlockIsTriedAgain has a session that takes locks in another order.
func TestADeadlockIsTriedAgain(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclare(t, e, 1)
	for range 3 {
		mustAppend(t, e, batch("x"))
	}
	stats, err := e.Stats(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, url)
	// The server breaks off who notices, which shall be the engine.
	mustExec(t, conn, "SET deadlock_timeout = '30s'")
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "SELECT topic FROM queue.partitions FOR UPDATE")
	done := make(chan error, 1)
	go func() { done <- e.Trim(t.Context(), "orders", 0, stats.Partitions[0].End) }()
	watch := dial(t, url)
	until(t, watch, "the trim waits", waitsForLock)
	mustExec(t, tx, "SELECT sum(base)::text FROM (SELECT base FROM queue.entries FOR UPDATE) x")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Trim() = %v", err)
	}
	if got, _ := mustRead(t, e, queue.Position{}); got != "x" {
		t.Errorf("after the trim Read() = %q, want %q", got, "x")
	}
	until(t, watch, "the statistics tell of the deadlock", "SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()")
}

// TestACallThatIsGivenUpEnds, on the server too.
func TestACallThatIsGivenUpEnds(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclare(t, e, 1)
	tx, err := dial(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "SELECT topic FROM queue.partitions FOR UPDATE")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Append(ctx, "orders", 0, batch("given up")) }()
	watch := dial(t, url)
	until(t, watch, "the append waits", waitsForLock)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Append() = %v, want %v", err, context.Canceled)
	}
	until(t, watch, "nothing waits", "SELECT NOT ("+waitsForLock+")")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, e, batch("next"))
	if got, _ := mustRead(t, e, queue.Position{}); got != "next" {
		t.Errorf("Read() = %q, want %q", got, "next")
	}
}

// TestAClockThatIsSetBackGoesOn: to a roster it is the same whether its swap was an
// hour ahead or the clock went an hour back.
func TestAClockThatIsSetBackGoesOn(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	now := func() time.Duration {
		t.Helper()
		_, _, now, err := e.Roster(t.Context(), "count", "orders")
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	if err := e.Swap(t.Context(), "count", "orders", 0, nil); err != nil {
		t.Fatal(err)
	}
	mustExec(t, dial(t, url), "UPDATE queue.rosters SET swapped_at = swapped_at + interval '1 hour'")
	stepped := now()
	for version := int64(1); version < 4; version++ {
		if err := e.Swap(t.Context(), "count", "orders", version, nil); err != nil {
			t.Fatal(err)
		}
		before := stepped
		if stepped = now(); stepped <= before || stepped > before+time.Minute {
			t.Errorf("time went from %s to %s", before, stepped)
		}
	}
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestItListensOnlyToItsOwnSession: through a pooler it would hear nothing, and leave
// somebody else listening.
func TestItListensOnlyToItsOwnSession(t *testing.T) {
	const listening = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
	url := postgrestest.Start(t)
	wait := func(e *postgres.Engine) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			var seen uint64
			var err error
			for err == nil {
				seen, err = e.Wait(ctx, "orders", seen)
			}
		}()
		return func() { cancel(); <-done }
	}
	watch := dial(t, url)

	var log logged
	pooled := open(t, postgres.Config{URL: postgrestest.Pool(t, url), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	stop := wait(pooled)
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), "pooler"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the engine does not say that it found a pooler")
		}
	}
	if mustExec(t, watch, "SELECT ("+listening+")::text") != "false" {
		t.Error("somebody listens through the pooler")
	}
	stop()

	stop = wait(open(t, postgres.Config{URL: url}))
	until(t, watch, "the engine listens", listening)
	// It listens again after its session was lost.
	for range 2 {
		mustExec(t, watch, `SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
		until(t, watch, "the engine listens again", listening)
	}
	stop()
}
