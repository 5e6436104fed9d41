package outbox_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"snip/internal/sqlitefile"
	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/outbox"
)

// serverURL names a variable: the PostgreSQL server on which the tests of this package
// keep their tables, instead of in files.
const serverURL = "SNIP_TEST_POSTGRES"

// openStore opens the store at a path, as one process does.
func openStore(t *testing.T, path string) outbox.Store {
	t.Helper()
	if server := os.Getenv(serverURL); server != "" {
		return openServer(t, server, path)
	}
	f, err := sqlitefile.Open(t.Context(), sqlitefile.Config{Path: path, Migrate: func(ctx context.Context, db *sql.DB) error {
		var there bool
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM sqlite_master WHERE name = 'outbox'`).Scan(&there)
		if err == nil && !there {
			_, err = db.ExecContext(ctx, outbox.Schema)
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

type serverStore struct{ *sql.DB }

func (s serverStore) Read() *sql.DB { return s.DB }

func (s serverStore) Write(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // Does nothing once it is committed.
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

func openServer(t *testing.T, server, path string) outbox.Store {
	t.Helper()
	sum := sha256.Sum256([]byte(path))
	schema := "t" + hex.EncodeToString(sum[:8])
	separator := "?"
	if strings.Contains(server, "?") {
		separator = "&"
	}
	db, err := sql.Open("pgx", server+separator+"default_query_exec_mode=exec&search_path="+schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var there bool
	if err := db.QueryRow("SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if !there {
		for _, statement := range append([]string{"CREATE SCHEMA " + schema}, strings.Split(strings.TrimSpace(outbox.SchemaPostgres), "\n")...) {
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	return serverStore{db}
}

func somewhere(t *testing.T) string { return filepath.Join(t.TempDir(), "store.db") }

func newOutbox(t *testing.T, cfg outbox.Config) *outbox.Outbox {
	t.Helper()
	cfg.Topic = "orders"
	o, err := outbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func orders(partitions int) queue.TopicConfig {
	return queue.TopicConfig{Name: "orders", Partitions: partitions}
}

// order is a message of a customer: one key has one partition.
func order(customer, number int) queue.Message {
	return queue.Message{
		Key: fmt.Sprint("customer-", customer), Type: "order", Body: fmt.Appendf(nil, "%d/%03d", customer, number),
	}
}

func write(t *testing.T, s outbox.Store, o *outbox.Outbox, messages ...queue.Message) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return o.Write(ctx, tx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

// forward runs a forwarder until it is stopped, at the end of the test at the latest.
func forward(t *testing.T, cfg outbox.ForwarderConfig) (stop func()) {
	t.Helper()
	if cfg.Lease == 0 {
		cfg.Lease = 100 * time.Millisecond
	}
	if cfg.Poll == 0 {
		cfg.Poll = 10 * time.Millisecond
	}
	f, err := outbox.NewForwarder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// waiting returns how many rows there are.
func waiting(t *testing.T, s outbox.Store, o *outbox.Outbox) int64 {
	t.Helper()
	stats, err := o.Stats(t.Context(), s.Read())
	if err != nil {
		t.Fatal(err)
	}
	return stats.Rows
}

func awaitEmpty(t *testing.T, s outbox.Store, o *outbox.Outbox) {
	t.Helper()
	eventually(t, "everything is sent", func() bool { return waiting(t, s, o) == 0 })
}

// eventually polls with a limit that only a test which fails reaches.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// sent returns the bodies in a topic by partition; nil if there is no topic.
func sent(t *testing.T, e queue.LogEngine, partition int) (bodies []string) {
	t.Helper()
	entries, err := e.Read(t.Context(), "orders", partition, queue.Position{}, 1<<20)
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		t.Fatal(err)
	}
	for _, n := range entries {
		for _, m := range n.Messages {
			bodies = append(bodies, string(m.Body))
		}
	}
	return bodies
}

// mustHave checks that a topic holds messages of customers once and in order, from 0
// on.
func mustHave(t *testing.T, e queue.LogEngine, partitions int, want map[int]int) {
	t.Helper()
	got := map[int]int{}
	for p := range partitions {
		for _, body := range sent(t, e, p) {
			var customer, number int
			if _, err := fmt.Sscanf(body, "%d/%d", &customer, &number); err != nil {
				t.Fatalf("body %q: %v", body, err)
			}
			if number != got[customer] {
				t.Fatalf("partition %d has %q, want message %d of the customer next", p, body, got[customer])
			}
			got[customer]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("messages by customer (-want +got):\n%s", diff)
	}
}

func TestCommittedIsSentAndRolledBackIsNot(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{Partitions: 3}), memory.New()
	errRollBack := errors.New("roll back")
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if err := o.Write(ctx, tx, order(1, 100)); err != nil {
			t.Error(err)
		}
		return errRollBack
	})
	if !errors.Is(err, errRollBack) {
		t.Fatal(err)
	}
	write(t, s, o, order(1, 0), order(2, 0), order(1, 1))
	write(t, s, o, order(1, 2))
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(3)})
	awaitEmpty(t, s, o)
	write(t, s, o, order(1, 3), order(3, 0))
	awaitEmpty(t, s, o)
	mustHave(t, e, 3, map[int]int{1: 4, 2: 1, 3: 1})
}

func TestMessagesAreSentAsTheyAre(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), memory.New()
	at := time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.UTC)
	want := []queue.Message{
		{},
		{ID: "id", Key: "k\x00\xff", Type: "t", Time: at, Headers: map[string]string{"a": "\xff", "": "b"}, Body: []byte{0, 255}},
		{Body: []byte(strings.Repeat("x", outbox.MaxMessageBytes-100))},
	}
	write(t, s, o, want...)
	if stats, err := o.Stats(t.Context(), s.Read()); err != nil || stats.Rows != 3 || !stats.Oldest.IsZero() || stats.MaxRows != 1_000_000 {
		t.Errorf("Stats = %+v, %v, want 3 rows of 1,000,000, and no time of the first", stats, err)
	}
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
	awaitEmpty(t, s, o)
	var got []queue.Message
	entries, err := e.Read(t.Context(), "orders", 0, queue.Position{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range entries {
		got = append(got, n.Messages...)
	}
	if len(got) != len(want) {
		t.Fatalf("%d messages were sent, want %d", len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(queue.AppendFrames(nil, got[i:i+1]), queue.AppendFrames(nil, want[i:i+1])) {
			t.Errorf("message %d was sent otherwise than it was written", i)
		}
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return o.Write(ctx, tx, queue.Message{Body: make([]byte, outbox.MaxMessageBytes)})
	})
	if err == nil || !strings.Contains(err.Error(), "at most 262144") {
		t.Errorf("a message over the limit: %v, want an error that names it", err)
	}
}

func TestOldestIsTold(t *testing.T) {
	s, o := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{})
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	write(t, s, o, queue.Message{Time: at}, queue.Message{Time: at.Add(time.Hour)})
	if stats, err := o.Stats(t.Context(), s.Read()); err != nil || !stats.Oldest.Equal(at) {
		t.Errorf("Stats = %+v, %v, want %s as the oldest", stats, err, at)
	}
}

// A forwarder that never looks by itself sends what it is woken for.
func TestWakeIsAtOnce(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), memory.New()
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1), Poll: 24 * time.Hour})
	for i := range 20 {
		write(t, s, o, order(1, i))
		o.Wake()
		awaitEmpty(t, s, o)
	}
	mustHave(t, e, 1, map[int]int{1: 20})
}

func TestFullRefuses(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{MaxRows: 10}), memory.New()
	for i := range 8 {
		write(t, s, o, order(1, i))
	}
	refused := func(messages ...queue.Message) {
		t.Helper()
		err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return o.Write(ctx, tx, messages...) })
		full, ok := errors.AsType[*queue.FullError](err)
		if !ok || full.RetryAfter < time.Second {
			t.Fatalf("a write over the bound: %v, want a FullError with a time to try again", err)
		}
	}
	refused(order(2, 0), order(2, 1), order(2, 2)) // All or none.
	write(t, s, o, order(1, 8), order(1, 9))
	for range 100 { // What is refused uses nothing up.
		refused(order(2, 0))
	}
	if n := waiting(t, s, o); n != 10 {
		t.Errorf("%d rows, want the 10 of the bound", n)
	}
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
	awaitEmpty(t, s, o)
	write(t, s, o, order(1, 10), order(1, 11))
	awaitEmpty(t, s, o)
	mustHave(t, e, 1, map[int]int{1: 12})
}

func TestConstructorsNameTheField(t *testing.T) {
	for field, cfg := range map[string]outbox.Config{
		"Topic": {Topic: "No Name"}, "Partitions": {Topic: "orders", Partitions: -1}, "MaxRows": {Topic: "orders", MaxRows: -1},
	} {
		if _, err := outbox.New(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("New with a wrong %s: %v", field, err)
		}
	}
	good := outbox.ForwarderConfig{
		Outbox: newOutbox(t, outbox.Config{}), Store: openStore(t, somewhere(t)), Engine: memory.New(), Topic: orders(1),
	}
	for field, spoil := range map[string]func(*outbox.ForwarderConfig){
		"Outbox":          func(c *outbox.ForwarderConfig) { c.Outbox = nil },
		"Store":           func(c *outbox.ForwarderConfig) { c.Store = nil },
		"Engine":          func(c *outbox.ForwarderConfig) { c.Engine = nil },
		"Name":            func(c *outbox.ForwarderConfig) { c.Topic.Name = "" },
		`Topic is "else"`: func(c *outbox.ForwarderConfig) { c.Topic.Name = "else" },
		"2 partitions":    func(c *outbox.ForwarderConfig) { c.Topic.Partitions = 2 },
		"Lease":           func(c *outbox.ForwarderConfig) { c.Lease = time.Millisecond },
		"Poll":            func(c *outbox.ForwarderConfig) { c.Poll = -1 },
		"Sequences":       func(c *outbox.ForwarderConfig) { c.Engine = forgetful{memory.New()} },
		"batches":         func(c *outbox.ForwarderConfig) { c.Engine = narrow{memory.New()} },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := outbox.NewForwarder(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("NewForwarder with a wrong %s: %v", field, err)
		}
	}
}

type forgetful struct{ *memory.Engine }

func (f forgetful) Caps() queue.Caps {
	c := f.Engine.Caps()
	c.Sequences = false
	return c
}

type narrow struct{ *memory.Engine }

func (n narrow) Caps() queue.Caps {
	c := n.Engine.Caps()
	c.MaxBatchBytes = 1 << 20
	return c
}
