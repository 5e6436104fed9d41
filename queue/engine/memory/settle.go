package memory

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"snip/queue"
)

// Settle carries out verdicts.
func (e *Engine) Settle(ctx context.Context, name string, verdicts []queue.Verdict) ([]error, error) {
	if err := queue.CheckVerdicts(verdicts); err != nil {
		return nil, fmt.Errorf("settle in queue %q: %w", name, err)
	}
	now := time.Now()
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	results := make([]error, len(verdicts))
	for i, v := range verdicts {
		t := q.byNumber[v.Lease.Task]
		if t == nil || t.token == 0 || t.token != v.Lease.Token {
			results[i] = queue.ErrLeaseLost
			continue
		}
		e.settle(q, t, v, now)
	}
	return results, nil
}

func (e *Engine) settle(q *tasks, t *task, v queue.Verdict, now time.Time) {
	switch v.Kind {
	case queue.Done:
		q.remove(t)
		q.end(t, v.Result, now)
	case queue.Retry:
		t.failed++
		t.err = v.Error
		q.moveTo(t, now.Add(v.Delay))
		e.grew()
	case queue.Release:
		t.released++
		q.moveTo(t, now)
		e.grew()
	case queue.Bury:
		if v.Reason == queue.ReasonFailed {
			t.failed++
		}
		t.err = v.Error
		q.remove(t)
		e.bury(q, t, v.Reason, now)
	case queue.Extend:
		if v.Progress != nil {
			t.progress = slices.Clone(v.Progress)
		}
		t.until = now.Add(v.Delay)
		heap.Fix(&q.order, t.place)
	}
}

// moveTo ends a lease.
func (q *tasks) moveTo(t *task, due time.Time) {
	t.token, t.due = 0, due
	heap.Fix(&q.order, t.place)
}

// end keeps or remembers a task that is done.
func (q *tasks) end(t *task, result []byte, now time.Time) {
	x := &ended{task: *t, at: now, keptUntil: now.Add(q.config.KeepDone), result: slices.Clone(result)}
	x.until = x.keptUntil
	if t.named && q.config.Remember > q.config.KeepDone {
		x.until = now.Add(q.config.Remember)
	}
	if x.until.After(now) {
		q.ended[t.id] = x
		q.ending = append(q.ending, x)
	}
}

// remembers tells whether the ID of a task that is done cannot be used yet.
func (q *tasks) remembers(id string, now time.Time) bool {
	x := q.ended[id]
	return x != nil && x.until.After(now)
}

// forget removes what is past its time, if not behind something that is not.
func (q *tasks) forget(now time.Time) {
	for len(q.ending) > 0 && !q.ending[0].until.After(now) {
		x := q.ending[0]
		q.ending[0] = nil // Its memory is still the slice's.
		q.ending = q.ending[1:]
		if q.ended[x.id] == x {
			delete(q.ended, x.id)
		}
	}
	for len(q.dead) > 0 && !q.dead[0].buried.Add(q.config.KeepDead).After(now) {
		q.dropDead()
	}
}
