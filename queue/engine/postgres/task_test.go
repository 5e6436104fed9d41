package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
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

func mustDeclareQueue(t *testing.T, e *postgres.Engine, c queue.QueueConfig) {
	t.Helper()
	c.Name = "mail"
	if err := e.DeclareQueue(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// jobs are tasks with the IDs in a text, or without one for "-".
func jobs(ids string) []queue.Task {
	var tasks []queue.Task
	for id := range strings.FieldsSeq(ids) {
		task := queue.Task{Message: queue.Message{ID: id, Type: "send"}}
		if id == "-" {
			task.ID = ""
		}
		tasks = append(tasks, task)
	}
	return tasks
}

func mustPush(t *testing.T, e *postgres.Engine, tasks ...queue.Task) {
	t.Helper()
	if _, err := e.Push(t.Context(), "mail", tasks); err != nil {
		t.Fatal(err)
	}
}

func mustPull(t *testing.T, e *postgres.Engine, most int, lease time.Duration) []queue.Leased {
	t.Helper()
	pulled, err := e.Pull(t.Context(), "mail", queue.PullRequest{Types: []string{"send"}, Max: most, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return pulled.Tasks
}

// pullAll pulls until something came, and returns the IDs.
func pullAll(t *testing.T, e *postgres.Engine) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if all := mustPull(t, e, 10_000, time.Hour); len(all) > 0 {
			return idsOf(all)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing comes")
		}
	}
}

func idsOf(all []queue.Leased) string {
	var ids []string
	for _, l := range all {
		ids = append(ids, l.ID)
	}
	return strings.Join(ids, " ")
}

func mustSettle(t *testing.T, e *postgres.Engine, kind queue.VerdictKind, of ...queue.Leased) {
	t.Helper()
	results, err := e.Settle(t.Context(), "mail", verdicts(kind, of))
	if err := errors.Join(append(results, err)...); err != nil {
		t.Fatal(err)
	}
}

func verdicts(kind queue.VerdictKind, of []queue.Leased) []queue.Verdict {
	var all []queue.Verdict
	for _, l := range of {
		all = append(all, queue.Verdict{Lease: l.Lease, Kind: kind, Reason: queue.ReasonFailed, Delay: time.Hour})
	}
	return all
}

// TestTablesOfVersion1 get what they lack, from whoever comes first, and keep what they
// have.
func TestTablesOfVersion1(t *testing.T) {
	url := postgrestest.Start(t)
	old := dial(t, url)
	first, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(t.Context(), "CREATE SCHEMA queue; "+string(first)+"; CREATE TABLE queue.version AS SELECT 1 AS version"); err != nil {
		t.Fatal(err)
	}
	mustExec(t, old, "INSERT INTO queue.topics VALUES ('orders', '\\x00112233445566778899aabbccddeeff', 1)")
	mustExec(t, old, "INSERT INTO queue.partitions (topic, partition, max_bytes) VALUES ('orders', 0, 1000000)")
	frames := queue.AppendFrames(nil, batch("kept").Messages)
	if got := mustExec(t, old, "SELECT queue.append('orders', 0, 1, 1, NULL, 0, NULL, $1)", frames); got != "appended" {
		t.Fatalf("append = %q", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			e, err := postgres.Open(t.Context(), postgres.Config{URL: url})
			if err != nil {
				t.Errorf("Open() = %v", err)
				return
			}
			if err := e.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	wg.Wait()
	e := open(t, postgres.Config{URL: url})
	if got, _ := mustRead(t, e, queue.Position{}); got != "kept" {
		t.Errorf("Read() = %q, want %q", got, "kept")
	}
	mustDeclareQueue(t, e, queue.QueueConfig{})
	mustPush(t, e, jobs("a b")...)
	if got := pullAll(t, e); got != "a b" {
		t.Errorf("Pull() = %q, want %q", got, "a b")
	}
}

// TestPushPgx goes through a pool of one connection, which the transaction has: the
// engine must not want another one.
func TestPushPgx(t *testing.T) {
	for _, mode := range []string{"", "&default_query_exec_mode=simple_protocol", "&default_query_exec_mode=exec"} {
		pool, err := pgxpool.New(t.Context(), postgrestest.Start(t)+"&pool_max_conns=1"+mode)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		e := open(t, postgres.Config{Pool: pool})
		mustDeclareQueue(t, e, queue.QueueConfig{MaxTasks: 3})
		push := func(tx pgx.Tx, ids string) ([]queue.PushResult, error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return e.PushPgx(ctx, tx, "mail", jobs(ids))
		}
		undo := errors.New("undo")
		err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := push(tx, "x y")
			return errors.Join(err, undo)
		})
		if !errors.Is(err, undo) || strings.Contains(err.Error(), "push") {
			t.Fatalf("PushPgx() = %v", err)
		}
		// What was rolled back may count for a moment, where counting takes long.
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				results, err := push(tx, "a b a")
				if err == nil && (!results[0].Pushed || !results[1].Pushed || results[2].Pushed) {
					t.Errorf("PushPgx() = %+v, want all but the last", results)
				}
				return err
			})
			if !errors.Is(err, queue.ErrFull) || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			t.Fatalf("PushPgx() = %v", err)
		}
		err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := push(tx, "c d")
			return err
		})
		if !errors.Is(err, queue.ErrFull) {
			t.Errorf("PushPgx() past the bound = %v, want %v", err, queue.ErrFull)
		}
		if got := pullAll(t, e); got != "a b" {
			t.Errorf("Pull() = %q, want %q", got, "a b")
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.PushPgx(t.Context(), nil, "mail", nil); !errors.Is(err, queue.ErrClosed) {
			t.Errorf("PushPgx() after Close() = %v, want %v", err, queue.ErrClosed)
		}
	}
}

