package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

// wire stands between a worker and its engine. A test can break it.
type wire struct {
	*memory.Engine

	mu    sync.Mutex
	fault func(ctx context.Context, call string) error // Before each call. Nil: none.
}

func newWire(e *memory.Engine) *wire { return &wire{Engine: e} }

func (w *wire) setFault(fault func(context.Context, string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

func (w *wire) pass(ctx context.Context, call string) error {
	w.mu.Lock()
	fault := w.fault
	w.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, call)
}

func (w *wire) DeclareQueue(ctx context.Context, q queue.QueueConfig) error {
	if err := w.pass(ctx, "declare"); err != nil {
		return err
	}
	return w.Engine.DeclareQueue(ctx, q)
}

func (w *wire) Pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	if err := w.pass(ctx, "pull"); err != nil {
		return queue.Pulled{}, err
	}
	return w.Engine.Pull(ctx, name, p)
}

func (w *wire) Settle(ctx context.Context, name string, v []queue.Verdict) ([]error, error) {
	call := "settle"
	if v[0].Kind == queue.Extend {
		call = "extend"
	}
	if err := w.pass(ctx, call); err != nil {
		return nil, err
	}
	return w.Engine.Settle(ctx, name, v)
}

// hangs makes the named calls wait for an answer that does not come.
func hangs(calls ...string) func(context.Context, string) error {
	return func(ctx context.Context, call string) error {
		if len(calls) > 0 && !slices.Contains(calls, call) {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

var mail = queue.QueueConfig{Name: "mail"}

// desk is a queue of mail with its producer, and what observers were told.
type desk struct {
	t      *testing.T
	engine *memory.Engine
	mail   *queue.Producer[string]

	mu    sync.Mutex
	ended []queue.TaskEnd
	stuck []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	e := memory.New()
	p, err := queue.NewProducer[string](queue.ProducerConfig{Engine: e, Queue: mail, Type: "letter"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, engine: e, mail: p}
}

func (d *desk) push(payloads ...string) {
	d.t.Helper()
	for _, p := range payloads {
		if _, err := d.mail.Push(d.t.Context(), p); err != nil {
			d.t.Fatal(err)
		}
	}
}

// worker makes a worker with a handler of letters.
func (d *desk) worker(cfg queue.WorkerConfig, h queue.HandlerConfig, handle func(ctx context.Context, letter string) error) *queue.Worker {
	d.t.Helper()
	if cfg.Engine == nil {
		cfg.Engine = d.engine
	}
	if cfg.Queues == nil {
		cfg.Queues = []queue.QueueConfig{mail}
	}
	cfg.Observer = queue.Observer{
		TaskEnded: func(e queue.TaskEnd) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.ended = append(d.ended, e)
		},
		TaskStuck: func(queue, taskType, id string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.stuck = append(d.stuck, id)
		},
	}
	w, err := queue.NewWorker(cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := queue.Handle(w, "mail", "letter", handle, h); err != nil {
		d.t.Fatal(err)
	}
	return w
}

// run runs a worker until the returned function is called, or the test ends.
func (d *desk) run(w *queue.Worker) (stop func() error) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	d.t.Cleanup(func() { _ = stop() })
	return stop
}

func (d *desk) stats() queue.QueueStats {
	d.t.Helper()
	s, err := d.engine.QueueStats(d.t.Context(), "mail")
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) outcomes() (all []queue.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ended {
		all = append(all, e.Outcome)
	}
	return all
}

func (d *desk) wantOutcomes(want ...queue.Outcome) {
	d.t.Helper()
	if got := d.outcomes(); !slices.Equal(got, want) {
		d.t.Errorf("the tasks ended %q, want %q", got, want)
	}
}

func (d *desk) dead() []queue.DeadLetter {
	d.t.Helper()
	letters, err := d.engine.ListDead(d.t.Context(), "mail", 0, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	return letters
}

func TestWorkerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a", "b", "c")
		var seen []string
		w := d.worker(queue.WorkerConfig{Concurrency: 1}, queue.HandlerConfig{}, func(ctx context.Context, letter string) error {
			task := queue.TaskFrom(ctx)
			if task.Queue != "mail" || task.Type != "letter" || task.ID == "" {
				t.Errorf("the handler's task is %+v", task)
			}
			seen = append(seen, letter)
			return nil
		})
		if err := w.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(seen, want) {
			t.Errorf("handled %q, want %q", seen, want)
		}
		d.wantOutcomes(queue.OutcomeDone, queue.OutcomeDone, queue.OutcomeDone)
		if s := d.stats(); s.Ready+s.Leased+s.Delayed+s.Dead != 0 {
			t.Errorf("left are %+v", s)
		}
	})
}

func TestFailuresAreRetriedThenBuried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		began := time.Now()
		var times []time.Duration
		cfg := queue.HandlerConfig{Attempts: 4, Backoff: func(failed int) time.Duration { return time.Duration(failed) * time.Minute }}
		d.run(d.worker(queue.WorkerConfig{}, cfg, func(context.Context, string) error {
			times = append(times, time.Since(began).Round(time.Minute))
			return errors.New("no stamp\x00\xff")
		}))
		eventually(t, time.Hour, "the task is dead", func() bool { return d.stats().Dead == 1 })
		if want := []time.Duration{0, time.Minute, 3 * time.Minute, 6 * time.Minute}; !slices.Equal(times, want) {
			t.Errorf("tried at %v, want %v", times, want)
		}
		l := d.dead()[0]
		if l.Reason != queue.ReasonFailed || l.Failed != 4 || l.Lost != 0 || l.Released != 0 || l.Error != "no stamp\uFFFD\uFFFD" || string(l.Body) != `"a"` {
			t.Errorf("the dead letter is %+v", l)
		}
		d.wantOutcomes(queue.OutcomeRetried, queue.OutcomeRetried, queue.OutcomeRetried, queue.OutcomeBuried)
	})
}

func TestGiveUpAndRetryIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("again", "never")
		began := time.Now()
		var again []time.Duration
		d.run(d.worker(queue.WorkerConfig{}, queue.HandlerConfig{}, func(_ context.Context, letter string) error {
			if letter == "never" {
				return fmt.Errorf("read: %w", queue.GiveUp(errors.New("no such street")))
			}
			if again = append(again, time.Since(began).Round(time.Second)); len(again) < 3 {
				return queue.RetryIn(10*time.Second, nil)
			}
			return nil
		}))
		eventually(t, time.Minute, "all is done", func() bool { return len(d.outcomes()) == 4 })
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second}; len(again) != 3 || again[1] < want[1] || again[2] < want[2] || again[2] > want[2]+3*time.Second {
			t.Errorf("tried at %v, want about %v", again, want)
		}
		if l := d.dead(); len(l) != 1 || l[0].Failed != 1 || l[0].Error != "read: no such street" {
			t.Errorf("dead are %+v", l)
		}
	})
}

// oddCodec panics.
type oddCodec struct{ queue.JSON }

func (oddCodec) Decode([]byte, any) error { panic("odd body") }

// TestPanicsAreFailures: in every function that is the user's.
func TestPanicsAreFailures(t *testing.T) {
	fine := func(context.Context, string) error { return nil }
	for name, test := range map[string]struct {
		worker  queue.WorkerConfig
		handler queue.HandlerConfig
		handle  func(context.Context, string) error
		dead    bool
	}{
		"handler": {handler: queue.HandlerConfig{Attempts: 1}, handle: func(context.Context, string) error { panic("odd letter") }, dead: true},
		"codec":   {handler: queue.HandlerConfig{Attempts: 1, Codec: oddCodec{}}, handle: fine, dead: true},
		"middleware": {
			worker: queue.WorkerConfig{Middleware: []queue.Middleware{func(queue.TaskHandler) queue.TaskHandler {
				return func(context.Context, *queue.RunningTask) error { panic("odd middleware") }
			}}},
			handler: queue.HandlerConfig{Attempts: 1}, handle: fine, dead: true,
		},
		"backoff": {
			handler: queue.HandlerConfig{Attempts: 2, Backoff: func(int) time.Duration { panic("odd backoff") }},
			handle:  func(context.Context, string) error { return errors.New("failed") }, dead: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.push("a")
				d.run(d.worker(test.worker, test.handler, test.handle))
				eventually(t, time.Minute, "the task is dead", func() bool { return d.stats().Dead == 1 })
			})
		})
	}
	t.Run("observer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t)
			d.push("a", "b")
			cfg := queue.WorkerConfig{
				Engine: d.engine, Queues: []queue.QueueConfig{mail},
				Observer: queue.Observer{TaskEnded: func(queue.TaskEnd) { panic("odd observer") }},
			}
			w, err := queue.NewWorker(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := queue.Handle(w, "mail", "letter", fine, queue.HandlerConfig{}); err != nil {
				t.Fatal(err)
			}
			if err := w.RunUntilEmpty(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestMiddlewareInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.push("a")
		var trace []string
		named := func(name string) queue.Middleware {
			return func(next queue.TaskHandler) queue.TaskHandler {
				return func(ctx context.Context, task *queue.RunningTask) error {
					trace = append(trace, name)
					return next(ctx, task)
				}
			}
		}
		w := d.worker(queue.WorkerConfig{Middleware: []queue.Middleware{named("outer"), named("inner")}}, queue.HandlerConfig{},
			func(context.Context, string) error {
				trace = append(trace, "handler")
				return nil
			})
		if err := w.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(trace, " "); got != "outer inner handler" {
			t.Errorf("ran %q", got)
		}
	})
}

