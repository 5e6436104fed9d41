package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// taskRun is the work on one task.
type taskRun struct {
	puller  *puller
	handler *handler
	task    RunningTask
	ctx     runContext
	cancel  context.CancelCauseFunc
	started time.Time
	single  bool // It runs alone.

	// Protected by the puller's lock.
	until time.Time // The lease's end, as far as this process knows.
	ended time.Time // When its context was seen to have ended.
	lost  bool      // The lease is somebody else's.
	over  bool      // A verdict was given, or there will be none.
}

func (c *puller) start(life context.Context, t Leased, pulled time.Time) {
	h := c.handlers[t.Type]
	r := &taskRun{
		puller: c, handler: h, started: time.Now(), until: pulled.Add(c.worker.cfg.Lease),
		single: t.Lost >= c.aloneFrom,
	}
	r.task.Queue, r.task.Leased, r.task.run = c.queue.Name, t, r
	r.ctx = runContext{task: &r.task, deadline: r.started.Add(h.cfg.Limit)}
	r.ctx.Context, r.cancel = context.WithCancelCause(life)
	c.mu.Lock()
	c.runs[r] = true
	c.mu.Unlock()
	c.next <- r // There is room for as many as there are slots.
	// Nobody waits for this goroutine itself: its puller waits for the entry in runs, and
	// gives it up if the handler does not return.
	go c.runNext()
}

// runNext runs tasks until none waits to be run. There is a goroutine for each of them,
// but where handlers are done at once the first ones run them all: each would have to
// grow its stack, which takes longer.
func (c *puller) runNext() {
	for {
		select {
		case r := <-c.next:
			r.run()
		default:
			return
		}
	}
}

func (r *taskRun) run() {
	if v, early := r.handler.early(&r.task); early {
		r.finish(v, nil)
		return
	}
	limit := time.AfterFunc(r.handler.cfg.Limit, func() { r.cancel(ErrRunLimit) })
	err := recovered(func() error { return r.handler.run(&r.ctx, &r.task) })
	limit.Stop()
	cause := context.Cause(&r.ctx)
	if err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if err != nil && (errors.Is(cause, ErrStopping) || errors.Is(cause, ErrLeaseLost)) {
		r.finish(Verdict{Lease: r.task.Lease, Kind: Release}, err)
		return
	}
	r.finish(r.handler.verdict(&r.task, err), err)
}

// finish gives the verdict, unless the run was given up.
func (r *taskRun) finish(v Verdict, err error) {
	c := r.puller
	c.mu.Lock()
	over, lost := r.over, r.lost
	r.over = true
	if over {
		c.stuck--
	}
	c.mu.Unlock()
	r.cancel(nil)
	if over {
		c.log.Warn("a handler returned at last", "type", r.task.Type, "id", r.task.ID, "took", time.Since(r.started))
		return
	}
	r.settle(v, err, lost)
}

// settle hands the verdict over and frees the slot.
func (r *taskRun) settle(v Verdict, err error, lost bool) {
	c, t := r.puller, &r.task
	end := TaskEnd{
		Queue: t.Queue, Type: t.Type, Reason: v.Reason,
		Waited: max(0, r.started.Sub(t.At)), Took: time.Since(r.started), Err: err,
	}
	if err != nil {
		c.log.Info("task failed", "type", t.Type, "id", t.ID, "verdict", v.Kind.String(), "failed", t.Failed, "error", err)
	}
	if lost {
		end.Outcome = OutcomeLeaseLost
		c.worker.cfg.Observer.taskEnded(end)
		r.settled()
	} else {
		c.settler.verdicts <- settling{r, v, end}
	}
	c.mu.Lock()
	delete(c.runs, r)
	c.mu.Unlock()
	c.worker.gate.add(-1)
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// settled lets others in after a task that ran alone. Before its verdict was given they
// could still take it with them.
func (r *taskRun) settled() {
	if r.single {
		r.puller.worker.gate.unclaim(r.puller)
	}
}

func (r *taskRun) saveProgress(ctx context.Context, progress []byte) error {
	c := r.puller
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	began := time.Now()
	v := Verdict{Lease: r.task.Lease, Kind: Extend, Delay: c.worker.cfg.Lease, Progress: progress}
	results, err := c.worker.cfg.Engine.Settle(ctx, c.queue.Name, []Verdict{v})
	if err != nil {
		return fmt.Errorf("save progress: %w", err)
	}
	c.extended(r, results[0], began)
	if results[0] != nil {
		return fmt.Errorf("save progress: %w", results[0])
	}
	return nil
}

// runContext is the context of a handler: one that ends with its cause, with the task
// and the limit of the run in the same place. To put one context of the standard library
// into the other costs more than many a handler.
type runContext struct {
	context.Context
	task     *RunningTask
	deadline time.Time // Kept by a timer, which gives ErrRunLimit as the cause.
}

type runningKey struct{}

// Value knows the task; the rest is the worker's.
func (c *runContext) Value(key any) any {
	if key == (runningKey{}) {
		return c.task
	}
	return c.Context.Value(key)
}

// Deadline is the limit of the run.
func (c *runContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err tells the limit of the run from other ends.
func (c *runContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), ErrRunLimit) {
		return context.DeadlineExceeded
	}
	return err
}
