package queue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

// letters are what handlers saw, in order.
type letters struct {
	mu   sync.Mutex
	seen []string
}

func (l *letters) add(letter string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, letter)
	return len(l.seen)
}

func (l *letters) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

var errCut = errors.New("the line is cut")

// nap waits on the fake clock.
func nap(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestLeaseIsRenewed: a handler that takes ten leases is run once, although another
// worker waits for what is left lying.
func TestLeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		var runs letters
		handle := func(ctx context.Context, letter string) error {
			runs.add(letter)
			return nap(ctx, 100*time.Second)
		}
		cfg := queue.WorkerConfig{Lease: 10 * time.Second}
		d.run(d.worker(cfg, queue.HandlerConfig{}, handle))
		d.run(d.worker(cfg, queue.HandlerConfig{}, handle))
		eventually(t, 2*time.Minute, "the task is done", func() bool { return len(d.outcomes()) > 0 })
		d.wantOutcomes(queue.OutcomeDone)
		if got := runs.all(); len(got) != 1 {
			t.Errorf("ran %q", got)
		}
	})
}

// TestRunLimit: the context ends, and the error of that is a failure.
func TestRunLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		cfg := queue.HandlerConfig{Limit: 3 * time.Second, Attempts: 1}
		d.run(d.worker(queue.WorkerConfig{}, cfg, func(ctx context.Context, _ string) error {
			return nap(ctx, time.Hour)
		}))
		took := eventually(t, time.Minute, "the task is dead", func() bool { return d.stats().Dead == 1 })
		if took < 3*time.Second || took > 4*time.Second {
			t.Errorf("it was buried after %s", took)
		}
		if l := d.dead()[0]; !strings.Contains(l.Error, queue.ErrRunLimit.Error()) {
			t.Errorf("its error is %q", l.Error)
		}
	})
}

// TestHandlerThatIgnoresItsContext is case Q3: its slot is given to others, its task is
// tried again elsewhere, and it is reported.
func TestHandlerThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("stuck", "b")
		release := make(chan struct{})
		var handled letters
		w := d.worker(queue.WorkerConfig{Concurrency: 1}, queue.HandlerConfig{Limit: 5 * time.Second, Attempts: 1}, func(_ context.Context, letter string) error {
			handled.add(letter)
			if letter == "stuck" {
				<-release
			}
			return nil
		})
		stop := d.run(w)
		eventually(t, time.Minute, "the other one is done", func() bool { return slices.Equal(handled.all(), []string{"stuck", "b"}) })
		eventually(t, time.Minute, "both have ended", func() bool { return len(d.outcomes()) == 2 })
		d.wantOutcomes(queue.OutcomeBuried, queue.OutcomeDone)
		if len(d.stuck) != 1 || len(d.dead()) != 1 || !strings.Contains(d.dead()[0].Error, "has not returned after") {
			t.Errorf("stuck are %q, dead %+v", d.stuck, d.dead())
		}
		if err := stop(); err == nil || !strings.Contains(err.Error(), "1 handlers did not return") {
			t.Errorf("Run() = %v, want an error that tells of it", err)
		}
		close(release)
	})
}

// TestLateVerdict is case Q40: a process stalls past its lease while another finishes
// the task. Its late verdict changes nothing, and the task has not failed.
func TestLateVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		far := newWire(d.engine)
		causes := make(chan error, 1)
		first := make(chan struct{}, 1)
		first <- struct{}{}
		handle := func(ctx context.Context, _ string) error {
			select {
			case <-first:
				far.setFault(hangs())
				<-ctx.Done()
				causes <- context.Cause(ctx)
				_ = nap(t.Context(), 30*time.Second) // It goes on regardless,
				far.setFault(nil)
				return nil // and thinks that it is done.
			default:
				return nap(ctx, 20*time.Second)
			}
		}
		d.run(d.worker(queue.WorkerConfig{Engine: far, Lease: 10 * time.Second, Concurrency: 1}, queue.HandlerConfig{}, handle))
		eventually(t, time.Second, "the first has it", func() bool { return len(first) == 0 })
		d.run(d.worker(queue.WorkerConfig{Lease: 10 * time.Second}, queue.HandlerConfig{}, handle))
		eventually(t, 2*time.Minute, "both have ended", func() bool { return len(d.outcomes()) == 2 })
		if err := <-causes; !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("the context ended with %v", err)
		}
		got := d.outcomes()
		slices.Sort(got)
		if !slices.Contains(got, queue.OutcomeDone) || slices.Contains(got, queue.OutcomeRetried) || slices.Contains(got, queue.OutcomeBuried) {
			t.Errorf("they ended %q", got)
		}
		if s := d.stats(); s.Ready+s.Leased+s.Delayed+s.Dead > 0 {
			t.Errorf("left are %+v", s)
		}
	})
}

