package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// TestWorkersGoThroughTerminations pushes, pulls and settles while every session with the
// server is ended again and again. What was pushed is done, and nothing that was
// acknowledged comes again.
func TestWorkersGoThroughTerminations(t *testing.T) {
	t.Run("direct", func(t *testing.T) {
		url := postgrestest.Start(t)
		workThrough(t, url, url)
	})
	t.Run("pgbouncer", func(t *testing.T) {
		url := postgrestest.Start(t)
		workThrough(t, postgrestest.Pool(t, url), url)
	})
}

func workThrough(t *testing.T, url, direct string) {
	const producers, workers, terminations = 3, 3, 15
	w := &work{T: t, done: map[string]bool{}}
	open(t, postgres.Config{URL: direct}) // The tables are made before.
	producing, stop := context.WithCancel(t.Context())
	var pushing, working sync.WaitGroup
	first := open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, first, queue.QueueConfig{})
	for p := range producers {
		e := open(t, postgres.Config{URL: url})
		pushing.Go(func() { w.produce(producing, e, p) })
	}
	finished, finish := context.WithCancel(t.Context())
	for range workers {
		e := open(t, postgres.Config{URL: url})
		working.Go(func() { w.work(finished, e) })
	}
	admin := dial(t, direct)
	for range terminations {
		w.goesOn()
		mustExec(t, admin, `SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	w.goesOn()
	stop()
	pushing.Wait()
	until(t, admin, "all is done", "SELECT count(*) = 0 FROM queue.tasks WHERE ended IS NULL")
	finish()
	working.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.pushed {
		if !w.done[id] {
			t.Errorf("task %s is gone, and was not done", id)
		}
	}
	t.Logf("%d tasks were pushed, %d done", len(w.pushed), len(w.done))
}

type work struct {
	*testing.T
	acknowledged atomic.Int64

	mu     sync.Mutex // Protects below.
	pushed []string
	done   map[string]bool // False: its verdict is in doubt.
}

// goesOn waits until more was acknowledged.
func (w *work) goesOn() {
	w.Helper()
	want := w.acknowledged.Load() + 20
	for deadline := time.Now().Add(patience); w.acknowledged.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%d tasks are done, and no more", w.acknowledged.Load())
		}
	}
}

func (w *work) produce(ctx context.Context, e *postgres.Engine, p int) {
	for n := 0; ctx.Err() == nil; n++ {
		var tasks []queue.Task
		for k := range 1 + n%5 {
			tasks = append(tasks, queue.Task{Message: queue.Message{ID: fmt.Sprintf("%d-%d-%d", p, n, k), Type: "send"}})
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			_, err := e.Push(w.Context(), "mail", tasks) // Again is harmless.
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				w.Errorf("Push() = %v, for %s", err, patience)
				return
			}
		}
		w.mu.Lock()
		for _, task := range tasks {
			w.pushed = append(w.pushed, task.ID)
		}
		w.mu.Unlock()
		time.Sleep(time.Millisecond) // It shall not fill the queue.
	}
}

func (w *work) work(ctx context.Context, e *postgres.Engine) {
	for ctx.Err() == nil {
		pulled, err := e.Pull(ctx, "mail", queue.PullRequest{Types: []string{"send"}, Max: 20, Lease: 2 * time.Second})
		if err != nil || len(pulled.Tasks) == 0 {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		w.mu.Lock()
		for _, l := range pulled.Tasks {
			if w.done[l.ID] {
				w.Errorf("task %s was acknowledged, and comes again", l.ID)
			}
		}
		w.mu.Unlock()
		w.settle(e, pulled.Tasks)
	}
}

// settle acknowledges until it knows what became of it, also if the test has seen
// meanwhile that all is done and has the worker stop.
func (w *work) settle(e *postgres.Engine, all []queue.Leased) {
	deadline := time.Now().Add(patience)
	for tries := 0; ; tries++ {
		results, err := e.Settle(w.Context(), "mail", verdicts(queue.Done, all))
		if err != nil {
			if time.Now().After(deadline) {
				w.Errorf("Settle() = %v, for %s", err, patience)
				return
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		w.mu.Lock()
		for i, l := range all {
			switch {
			case results[i] == nil, tries > 0 && errors.Is(results[i], queue.ErrLeaseLost):
				// One that was tried before may have been carried out then.
				w.done[l.ID] = w.done[l.ID] || results[i] == nil || tries > 0
			case !errors.Is(results[i], queue.ErrLeaseLost):
				w.Errorf("Settle() = %v", results[i])
			}
		}
		w.mu.Unlock()
		w.acknowledged.Add(int64(len(all)))
		return
	}
}

// TestOverlappingSettlesDoNotDeadlock: whatever their order and kinds, and beside pulls
// and pushes of the same IDs.
func TestOverlappingSettlesDoNotDeadlock(t *testing.T) {
	const tasks, rounds = 200, 15
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url + "&pool_max_conns=16"})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	var all []queue.Task
	for i := range tasks {
		task := queue.Task{Message: queue.Message{Type: "send"}}
		if i%2 == 0 {
			task.ID = fmt.Sprint("named-", i)
		}
		all = append(all, task)
	}
	for range rounds {
		mustPush(t, e, all...)
		leased := mustPull(t, e, 10*tasks, time.Hour)
		var wg sync.WaitGroup
		for n := range 6 {
			kinds := []queue.VerdictKind{queue.Extend, queue.Extend, queue.Done, queue.Retry, queue.Release, queue.Bury}
			own := slices.Clone(leased)
			rand.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
			v := verdicts(queue.Extend, own)
			for i := range v {
				if n > 0 {
					v[i].Kind = kinds[(n+i)%len(kinds)]
				}
			}
			wg.Go(func() {
				if _, err := e.Settle(t.Context(), "mail", v); err != nil {
					t.Errorf("Settle() = %v", err)
				}
			})
		}
		wg.Go(func() { mustPullAny(t, e) })
		wg.Go(func() {
			if _, err := e.Push(t.Context(), "mail", all); err != nil {
				t.Errorf("Push() = %v", err)
			}
		})
		wg.Wait()
	}
	if err := e.Close(); err != nil { // Sessions report what they did when they end.
		t.Fatal(err)
	}
	watch := dial(t, url)
	until(t, watch, "what was done is reported", "SELECT sum(n_tup_ins) >= $1::int FROM pg_stat_all_tables WHERE relname = 'tasks'", tasks)
	if n := mustExec(t, watch, "SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()"); n != "0" {
		t.Errorf("%s deadlocks", n)
	}
}

func mustPullAny(t *testing.T, e *postgres.Engine) {
	t.Helper()
	if _, err := e.Pull(t.Context(), "mail", queue.PullRequest{Types: []string{"send"}, Max: 100, Lease: time.Millisecond}); err != nil {
		t.Errorf("Pull() = %v", err)
	}
}

// TestPullsBesideASnapshot that somebody holds: the server can clean up nothing of what is
// done, so pulls pass over it. They still find what was lost, and what was committed
// after later tasks were pulled.
func TestPullsBesideASnapshot(t *testing.T) {
	const many = 6000 // More than a pull passes without a thought.
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, e, queue.QueueConfig{Remember: -1})
	other := dial(t, url)
	snapshot, err := other.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, snapshot, "SELECT count(*)::text FROM queue.tasks")

	late, err := dial(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PushPgx(t.Context(), late, "mail", jobs("late")); err != nil {
		t.Fatal(err)
	}
	mustPush(t, e, jobs("lost")...)
	lost := mustPull(t, e, 1, time.Hour)
	for range many / 1000 {
		tasks := make([]queue.Task, 1000)
		for i := range tasks {
			tasks[i].Type = "send"
		}
		mustPush(t, e, tasks...)
		mustSettle(t, e, queue.Done, mustPull(t, e, 1000, time.Hour)...)
	}
	mustPull(t, e, 10, time.Hour) // From the start, in vain: the next ones start later.
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustPush(t, e, jobs("new")...)
	var got []string
	for deadline := time.Now().Add(patience); len(got) < 2; {
		all := mustPull(t, e, 10, time.Hour)
		for _, l := range all {
			got = append(got, l.ID)
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %q came", got)
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"late", "new"}) {
		t.Fatalf("%q came, want late and new", got)
	}
	results, err := e.Settle(t.Context(), "mail", []queue.Verdict{{Lease: lost[0].Lease, Kind: queue.Extend, Delay: time.Millisecond}})
	if err := errors.Join(append(results, err)...); err != nil {
		t.Fatal(err)
	}
	if got := pullAll(t, e); got != "lost" {
		t.Errorf("Pull() = %q, want %q", got, "lost")
	}
	if err := snapshot.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
