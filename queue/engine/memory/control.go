package memory

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"snip/queue"
)

// Get returns a task.
func (e *Engine) Get(ctx context.Context, name, id string) (queue.TaskInfo, error) {
	now := time.Now()
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return queue.TaskInfo{}, err
	}
	defer e.mu.Unlock()
	if t := q.byID[id]; t != nil {
		return t.info(t.state(now))
	}
	if x := q.ended[id]; x != nil && x.keptUntil.After(now) {
		info, err := x.info(queue.StateDone)
		info.Ended, info.Result = x.at, slices.Clone(x.result)
		return info, err
	}
	for _, d := range slices.Backward(q.dead) {
		if d.id == id {
			info, err := d.info(queue.StateDead)
			info.Ended = d.buried
			return info, err
		}
	}
	return queue.TaskInfo{}, noTask(name, id)
}

func noTask(name, id string) error {
	return fmt.Errorf("queue %q: task %q: %w", name, id, queue.ErrNotFound)
}

func (t *task) info(state queue.TaskState) (queue.TaskInfo, error) {
	task, err := t.task()
	return queue.TaskInfo{
		Task: task, State: state, Pushed: t.pushed, Failed: t.failed, Lost: t.lost, Released: t.released,
		Error: t.err, Progress: slices.Clone(t.progress),
	}, err
}

// Cancel removes a task.
func (e *Engine) Cancel(ctx context.Context, name, id string) error {
	q, err := e.lockQueue(ctx, name, time.Now())
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	t := q.byID[id]
	if t == nil {
		return noTask(name, id)
	}
	q.remove(t)
	return nil
}

// Replace puts a task in the place of another.
func (e *Engine) Replace(ctx context.Context, name string, r queue.Task) error {
	if r.ID == "" {
		return fmt.Errorf("replace in queue %q: ID must be set", name)
	}
	now := time.Now()
	checked, err := queue.CheckTasks(e.Caps(), []queue.Task{r}, now)
	if err != nil {
		return fmt.Errorf("queue %q: %w", name, err)
	}
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	t := q.byID[r.ID]
	switch {
	case t == nil:
		return noTask(name, r.ID)
	case t.state(now) == queue.StateLeased:
		return fmt.Errorf("queue %q: task %q is leased: %w", name, r.ID, queue.ErrConflict)
	}
	place := t.place
	*t = *newTask(t.number, checked[0], now)
	t.place = place
	heap.Fix(&q.order, t.place)
	e.grew()
	return nil
}

// Pause makes a queue give nothing.
func (e *Engine) Pause(ctx context.Context, name string) error { return e.pause(ctx, name, true) }

// Resume ends that.
func (e *Engine) Resume(ctx context.Context, name string) error { return e.pause(ctx, name, false) }

func (e *Engine) pause(ctx context.Context, name string, paused bool) error {
	q, err := e.lockQueue(ctx, name, time.Now())
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	q.paused = paused
	e.grew()
	return nil
}
