package postgres_test

import (
	"context"
	"errors"
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
