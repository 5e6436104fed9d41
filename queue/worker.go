package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// WorkerConfig describes a worker. Engine and Queues must be set.
type WorkerConfig struct {
	Engine TaskEngine
	Queues []QueueConfig // Declared when the worker runs.

	// Concurrency is how many tasks of each queue are worked on at the same time. So many
	// are pulled and settled at once, too. Default: 10. At most 10,000. A queue that needs
	// another one gets a worker of its own.
	Concurrency int

	// Lease is how long a task stays hidden from others if this worker is gone; while a
	// handler runs it is renewed. Default: 30 s. At least 100 ms.
	Lease time.Duration

	// Poll is how often to look for what no wake-up tells of, such as a task that becomes
	// due. Default: 1 s.
	Poll time.Duration

	// Drain is how long handlers may go on after Run's context ended. Then theirs ends,
	// and what they do not finish at once is released. Default: 10 s. Negative: not at all.
	Drain time.Duration

	Middleware []Middleware
	Observer   Observer
	Logger     *slog.Logger // Default: none.
}

// Worker pulls tasks and runs handlers. Register these with Handle, then Run it.
type Worker struct {
	cfg WorkerConfig
	log *slog.Logger

	mu       sync.Mutex
	running  bool
	handlers map[string]map[string]*handler // By queue and type.

	gate gate
}

// What ends the context of a handler. context.Cause tells which.
var (
	// ErrStopping: the worker stops. What the handler does not finish is released.
	ErrStopping = errors.New("the worker stops")

	// ErrRunLimit: the handler ran for as long as HandlerConfig.Limit, which is the
	// deadline of its context.
	ErrRunLimit = errors.New("the limit of the run is over")
)

const maxConcurrency = 10_000

// NewWorker checks the configuration. It does no I/O.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	if cfg.Engine == nil {
		return nil, errors.New("worker: Engine must be set")
	}
	if len(cfg.Queues) == 0 {
		return nil, errors.New("worker: Queues must name at least one")
	}
	cfg.Queues = slices.Clone(cfg.Queues)
	handlers := map[string]map[string]*handler{}
	for i, q := range cfg.Queues {
		q, err := q.Check(cfg.Engine.Caps())
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		if handlers[q.Name] != nil {
			return nil, fmt.Errorf("worker: Queues names %q twice", q.Name)
		}
		cfg.Queues[i], handlers[q.Name] = q, map[string]*handler{}
	}
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 10)
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Poll = cmp.Or(cfg.Poll, time.Second)
	cfg.Drain = max(cmp.Or(cfg.Drain, 10*time.Second), 0)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	switch {
	case cfg.Concurrency < 1 || cfg.Concurrency > maxConcurrency:
		return nil, fmt.Errorf("worker: Concurrency is %d, must be 1 to %d", cfg.Concurrency, maxConcurrency)
	case cfg.Lease < 100*time.Millisecond:
		return nil, fmt.Errorf("worker: Lease is %s, must be at least 100ms", cfg.Lease)
	case cfg.Poll < time.Millisecond:
		return nil, fmt.Errorf("worker: Poll is %s, must be at least 1ms", cfg.Poll)
	case slices.ContainsFunc(cfg.Middleware, func(m Middleware) bool { return m == nil }):
		return nil, errors.New("worker: Middleware must not hold nil")
	}
	w := &Worker{cfg: cfg, log: cfg.Logger, handlers: handlers}
	w.gate.changed = make(chan struct{})
	return w, nil
}

// Handle registers a handler for the raw tasks of a type in a queue. For typed payloads
// there is the function of the same name.
func (w *Worker) Handle(queue, taskType string, run TaskHandler, cfg HandlerConfig) error {
	err := w.handle(queue, taskType, run, cfg)
	if err != nil {
		return fmt.Errorf("handler of %q in queue %q: %w", taskType, queue, err)
	}
	return nil
}

func (w *Worker) handle(queue, taskType string, run TaskHandler, cfg HandlerConfig) error {
	cfg, err := cfg.check()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	types, ok := w.handlers[queue]
	switch {
	case run == nil:
		return errors.New("the function must be set")
	case len(taskType) < 1 || len(taskType) > maxTaskType:
		return fmt.Errorf("the type is %d bytes long, must be 1 to %d", len(taskType), maxTaskType)
	case !ok:
		return fmt.Errorf("the worker's Queues are %q", slices.Sorted(maps.Keys(w.handlers)))
	case types[taskType] != nil:
		return errors.New("there is one already")
	case w.running:
		return errors.New("the worker runs already")
	}
	for _, m := range slices.Backward(w.cfg.Middleware) {
		run = m(run)
	}
	types[taskType] = &handler{cfg: cfg, run: run}
	return nil
}

// Run declares the queues and works until ctx ends and what runs has come to its end, at
// most Drain and a little later. Outages of the engine are waited out. Its error tells of
// handlers that did not return, whose goroutines are still there.
func (w *Worker) Run(ctx context.Context) error {
	pullers, err := w.begin()
	if err != nil {
		return err
	}
	defer w.end()
	errs := make([]error, len(pullers))
	var wg sync.WaitGroup
	for i, c := range pullers {
		wg.Go(func() { errs[i] = c.work(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// RunUntilEmpty works until no task of its queues is ready or leased, or ctx ends, whose
// error it then returns. Delayed tasks, and what is to be retried, are left. It is for
// tests and for programs that come and go.
func (w *Worker) RunUntilEmpty(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()
	for {
		empty, err := w.empty(ctx)
		if err == nil && !empty {
			err = pause(ctx, 5*time.Millisecond)
		}
		if empty || err != nil {
			stop()
			return cmp.Or(ctx.Err(), errors.Join(err, <-done))
		}
		select {
		case err := <-done:
			return cmp.Or(ctx.Err(), err)
		default:
		}
	}
}

func (w *Worker) empty(ctx context.Context) (bool, error) {
	for _, q := range w.cfg.Queues {
		s, err := w.cfg.Engine.QueueStats(ctx, q.Name)
		if errors.Is(err, ErrNotFound) {
			return false, nil // It is not declared yet.
		}
		if err != nil || s.Ready+s.Leased > 0 {
			return false, err
		}
	}
	return true, nil
}

func (w *Worker) begin() ([]*puller, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running {
		return nil, errors.New("worker: it runs already")
	}
	var pullers []*puller
	for _, q := range w.cfg.Queues {
		if len(w.handlers[q.Name]) == 0 {
			return nil, fmt.Errorf("worker: queue %q has no handler", q.Name)
		}
		pullers = append(pullers, newPuller(w, q, w.handlers[q.Name]))
	}
	w.running = true
	return pullers, nil
}

func (w *Worker) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = false
}
