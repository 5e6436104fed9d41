package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// puller works on one queue for as long as its worker runs.
type puller struct {
	worker    *Worker
	queue     QueueConfig
	handlers  map[string]*handler
	types     []string
	aloneFrom int
	log       *slog.Logger
	settler   *settler
	freed     chan struct{} // Told when a run has ended.
	next      chan *taskRun // Tasks on their way to a goroutine.

	mu    sync.Mutex
	runs  map[*taskRun]bool
	stuck int // Handlers that have not returned, and are not waited for.
}

const (
	// gather is how long a pull waits, while tasks run, for more of them to end: to ask
	// for a task at a time costs more than it brings.
	gather = 2 * time.Millisecond

	// grace is how long a handler may take to return after its context ended.
	grace = 2 * time.Second
)

func newPuller(w *Worker, q QueueConfig, handlers map[string]*handler) *puller {
	c := &puller{
		worker: w, queue: q, handlers: handlers, types: slices.Sorted(maps.Keys(handlers)),
		log: w.log.With("queue", q.Name), freed: make(chan struct{}, 1), next: make(chan *taskRun, w.cfg.Concurrency), runs: map[*taskRun]bool{},
	}
	for _, h := range handlers {
		if c.aloneFrom == 0 || h.cfg.MaxLost-1 < c.aloneFrom {
			c.aloneFrom = h.cfg.MaxLost - 1
		}
	}
	c.settler = newSettler(w, q.Name, c.log)
	return c
}

// work returns when ctx ended and all that runs is settled, or is given up.
func (c *puller) work(ctx context.Context) error {
	life, stopHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopHandlers(ErrStopping)
	var wg sync.WaitGroup
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	wg.Go(func() { c.keep(keeping) })
	wg.Go(c.settler.run)

	c.pull(ctx, life)

	c.awaitRuns(c.worker.cfg.Drain)
	stopHandlers(ErrStopping)
	c.awaitRuns(grace)
	c.giveUp()
	close(c.settler.stopping)
	c.awaitRuns(math.MaxInt64) // Each has its verdict, and the settler has a limit.
	close(c.settler.verdicts)
	stopKeeping()
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck > 0 {
		return fmt.Errorf("worker: queue %q: %d handlers did not return", c.queue.Name, c.stuck)
	}
	return nil
}

// pull takes tasks and starts them until ctx ends.
func (c *puller) pull(ctx, life context.Context) {
	var seen uint64
	var alone bool
	failures, declared := 0, false
	for ctx.Err() == nil {
		err := c.declare(ctx, &declared)
		if err == nil {
			var n int
			n, alone, err = c.pullOnce(ctx, life, alone)
			if err == nil && n == 0 && !alone {
				seen = c.wait(ctx, seen)
			}
		}
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() == nil {
			c.log.Warn("pull failed, will be tried again", "failures", failures+1, "error", err)
			declared = declared && !errors.Is(err, ErrNotFound)
			_ = pause(ctx, backoff(failures, 50*time.Millisecond, 5*time.Second)) // The loop's condition tells.
			failures++
		}
	}
}

func (c *puller) declare(ctx context.Context, declared *bool) error {
	if *declared {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := c.worker.cfg.Engine.DeclareQueue(ctx, c.queue); err != nil {
		return fmt.Errorf("declare queue %q: %w", c.queue.Name, err)
	}
	*declared = true
	return nil
}

// pullOnce returns how many tasks it started, and whether the next pull is to get one
// that runs alone.
func (c *puller) pullOnce(ctx, life context.Context, alone bool) (n int, aloneNext bool, err error) {
	free := c.awaitSlot(ctx)
	if free == 0 || c.worker.gate.enter(ctx, c, alone) != nil {
		return 0, false, nil // The context ended.
	}
	defer c.worker.gate.add(-1) // The pull, no more.
	p := PullRequest{Types: c.types, Max: free, Lease: c.worker.cfg.Lease, AloneFrom: c.aloneFrom, Alone: alone}
	began := time.Now()
	// A pull that was begun is seen to its end: what it leased would be nobody's.
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	pulled, err := c.worker.cfg.Engine.Pull(calling, c.queue.Name, p)
	if err != nil {
		c.worker.gate.unclaim(c)
		return 0, false, fmt.Errorf("pull: %w", err)
	}
	c.worker.gate.add(len(pulled.Tasks))
	single := len(pulled.Tasks) == 1 && pulled.Tasks[0].Lost >= c.aloneFrom
	if !single {
		c.worker.gate.unclaim(c)
	}
	for _, t := range pulled.Tasks {
		c.start(life, t, began)
	}
	return len(pulled.Tasks), pulled.AloneNext, nil
}

// awaitSlot returns how many tasks can be taken, none once ctx ended.
func (c *puller) awaitSlot(ctx context.Context) int {
	for {
		running := c.running()
		free := c.worker.cfg.Concurrency - running
		if free > 0 && running > 0 && free < running {
			c.awaitFreed(ctx, gather)
			free = c.worker.cfg.Concurrency - c.running()
		}
		if ctx.Err() != nil {
			return 0
		}
		if free > 0 {
			return free
		}
		select {
		case <-c.freed:
		case <-ctx.Done():
		}
	}
}

// awaitFreed waits until half of the slots are free, at most for d.
func (c *puller) awaitFreed(ctx context.Context, d time.Duration) {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for 2*c.running() > c.worker.cfg.Concurrency {
		select {
		case <-c.freed:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// awaitRuns waits until nothing runs, at most for d.
func (c *puller) awaitRuns(d time.Duration) {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for c.running() > 0 {
		select {
		case <-c.freed:
		case <-limit.C:
			return
		}
	}
}

func (c *puller) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.runs)
}

// wait returns when there may be more, at the latest after the poll interval.
func (c *puller) wait(ctx context.Context, seen uint64) uint64 {
	ctx, cancel := context.WithTimeout(ctx, jitter(c.worker.cfg.Poll))
	defer cancel()
	w, ok := c.worker.cfg.Engine.(QueueWaiter)
	if !ok {
		<-ctx.Done()
		return seen
	}
	now, err := w.WaitQueue(ctx, c.queue.Name, seen)
	if err != nil {
		<-ctx.Done() // Waiting is a hint: without it, polling remains.
		return seen
	}
	return now
}
