package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine/sqlite"
)

func mustDeclareQueue(t *testing.T, e *sqlite.Engine, c queue.QueueConfig) {
	t.Helper()
	c.Name = "mail"
	if err := e.DeclareQueue(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func task(id string) queue.Task { return queue.Task{Message: queue.Message{ID: id, Type: "send"}} }

func tasks(n int) []queue.Task {
	all := make([]queue.Task, n)
	for i := range all {
		all[i] = task(fmt.Sprintf("task %06d", i))
	}
	return all
}

func mustPush(t *testing.T, e *sqlite.Engine, tasks ...queue.Task) {
	t.Helper()
	if _, err := e.Push(t.Context(), "mail", tasks); err != nil {
		t.Fatal(err)
	}
}

func pull(t *testing.T, e *sqlite.Engine, p queue.PullRequest) []queue.Leased {
	t.Helper()
	p.Types = []string{"send"}
	if p.Max == 0 {
		p.Max = 1000
	}
	got, err := e.Pull(t.Context(), "mail", p)
	if err != nil {
		t.Fatal(err)
	}
	return got.Tasks
}

func mustPull(t *testing.T, e *sqlite.Engine) []queue.Leased {
	t.Helper()
	return pull(t, e, queue.PullRequest{Lease: time.Hour})
}

// pullSoon pulls until there is something.
func pullSoon(t *testing.T, e *sqlite.Engine) []queue.Leased {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if got := mustPull(t, e); len(got) > 0 || time.Now().After(end) {
			return got
		}
	}
}

func wantIDs(t *testing.T, got []queue.Leased, want string) {
	t.Helper()
	var ids []string
	for _, l := range got {
		ids = append(ids, l.ID)
	}
	if s := strings.Join(ids, " "); s != want {
		t.Errorf("pulled %q, want %q", s, want)
	}
}

func settle(t *testing.T, e *sqlite.Engine, v queue.Verdict, leased ...queue.Leased) []error {
	t.Helper()
	verdicts := make([]queue.Verdict, len(leased))
	for i, l := range leased {
		verdicts[i] = v
		verdicts[i].Lease = l.Lease
	}
	results, err := e.Settle(t.Context(), "mail", verdicts)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func mustSettle(t *testing.T, e *sqlite.Engine, v queue.Verdict, leased ...queue.Leased) {
	t.Helper()
	if err := errors.Join(settle(t, e, v, leased...)...); err != nil {
		t.Fatal(err)
	}
}

// clock is a wall clock that can be set.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) step(d time.Duration) { c.ahead.Add(int64(d)) }

// TestSteppedClock: an hour forth or back neither ends a lease nor prolongs one.
func TestSteppedClock(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			var c clock
			e := open(t, sqlite.Config{Now: c.now})
			mustDeclareQueue(t, e, queue.QueueConfig{})
			mustPush(t, e, task("long"))
			long := pull(t, e, queue.PullRequest{Lease: time.Minute})
			mustPush(t, e, task("short"))
			pull(t, e, queue.PullRequest{Lease: 100 * time.Millisecond})
			c.step(step)
			if s, err := e.QueueStats(t.Context(), "mail"); err != nil || s.Leased+s.Ready != 2 || s.Leased == 0 {
				t.Errorf("QueueStats() = %+v, %v, want nothing delayed", s, err)
			}
			again := pullSoon(t, e)
			wantIDs(t, again, "short")
			if len(again) == 1 && again[0].Lost != 1 {
				t.Errorf("it was lost %d times, want once", again[0].Lost)
			}
			mustSettle(t, e, queue.Verdict{Kind: queue.Extend, Delay: time.Minute}, long...)
			c.step(-2 * step)
			wantIDs(t, mustPull(t, e), "")
			mustSettle(t, e, queue.Verdict{Kind: queue.Done}, long...)
			mustSettle(t, e, queue.Verdict{Kind: queue.Done}, again...)
		})
	}
}