// TestWorkerChecksItsConfig: what is wrong is named, when it is said.
func TestWorkerChecksItsConfig(t *testing.T) {
	e := memory.New()
	queues := []queue.QueueConfig{mail}
	for field, cfg := range map[string]queue.WorkerConfig{
		"Engine":         {Queues: queues},
		"Queues":         {Engine: e},
		`"mail" twice`:   {Engine: e, Queues: []queue.QueueConfig{mail, mail}},
		"Name":           {Engine: e, Queues: []queue.QueueConfig{{Name: "My Mail"}}},
		"MaxTasks is -1": {Engine: e, Queues: []queue.QueueConfig{{Name: "mail", MaxTasks: -1}}},
		"Overflow":       {Engine: e, Queues: []queue.QueueConfig{{Name: "mail", Overflow: "burn"}}},
		"Concurrency":    {Engine: e, Queues: queues, Concurrency: -1},
		"Lease":          {Engine: e, Queues: queues, Lease: time.Millisecond},
		"Poll":           {Engine: e, Queues: queues, Poll: -time.Second},
		"Middleware":     {Engine: e, Queues: queues, Middleware: []queue.Middleware{nil}},
		"Durability":     {Engine: e, Queues: []queue.QueueConfig{{Name: "mail", Durability: queue.DurablePower}}},
	} {
		if _, err := queue.NewWorker(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("NewWorker() = %v, want an error that names %s", err, field)
		}
	}
	_, err := queue.NewWorker(queue.WorkerConfig{Engine: e, Queues: []queue.QueueConfig{{Name: "mail", Durability: queue.DurablePower}}})
	if !errors.Is(err, queue.ErrUnsupported) {
		t.Errorf("NewWorker() = %v, want %v", err, queue.ErrUnsupported)
	}
}

func TestHandleChecks(t *testing.T) {
	w, err := queue.NewWorker(queue.WorkerConfig{Engine: memory.New(), Queues: []queue.QueueConfig{mail}})
	if err != nil {
		t.Fatal(err)
	}
	fine := func(context.Context, string) error { return nil }
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `queue "mail" has no handler`) {
		t.Errorf("Run() without a handler = %v", err)
	}
	if err := queue.Handle(w, "mail", "letter", fine, queue.HandlerConfig{}); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"there is one already":         queue.Handle(w, "mail", "letter", fine, queue.HandlerConfig{}),
		`the worker's Queues are ["m`:  queue.Handle(w, "parcels", "letter", fine, queue.HandlerConfig{}),
		"the type is 0 bytes":          queue.Handle(w, "mail", "", fine, queue.HandlerConfig{}),
		"the function must be set":     queue.Handle[string](w, "mail", "card", nil, queue.HandlerConfig{}),
		"Attempts is -1":               queue.Handle(w, "mail", "card", fine, queue.HandlerConfig{Attempts: -1}),
		"MaxLost is 1, must be at lea": queue.Handle(w, "mail", "card", fine, queue.HandlerConfig{MaxLost: 1}),
		"Limit is -1s":                 queue.Handle(w, "mail", "card", fine, queue.HandlerConfig{Limit: -time.Second}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Handle() = %v, want %q in it", err, want)
		}
	}
}
