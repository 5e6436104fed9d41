package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// patience is how long anything may take that happens at all.
const patience = 60 * time.Second

func open(t *testing.T, cfg postgres.Config) *postgres.Engine {
	t.Helper()
	e, err := postgres.Open(t.Context(), cfg)
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

func mustDeclare(t *testing.T, e *postgres.Engine, partitions int) queue.TopicID {
	t.Helper()
	id, err := e.Declare(t.Context(), queue.TopicConfig{Name: "orders", Partitions: partitions})
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

func mustAppend(t *testing.T, e *postgres.Engine, b queue.Batch) {
	t.Helper()
	if err := e.Append(t.Context(), "orders", 0, b); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, e *postgres.Engine, from queue.Position) (string, queue.Position) {
	t.Helper()
	entries, err := e.Read(t.Context(), "orders", 0, from, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		for _, m := range e.Messages {
			all = append(all, string(m.Body))
		}
		from = e.Next
	}
	return strings.Join(all, " "), from
}

// dial opens a session that is not the engine's.
func dial(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close() of a session = %v", err)
		}
	})
	return conn
}

func mustExec(t *testing.T, on interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, sql string, args ...any,
) string {
	t.Helper()
	var answer string
	if err := on.QueryRow(t.Context(), sql, args...).Scan(&answer); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// until polls until a query answers true.
func until(t *testing.T, conn *pgx.Conn, what, sql string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var yes bool
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&yes); err != nil {
			t.Fatalf("until %s: %v", what, err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

const waitsForLock = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  postgres.Config
		want string
	}{
		"nothing":      {postgres.Config{}, "URL"},
		"both":         {postgres.Config{URL: "postgres://x", Pool: &pgxpool.Pool{}}, "Pool"},
		"schema":       {postgres.Config{URL: "postgres://x", Schema: `a"b`}, "Schema"},
		"long schema":  {postgres.Config{URL: "postgres://x", Schema: strings.Repeat("x", 64)}, "Schema"},
		"not a URL":    {postgres.Config{URL: "postgres://user:secret@host:notaport/x"}, "URL"},
		"no such host": {postgres.Config{URL: "postgres://user:secret@/x?host=/nowhere"}, "/nowhere"},
	} {
		_, err := postgres.Open(t.Context(), c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Open() = %v, want an error that names %s", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Open() = %v: it shows the password", name, err)
		}
	}
}

func TestAGivenPoolStaysOpen(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), postgrestest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	e := open(t, postgres.Config{Pool: pool})
	mustDeclare(t, e, 1)
	mustAppend(t, e, batch("a"))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pool.Ping(t.Context()); err != nil {
		t.Errorf("Ping() of the caller's pool = %v", err)
	}
}

// TestOpenTogether makes the tables from many engines at once, through a pooler that
// gives each transaction another session.
func TestOpenTogether(t *testing.T) {
	url := postgrestest.Pool(t, postgrestest.Start(t))
	var wg sync.WaitGroup
	ids := make([]queue.TopicID, 8)
	for i := range ids {
		wg.Go(func() {
			e, err := postgres.Open(t.Context(), postgres.Config{URL: url})
			if err != nil {
				t.Errorf("Open() = %v", err)
				return
			}
			if ids[i], err = e.Declare(t.Context(), queue.TopicConfig{Name: "orders", Partitions: 3}); err != nil {
				t.Errorf("Declare() = %v", err)
			}
			if err := e.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == (queue.TopicID{}) {
			t.Errorf("the topic has ID %s and %s", ids[0], id)
		}
	}
}

func TestANewerLogIsRefused(t *testing.T) {
	url := postgrestest.Start(t)
	open(t, postgres.Config{URL: url})
	mustExec(t, dial(t, url), "UPDATE queue.version SET version = 99")
	if _, err := postgres.Open(t.Context(), postgres.Config{URL: url}); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("Open() = %v, want an error that names version 99", err)
	}
}

func TestStrictIsolationIsRefused(t *testing.T) {
	url := postgrestest.Start(t)
	mustExec(t, dial(t, url), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''', current_database());
	END $$`)
	_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err == nil || !strings.Contains(err.Error(), "default_transaction_isolation") {
		t.Errorf("Open() = %v, want an error that names the setting", err)
	}
}

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
	defer tx.Rollback(t.Context())
	mustExec(t, tx, appendSQL, 0, "a")
	if got := mustExec(t, tx, "SHOW synchronous_commit"); got != "on" {
		t.Errorf("an append commits with synchronous_commit = %s", got)
	}
}

// appendSQL appends to topic orders as the engine does, in whatever transaction.
const appendSQL = "SELECT outcome FROM queue.append('orders', $1::int, 1, 1, NULL, 0, NULL, " +
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
		if got := mustExec(t, tx, "SELECT outcome FROM queue.append('orders', $1::int, 1, 1, NULL, 0, NULL, $2)", p, frames); got != "appended" {
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
	trim := func() {
		t.Helper()
		stats, err := e.Stats(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, e, batch("z"))
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
	mustAppend(t, e, batch("z"))
	trim()
	if got := next(old); got != 0 {
		t.Errorf("after its time a segment expects %d, want 0", got)
	}
	if got := next(kept); got != 4 {
		t.Errorf("a segment that was trimmed later expects %d, want 4", got)
	}
}

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