// TestSteppedClockAndDelays: what is due by the wall clock follows it.
func TestSteppedClockAndDelays(t *testing.T) {
	var c clock
	e := open(t, sqlite.Config{Now: c.now})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	later := task("later")
	later.Delay = 30 * time.Minute
	mustPush(t, e, later)
	wantIDs(t, mustPull(t, e), "")
	c.step(time.Hour)
	wantIDs(t, mustPull(t, e), "later")
}

// TestReboot: the leases of an earlier boot are over, whatever their clock said.
func TestReboot(t *testing.T) {
	cfg := sqlite.Config{Path: filepath.Join(t.TempDir(), "app.db")}
	boot := func(name string) *sqlite.Engine {
		e, err := sqlite.OpenIn(t.Context(), cfg, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() }) // Mostly it is closed already.
		return e
	}
	one := boot("one")
	mustDeclareQueue(t, one, queue.QueueConfig{})
	mustPush(t, one, task("a"), task("b"), task("c"))
	before := pull(t, one, queue.PullRequest{Max: 2, Lease: time.Hour})
	wantIDs(t, before, "a b")
	again := boot("one")
	wantIDs(t, pull(t, again, queue.PullRequest{Max: 1, Lease: time.Hour}), "c")
	for _, e := range []*sqlite.Engine{one, again} {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}

	two := boot("two")
	if s, err := two.QueueStats(t.Context(), "mail"); err != nil || s.Ready != 3 || s.Leased != 0 {
		t.Errorf("QueueStats() = %+v, %v, want 3 ready", s, err)
	}
	// A verdict that survived the reboot in somebody's queue: nobody else has it yet.
	mustSettle(t, two, queue.Verdict{Kind: queue.Done}, before[0])
	after := mustPull(t, two)
	wantIDs(t, after, "b c")
	for _, l := range after {
		if l.Lost != 1 {
			t.Errorf("%s was lost %d times, want once", l.ID, l.Lost)
		}
	}
	if got := settle(t, two, queue.Verdict{Kind: queue.Done}, before[1]); !errors.Is(got[0], queue.ErrLeaseLost) {
		t.Errorf("Settle() of a lease of another boot = %v, want %v", got[0], queue.ErrLeaseLost)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	two = boot("two")
	wantIDs(t, mustPull(t, two), "")
}

// TestPushTxWithTheCallersRows: the task is there if the row is, and the caller's
// connection is like any other.
func TestPushTxWithTheCallersRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(on)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (id TEXT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	e := open(t, sqlite.Config{Path: path})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	order := func(id string, end func(*sql.Tx) error) {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO orders VALUES (?)", id); err != nil {
			t.Fatal(err)
		}
		if _, err := e.PushTx(t.Context(), tx, "mail", []queue.Task{task(id)}); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	order("a", (*sql.Tx).Commit)
	order("b", (*sql.Tx).Rollback)
	order("c", (*sql.Tx).Commit)
	wantIDs(t, mustPull(t, e), "a c")
	if got := value[string](t, path, "SELECT group_concat(id, ' ') FROM orders"); got != "a c" {
		t.Errorf("orders %q, want %q", got, "a c")
	}
}

// TestPushTxWaitsForTheWriter: a transaction whose first statement is the push waits
// for another's lock, although it did not ask for one when it began.
func TestPushTxWaitsForTheWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := open(t, sqlite.Config{Path: path})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	done := make(chan error, 1)
	change(t, path, func(ctx context.Context, c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE; UPDATE queue_queues SET grown = grown + 1"); err != nil {
			return err
		}
		go func() {
			tx, err := db.BeginTx(t.Context(), nil)
			if err == nil {
				_, err = e.PushTx(t.Context(), tx, "mail", []queue.Task{task("a")})
			}
			if err == nil {
				err = tx.Commit()
			}
			done <- err
		}()
		select {
		case err := <-done:
			return fmt.Errorf("PushTx() and Commit() = %w while another has the lock", err)
		case <-time.After(100 * time.Millisecond): // Long enough to have begun.
		}
		_, err := c.ExecContext(ctx, "COMMIT")
		return err
	})
	if err := <-done; err != nil {
		t.Errorf("PushTx() and Commit() = %v", err)
	}
	wantIDs(t, mustPull(t, e), "a")
}

