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
	task    *RunningTask
	ctx     context.Context
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
		single: t.Lost >= c.aloneFrom, task: &RunningTask{Queue: c.queue.Name, Leased: t},
	}
	r.task.save = r.saveProgress
	ctx, cancel := context.WithCancelCause(context.WithValue(life, runningKey{}, r.task))
	r.ctx, r.cancel = ctx, cancel
	c.mu.Lock()
	c.runs[r] = true
	c.mu.Unlock()
	// Nobody waits for this goroutine itself: its puller waits for its entry in runs, and
	// gives it up if the handler does not return.
	go r.run()
}

func (r *taskRun) run() {
	if v, early := r.handler.early(r.task); early {
		r.finish(v, nil)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.handler.cfg.Limit, ErrRunLimit)
	stop := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	err := recovered(func() error { return r.handler.run(ctx, r.task) })
	stop()
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	cancel()
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, ErrStopping) || errors.Is(cause, ErrLeaseLost)) {
		r.finish(Verdict{Lease: r.task.Lease, Kind: Release}, err)
		return
	}
	r.finish(r.handler.verdict(r.task, err), err)
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
	c, t := r.puller, r.task
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
