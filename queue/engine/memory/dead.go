package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"snip/queue"
)

// dead is a dead letter.
type dead struct {
	task
	number int64
	reason queue.Reason
	buried time.Time
}

func (e *Engine) bury(q *tasks, t *task, reason queue.Reason, now time.Time) {
	e.numbers++
	q.dead = append(q.dead, &dead{task: *t, number: e.numbers, reason: reason, buried: now})
	for int64(len(q.dead)) > q.config.MaxDead {
		q.dropDead()
	}
}

// dropDead drops the oldest.
func (q *tasks) dropDead() {
	q.dead = slices.Delete(q.dead, 0, 1)
	q.droppedDead++
}

// ListDead returns dead letters.
func (e *Engine) ListDead(ctx context.Context, name string, after int64, limit int) ([]queue.DeadLetter, error) {
	q, err := e.lockQueue(ctx, name, time.Now())
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	var letters []queue.DeadLetter
	for _, d := range q.dead {
		if d.number <= after || len(letters) >= limit {
			continue
		}
		one, err := d.task.task()
		if err != nil {
			return nil, err
		}
		letters = append(letters, queue.DeadLetter{
			Number: d.number, Task: one, Reason: d.reason, Error: d.err, Pushed: d.pushed, Buried: d.buried,
			Failed: d.failed, Lost: d.lost, Released: d.released,
		})
	}
	return letters, nil
}

// Redrive puts dead letters back.
func (e *Engine) Redrive(ctx context.Context, name string, numbers []int64, limit int) (int, error) {
	now := time.Now()
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	var chosen []*dead
	ids := map[string]bool{} // Two dead letters may have one ID: the second stays.
	for _, d := range q.choose(numbers, len(q.dead)) {
		if len(chosen) < limit && q.byID[d.id] == nil && !ids[d.id] {
			chosen, ids[d.id] = append(chosen, d), true
		}
	}
	if len(chosen) > 0 && int64(len(q.byNumber)+len(chosen)) > q.config.MaxTasks {
		return 0, &queue.FullError{Subject: fmt.Sprintf("queue %q", name), RetryAfter: time.Second}
	}
	for _, d := range chosen {
		e.numbers++
		q.add(&task{number: e.numbers, frame: d.frame, id: d.id, named: d.named, kind: d.kind, due: now, pushed: d.pushed, deadline: d.deadline})
	}
	q.bringOut(chosen)
	if len(chosen) > 0 {
		e.grew()
	}
	return len(chosen), nil
}

// DeleteDead forgets dead letters.
func (e *Engine) DeleteDead(ctx context.Context, name string, numbers []int64, limit int) (int, error) {
	q, err := e.lockQueue(ctx, name, time.Now())
	if err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	chosen := q.choose(numbers, limit)
	q.bringOut(chosen)
	return len(chosen), nil
}

// choose returns the dead letters of the numbers, or the longest dead.
func (q *tasks) choose(numbers []int64, limit int) (chosen []*dead) {
	for _, d := range q.dead {
		if len(chosen) < limit && (len(numbers) == 0 || slices.Contains(numbers, d.number)) {
			chosen = append(chosen, d)
		}
	}
	return chosen
}

func (q *tasks) bringOut(chosen []*dead) {
	out := map[*dead]bool{}
	for _, d := range chosen {
		out[d] = true
	}
	q.dead = slices.DeleteFunc(q.dead, func(d *dead) bool { return out[d] })
}