func TestPushTxInAnotherFile(t *testing.T) {
	e := open(t, sqlite.Config{})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := e.PushTx(t.Context(), tx, "mail", []queue.Task{task("a")}); err == nil {
		t.Error("PushTx() = nil in a file that the engine does not keep")
	}
}

// TestAPullThatFindsNothingDoesNotWrite: it does not even wait for who writes.
func TestAPullThatFindsNothingDoesNotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := open(t, sqlite.Config{Path: path, Busy: time.Millisecond})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	later := task("later")
	later.Delay = time.Hour
	mustPush(t, e, later)
	change(t, path, func(ctx context.Context, c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		wantIDs(t, mustPull(t, e), "")
		_, err := c.ExecContext(ctx, "ROLLBACK")
		return err
	})
}

// TestRowsAreRemoved looks for what is left behind in the file.
func TestRowsAreRemoved(t *testing.T) {
	var c clock
	path := filepath.Join(t.TempDir(), "app.db")
	e := open(t, sqlite.Config{Path: path, Now: c.now})
	config := queue.QueueConfig{MaxTasks: 400, Overflow: queue.DropOldest, KeepDone: time.Minute, KeepDead: time.Hour}
	mustDeclareQueue(t, e, config)
	for round := range 20 {
		some := tasks(300)
		for i := range some {
			if i%2 == 0 { // The others are named alike each time.
				some[i].ID += fmt.Sprint(" of round ", round)
			}
		}
		mustPush(t, e, some...)
		mustPush(t, e, tasks(100)[round])
		all := mustPull(t, e)
		mustSettle(t, e, queue.Verdict{Kind: queue.Bury, Reason: queue.ReasonFailed}, all[:10]...)
		mustSettle(t, e, queue.Verdict{Kind: queue.Done, Result: []byte("fine")}, all[10:250]...)
		if err := e.Cancel(t.Context(), "mail", all[250].ID); err != nil {
			t.Fatal(err)
		}
		mustSettle(t, e, queue.Verdict{Kind: queue.Release}, all[251:]...)
		c.step(20 * time.Minute)
	}
	left := mustPull(t, e)
	mustSettle(t, e, queue.Verdict{Kind: queue.Done}, left...)
	for table, most := range map[string]int{"queue_tasks": 0, "queue_frames": 0, "queue_done": 600, "queue_dead": 40} {
		if got := value[int](t, path, "SELECT COUNT(*) FROM "+table); got > most {
			t.Errorf("%s has %d rows, want %d at most", table, got, most)
		}
	}
	if got, want := value[int](t, path, "SELECT dead FROM queue_queues"), value[int](t, path, "SELECT COUNT(*) FROM queue_dead"); got != want {
		t.Errorf("%d dead letters are counted, there are %d", got, want)
	}
	if got := value[int](t, path, "SELECT tasks FROM queue_queues"); got != 0 {
		t.Errorf("%d tasks are counted, there are none", got)
	}
}

// TestAPullIsBoundedInBytes: what is left comes with the next, and one that is larger
// than the bound comes by itself.
func TestAPullIsBoundedInBytes(t *testing.T) {
	e := open(t, sqlite.Config{})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	const each = 9
	for range 8 {
		large := task("")
		large.Body = make([]byte, each<<20)
		mustPush(t, e, large)
	}
	if got := len(mustPull(t, e)); got != 64/each {
		t.Errorf("pulled %d tasks of %d MiB, want %d", got, each, 64/each)
	}
	if got := len(mustPull(t, e)); got != 1 {
		t.Errorf("pulled %d tasks, want the last", got)
	}
}

