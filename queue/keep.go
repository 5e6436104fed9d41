package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keep renews the leases of what runs, and gives up on handlers that do not return,
// until ctx ends.
func (c *puller) keep(ctx context.Context) {
	tick := time.NewTicker(min(c.worker.cfg.Lease/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.extend(ctx)
		c.giveUpStuck()
	}
}

// extend renews the leases of which a quarter is over, all at once.
func (c *puller) extend(ctx context.Context) {
	lease := c.worker.cfg.Lease
	now := time.Now()
	var runs []*taskRun
	c.mu.Lock()
	for r := range c.runs {
		if !r.over && !r.lost && r.until.Sub(now) <= lease*3/4 {
			runs = append(runs, r)
		}
	}
	c.mu.Unlock()
	if len(runs) == 0 {
		return
	}
	verdicts := make([]Verdict, len(runs))
	for i, r := range runs {
		verdicts[i] = Verdict{Lease: r.task.Lease, Kind: Extend, Delay: lease}
	}
	ctx, cancel := context.WithTimeout(ctx, min(callLimit, lease/4))
	defer cancel()
	results, err := c.worker.cfg.Engine.Settle(ctx, c.queue.Name, verdicts)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("leases could not be extended", "tasks", len(runs), "error", err)
	}
	for i, r := range runs {
		if err != nil {
			c.outOfReach(r)
			continue
		}
		c.extended(r, results[i], now)
	}
}

// extended notes what the engine said to an extension that was asked for at a time.
func (c *puller) extended(r *taskRun, err error, asked time.Time) {
	c.mu.Lock()
	if err == nil {
		r.until = asked.Add(c.worker.cfg.Lease)
	}
	r.lost = r.lost || err != nil
	c.mu.Unlock()
	if err != nil {
		r.cancel(ErrLeaseLost)
	}
}

// outOfReach ends the work on a task whose lease must be taken for over. A verdict may
// still be given: the engine knows.
func (c *puller) outOfReach(r *taskRun) {
	c.mu.Lock()
	over := time.Now().After(r.until)
	c.mu.Unlock()
	if over {
		r.cancel(ErrLeaseLost)
	}
}

// giveUpStuck gives up on the handlers whose contexts ended a while ago.
func (c *puller) giveUpStuck() {
	now := time.Now()
	var stuck []*taskRun
	c.mu.Lock()
	for r := range c.runs {
		switch {
		case r.over || r.ctx.Err() == nil:
		case r.ended.IsZero():
			r.ended = now
		case now.Sub(r.ended) >= grace:
			stuck = append(stuck, r)
		}
	}
	c.mu.Unlock()
	for _, r := range stuck {
		r.giveUp()
	}
}

// giveUp gives up on all that runs.
func (c *puller) giveUp() {
	c.mu.Lock()
	var runs []*taskRun
	for r := range c.runs {
		runs = append(runs, r)
	}
	c.mu.Unlock()
	for _, r := range runs {
		r.giveUp()
	}
}

// giveUp gives the verdict in the place of a handler that does not return.
func (r *taskRun) giveUp() {
	c := r.puller
	c.mu.Lock()
	over, lost := r.over, r.lost
	if !over {
		r.over = true
		c.stuck++
	}
	c.mu.Unlock()
	if over {
		return
	}
	cause := context.Cause(&r.ctx)
	err := fmt.Errorf("the handler has not returned after %s: %w", time.Since(r.started).Round(time.Millisecond), cause)
	c.log.Error("a handler does not return, its goroutine is lost", "type", r.task.Type, "id", r.task.ID, "error", err)
	c.worker.cfg.Observer.taskStuck(c.queue.Name, r.task.Type, r.task.ID)
	v := Verdict{Lease: r.task.Lease, Kind: Release}
	if errors.Is(cause, ErrRunLimit) {
		v = r.handler.verdict(&r.task, err)
	}
	r.settle(v, err, lost)
}