// TestAnIDInAnOpenTransaction is neither taken nor free: who pushes it waits, and gets it
// if the transaction is rolled back.
func TestAnIDInAnOpenTransaction(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	for _, commit := range []bool{true, false} {
		tx, err := dial(t, url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("one of two", commit)
		task := queue.Task{Message: queue.Message{ID: id, Type: "send"}}
		if _, err := e.PushPgx(t.Context(), tx, "mail", []queue.Task{task}); err != nil {
			t.Fatal(err)
		}
		pushed := make(chan bool, 1)
		go func() {
			results, err := e.Push(t.Context(), "mail", []queue.Task{task})
			if err != nil {
				t.Errorf("Push() = %v", err)
			}
			pushed <- err == nil && results[0].Pushed
		}()
		until(t, dial(t, url), "the push waits", waitsForLock)
		mustPush(t, e, jobs("-")...) // Others do not.
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := <-pushed; got == commit {
			t.Errorf("after commit %t of the other one Pushed = %t", commit, got)
		}
	}
}

// TestALargeTask comes through, and its hint does: the hint does not carry it.
func TestALargeTask(t *testing.T) {
	url := postgrestest.Start(t)
	from, to := open(t, postgres.Config{URL: url}), open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, from, queue.QueueConfig{})
	large := queue.Task{Message: queue.Message{ID: "large", Type: "send", Body: bytes.Repeat([]byte("\x00x\xff"), 1<<20/3)}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- awaitBody(ctx, to, large.Body) }()
	until(t, dial(t, url), "the other one listens", "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
	mustPush(t, from, large)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// awaitBody waits for a task, which must have a body.
func awaitBody(ctx context.Context, e *postgres.Engine, want []byte) error {
	for seen := uint64(0); ; {
		var err error
		if seen, err = e.WaitQueue(ctx, "mail", seen); err != nil {
			return err
		}
		pulled, err := e.Pull(ctx, "mail", queue.PullRequest{Types: []string{"send"}, Max: 1, Lease: time.Hour})
		if err != nil {
			return err
		}
		if len(pulled.Tasks) == 1 {
			if !bytes.Equal(pulled.Tasks[0].Body, want) {
				return errors.New("the body came back as something else")
			}
			return nil
		}
	}
}

// TestOthersFillTheBound: what another process pushed is known within a second, and at
// once to one that was told that it is full.
func TestOthersFillTheBound(t *testing.T) {
	url := postgrestest.Start(t)
	a, b := open(t, postgres.Config{URL: url}), open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, a, queue.QueueConfig{MaxTasks: 10})
	mustPush(t, a, jobs("- - - - -")...)
	mustPush(t, b, jobs("- - - - -")...)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, err := a.Push(t.Context(), "mail", jobs("-"))
		if errors.Is(err, queue.ErrFull) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("Push() into a full queue = %v", err)
		}
	}
	stats, err := a.QueueStats(t.Context(), "mail")
	if err != nil {
		t.Fatal(err)
	}
	if stats.Ready < 10 || stats.Ready > 15 {
		t.Errorf("%d tasks are there, want 10, and what one process does not know of the other", stats.Ready)
	}
	mustSettle(t, b, queue.Done, mustPull(t, b, int(stats.Ready-9), time.Hour)...)
	mustPush(t, a, jobs("-")...)
	mustDeclareQueue(t, b, queue.QueueConfig{MaxTasks: 11})
	mustPush(t, a, jobs("-")...)
	if _, err := a.Push(t.Context(), "mail", jobs("-")); !errors.Is(err, queue.ErrFull) {
		t.Errorf("Push() into a full queue = %v, want %v", err, queue.ErrFull)
	}
}

// TestWhatIsPastItsTimeIsDeleted, after somebody pushes or settles.
func TestWhatIsPastItsTimeIsDeleted(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, e, queue.QueueConfig{Remember: 10 * time.Millisecond, KeepDone: 5 * time.Millisecond, KeepDead: 10 * time.Millisecond})
	mustPush(t, e, jobs("a - b -")...)
	all := mustPull(t, e, 10, time.Hour)
	mustSettle(t, e, queue.Done, all[:2]...)
	mustSettle(t, e, queue.Bury, all[2:]...)
	watch := dial(t, url)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		mustPush(t, e, queue.Task{Message: queue.Message{ID: "last", Type: "other"}})
		if mustExec(t, watch, "SELECT ((SELECT count(*) FROM queue.tasks) + (SELECT count(*) FROM queue.dead))::text") == "1" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is still there")
		}
	}
	stats, err := e.QueueStats(t.Context(), "mail")
	if err != nil || stats.DroppedDead != 2 || stats.Dead != 0 {
		t.Errorf("%d dead, %d dropped, %v, want 0 and 2", stats.Dead, stats.DroppedDead, err)
	}
}