// TestManyTypes are more than one statement takes.
func TestManyTypes(t *testing.T) {
	e := open(t, sqlite.Config{})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	const n = 250
	types := make([]string, n)
	for i := range n {
		one := task(fmt.Sprint(i))
		one.Type = fmt.Sprintf("type %d", (i*7)%n)
		types[i] = one.Type
		mustPush(t, e, one)
	}
	got, err := e.Pull(t.Context(), "mail", queue.PullRequest{Types: types, Max: 200, Lease: time.Hour})
	if err != nil || len(got.Tasks) != 200 {
		t.Fatalf("Pull() = %d tasks, %v, want 200", len(got.Tasks), err)
	}
	for i, l := range got.Tasks {
		if l.ID != fmt.Sprint(i) {
			t.Fatalf("task %s came in place %d", l.ID, i)
		}
	}
	if s, err := e.QueueStats(t.Context(), "mail"); err != nil || s.Ready != 50 || s.Leased != 200 {
		t.Errorf("QueueStats() = %+v, %v, want 50 ready, 200 leased", s, err)
	}
}

// TestAMountainOfVerdicts keeps more than one statement could carry.
func TestAMountainOfVerdicts(t *testing.T) {
	e := open(t, sqlite.Config{})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	const n = 2500
	mustPush(t, e, tasks(n)...)
	all := pull(t, e, queue.PullRequest{Max: n, Lease: time.Hour})
	progress := []byte(strings.Repeat("x", 4<<10))
	mustSettle(t, e, queue.Verdict{Kind: queue.Extend, Delay: time.Hour, Progress: progress}, all...)
	// Each verdict twice in one call: the second finds the lease ended.
	results := settle(t, e, queue.Verdict{Kind: queue.Retry, Error: string(progress)}, append(all, all...)...)
	for i, err := range results {
		if (err == nil) != (i < n) {
			t.Fatalf("result %d of %d = %v", i, len(results), err)
		}
	}
	again := pull(t, e, queue.PullRequest{Max: n, Lease: time.Hour})
	if len(again) != n {
		t.Fatalf("pulled %d tasks, want %d", len(again), n)
	}
	for _, l := range again {
		if l.Failed != 1 || string(l.Progress) != string(progress) {
			t.Fatalf("%s: failed %d times, progress of %d bytes", l.ID, l.Failed, len(l.Progress))
		}
	}
	mustSettle(t, e, queue.Verdict{Kind: queue.Done}, again...)
}

// TestContextsThatEnd while a call is carried out leave it to the race detector whether
// the call still touches what its caller has again.
func TestContextsThatEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	e := open(t, sqlite.Config{Path: path})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			pushed, verdicts := make([]queue.Task, 20), []queue.Verdict{}
			for i := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*worker)*50*time.Microsecond)
				for j := range pushed {
					pushed[j] = task("")
				}
				// What becomes of each call depends on the moment at which its context ends.
				_, _ = e.Push(ctx, "mail", pushed)
				got, _ := e.Pull(ctx, "mail", queue.PullRequest{Types: []string{"send"}, Max: 20, Lease: time.Hour})
				verdicts = verdicts[:0]
				for _, l := range got.Tasks {
					verdicts = append(verdicts, queue.Verdict{Lease: l.Lease, Kind: queue.Done})
				}
				_, _ = e.Settle(ctx, "mail", verdicts)
				cancel()
			}
		})
	}
	all.Wait()
	if !value[bool](t, path, `
		SELECT tasks = (SELECT COUNT(*) FROM queue_tasks) AND tasks = (SELECT COUNT(*) FROM queue_frames) FROM queue_queues`) {
		t.Error("the tasks are not as many as are counted, or as there are messages")
	}
}