// TestStopReleases is case Q12: what does not end in time is handed back unharmed and at
// once, what does is done.
func TestStopReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("long", "short")
		w := d.worker(queue.WorkerConfig{Drain: 5 * time.Second}, queue.HandlerConfig{Attempts: 1}, func(ctx context.Context, letter string) error {
			if letter == "short" {
				return nap(ctx, 4*time.Second)
			}
			return nap(ctx, time.Hour)
		})
		stop := d.run(w)
		eventually(t, time.Second, "both run", func() bool { return d.stats().Leased == 2 })
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it took %s to stop", took)
		}
		d.wantOutcomes(queue.OutcomeDone, queue.OutcomeReleased)
		if s := d.stats(); s.Ready != 1 || s.Dead != 0 {
			t.Errorf("left are %+v", s)
		}
	})
}

// TestStopTakesNothingNew: a task pushed after the stop is for others.
func TestStopTakesNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		var ran letters
		stop := d.run(d.worker(queue.WorkerConfig{}, queue.HandlerConfig{}, func(ctx context.Context, letter string) error {
			ran.add(letter)
			return nap(ctx, 3*time.Second)
		}))
		eventually(t, time.Second, "it runs", func() bool { return d.stats().Leased == 1 })
		stopped := make(chan error)
		go func() { stopped <- stop() }()
		time.Sleep(time.Second)
		d.push("b")
		if err := <-stopped; err != nil || len(ran.all()) != 1 {
			t.Errorf("Run() = %v, ran %q", err, ran.all())
		}
	})
}

// TestEngineComesBack is case Q18 and Q21: calls that hang end by their own limit, the
// loops survive, and verdicts are given in the end.
func TestEngineComesBack(t *testing.T) {
	for name, fault := range map[string]func(context.Context, string) error{
		"every call hangs": hangs(), "pulls hang": hangs("pull"), "verdicts hang": hangs("settle"), "declaring hangs": hangs("declare"),
		"every call fails": func(context.Context, string) error { return errCut },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				far := newWire(d.engine)
				runs := map[string]int{}
				var mu sync.Mutex
				w := d.worker(queue.WorkerConfig{Engine: far, Lease: time.Minute}, queue.HandlerConfig{}, func(ctx context.Context, letter string) error {
					mu.Lock()
					defer mu.Unlock()
					runs[letter]++
					return nil
				})
				if name == "declaring hangs" {
					far.setFault(fault)
				}
				d.push("a")
				d.run(w)
				time.Sleep(100 * time.Millisecond)
				far.setFault(fault)
				d.push("b", "c")
				time.Sleep(40 * time.Second)
				far.setFault(nil)
				eventually(t, time.Minute, "all is done", func() bool { s := d.stats(); return s.Ready+s.Leased+s.Delayed+s.Dead == 0 })
				mu.Lock()
				defer mu.Unlock()
				if want := map[string]int{"a": 1, "b": 1, "c": 1}; !maps.Equal(runs, want) {
					t.Errorf("ran %v, want %v", runs, want)
				}
			})
		})
	}
}

// TestStopWhileTheEngineIsAway: the worker gives up on its verdicts within a limit.
func TestStopWhileTheEngineIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		far := newWire(d.engine)
		d.push("a", "b")
		stop := d.run(d.worker(queue.WorkerConfig{Engine: far, Concurrency: 1, Drain: time.Second}, queue.HandlerConfig{}, func(context.Context, string) error {
			far.setFault(hangs())
			return nil
		}))
		time.Sleep(time.Second)
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("it took %s to stop", took)
		}
		d.wantOutcomes(queue.OutcomeUnknown)
	})
}

func TestExpiredTasksAreNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		late, err := d.mail.Task("late", queue.Task{Deadline: time.Now().Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		soon, err := d.mail.Task("soon", queue.Task{Deadline: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.mail.PushTasks(t.Context(), late, soon); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		var ran []string
		w := d.worker(queue.WorkerConfig{}, queue.HandlerConfig{}, func(_ context.Context, letter string) error {
			ran = append(ran, letter)
			return nil
		})
		if err := w.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l := d.dead(); !slices.Equal(ran, []string{"soon"}) || len(l) != 1 || l[0].Reason != queue.ReasonExpired || l[0].Failed != 0 {
			t.Errorf("ran %q, dead are %+v", ran, l)
		}
	})
}

// TestUnknownTypesAreLeft is case Q13.
func TestUnknownTypesAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		if _, err := d.engine.Push(t.Context(), "mail", []queue.Task{{Message: queue.Message{Type: "parcel"}}}); err != nil {
			t.Fatal(err)
		}
		d.run(d.worker(queue.WorkerConfig{}, queue.HandlerConfig{}, func(context.Context, string) error { return nil }))
		eventually(t, time.Minute, "the letter is done", func() bool { return len(d.outcomes()) == 1 })
		time.Sleep(time.Hour)
		if s := d.stats(); s.Ready != 1 || s.Dead != 0 {
			t.Errorf("left are %+v", s)
		}
	})
}

// TestTasksThatKillTheirProcess: five of a hundred do. These are buried, the rest are
// done, whatever ran beside them.
func TestTasksThatKillTheirProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for n := range 100 {
			d.push(fmt.Sprintf("%02d", n))
		}
		var mu sync.Mutex
		done := map[string]int{}
		processes := 0
		for s := d.stats(); s.Ready+s.Leased+s.Delayed > 0; s = d.stats() {
			if processes++; processes > 30 {
				t.Fatalf("%+v are left after 30 processes", s)
			}
			killed := make(chan struct{})
			kill := sync.OnceFunc(func() { close(killed) })
			far := newWire(d.engine)
			w := d.worker(queue.WorkerConfig{Engine: far, Lease: 10 * time.Second, Concurrency: 20}, queue.HandlerConfig{}, func(ctx context.Context, letter string) error {
				if strings.HasSuffix(letter, "7") && letter < "50" {
					// A process that is killed says nothing any more.
					far.setFault(func(context.Context, string) error { return errCut })
					kill()
				}
				if nap(ctx, time.Second) != nil {
					return errCut
				}
				select {
				case <-killed:
					return errCut
				default:
				}
				mu.Lock()
				defer mu.Unlock()
				done[letter]++
				return nil
			})
			stop := d.run(w)
			limit := time.Now().Add(3 * time.Minute)
			for over := false; !over && time.Now().Before(limit); {
				select {
				case <-killed:
					over = true
				case <-time.After(time.Second):
					s := d.stats()
					over = s.Ready+s.Leased+s.Delayed == 0
				}
			}
			_ = stop() // What it says is of no account.
			time.Sleep(11 * time.Second)
		}
		letters := d.dead()
		if len(letters) != 5 || len(done) != 95 {
			t.Errorf("%d are dead, %d are done, want 5 and 95", len(letters), len(done))
		}
		for _, l := range letters {
			if b := string(l.Body); !strings.HasSuffix(b, `7"`) || b > `"50"` || l.Reason != queue.ReasonLost || l.Lost != 3 {
				t.Errorf("dead is %s: %s, lost %d times", b, l.Reason, l.Lost)
			}
		}
	})
}

func TestProgressAndResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		keeping := mail
		keeping.KeepDone = time.Hour
		task, err := d.mail.Task("a", queue.Task{Message: queue.Message{ID: "first"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.mail.PushTasks(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		w := d.worker(queue.WorkerConfig{Queues: []queue.QueueConfig{keeping}}, queue.HandlerConfig{Backoff: func(int) time.Duration { return 0 }}, func(ctx context.Context, _ string) error {
			task := queue.TaskFrom(ctx)
			if task.Failed == 0 {
				if err := task.SaveProgress(ctx, []byte("half")); err != nil {
					t.Error(err)
				}
				info, err := d.engine.Get(ctx, "mail", "first")
				if err != nil || string(info.Progress) != "half" || info.State != queue.StateLeased {
					t.Errorf("Get() = %+v, %v", info, err)
				}
				return errors.New("again")
			}
			if string(task.Progress) != "half" {
				t.Errorf("progress is %q", task.Progress)
			}
			return task.SetResult([]byte("42"))
		})
		if err := w.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := d.engine.Get(t.Context(), "mail", "first")
		if err != nil || string(info.Result) != "42" || info.State != queue.StateDone || info.Failed != 1 {
			t.Errorf("Get() = %+v, %v", info, err)
		}
	})
}

func TestRunUntilEmptyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		w := d.worker(queue.WorkerConfig{Drain: -1}, queue.HandlerConfig{}, func(ctx context.Context, _ string) error { return nap(ctx, time.Hour) })
		if err := w.RunUntilEmpty(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RunUntilEmpty() = %v, want the end of its context", err)
		}
		closed := memory.New()
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		w = d.worker(queue.WorkerConfig{Engine: closed}, queue.HandlerConfig{}, func(context.Context, string) error { return nil })
		if err := w.RunUntilEmpty(t.Context()); !errors.Is(err, queue.ErrClosed) {
			t.Errorf("RunUntilEmpty() of a closed engine = %v", err)
		}
	})
}
