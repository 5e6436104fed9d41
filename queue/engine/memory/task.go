package memory

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"snip/queue"
)

const maxTaskBytes = 16 << 20

// tasks is a queue.
type tasks struct {
	config queue.QueueConfig
	paused bool

	byNumber map[int64]*task
	byID     map[string]*task
	order    order // All tasks, by when they can be pulled.

	ended  map[string]*ended // By ID: what is done, as long as it is remembered or kept.
	ending []*ended          // The same, the longest done first.
	dead   []*dead           // By number.

	dropped, droppedDead int64
}

// task is a task as it is kept.
type task struct {
	number   int64
	frame    []byte
	id       string
	named    bool      // Its ID is remembered when it is done.
	kind     string    // Its type.
	due      time.Time // When it can be pulled, or could be last.
	deadline time.Time
	pushed   time.Time
	token    int64     // Of its lease; 0: there is none.
	until    time.Time // The end of its lease.
	place    int       // In the order.

	failed, lost, released int
	err                    string
	progress               []byte
}

// ended is a task that is done.
type ended struct {
	task
	at        time.Time
	keptUntil time.Time // So long it can be looked at,
	until     time.Time // and so long its ID is remembered.
	result    []byte
}

// DeclareQueue makes a queue, or changes its bounds.
func (e *Engine) DeclareQueue(ctx context.Context, c queue.QueueConfig) error {
	c, err := c.Check(e.Caps())
	if err != nil {
		return err
	}
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	q := e.queues[c.Name]
	if q == nil {
		q = &tasks{byNumber: map[int64]*task{}, byID: map[string]*task{}, ended: map[string]*ended{}}
		e.queues[c.Name] = q
	}
	q.config = c
	return nil
}

// Push adds tasks.
func (e *Engine) Push(ctx context.Context, name string, all []queue.Task) ([]queue.PushResult, error) {
	now := time.Now()
	checked, err := queue.CheckTasks(e.Caps(), all, now)
	if err != nil {
		return nil, fmt.Errorf("queue %q: %w", name, err)
	}
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	results := make([]queue.PushResult, len(checked))
	fresh, seen := 0, map[string]bool{}
	for i, t := range checked {
		pushed := q.byID[t.ID] == nil && !q.remembers(t.ID, now) && !seen[t.ID]
		results[i] = queue.PushResult{ID: t.ID, Pushed: pushed}
		if pushed {
			seen[t.ID] = true
			fresh++
		}
	}
	if err := q.makeRoom(fresh, now); err != nil {
		return nil, err
	}
	for i, t := range checked {
		if results[i].Pushed {
			e.numbers++
			q.add(newTask(e.numbers, t, now))
		}
	}
	if fresh > 0 {
		e.grew()
	}
	return results, nil
}

func newTask(number int64, t queue.CheckedTask, now time.Time) *task {
	return &task{
		number: number, frame: t.Frame, id: t.ID, named: t.Named, kind: t.Type,
		due: t.Due(now), deadline: t.Deadline, pushed: now,
	}
}

// makeRoom drops ready tasks where the queue wants that, or refuses.
func (q *tasks) makeRoom(n int, now time.Time) error {
	over := int64(len(q.byNumber)+n) - q.config.MaxTasks
	if n == 0 || over <= 0 { // The bound may have been lowered.
		return nil
	}
	full := &queue.FullError{Subject: fmt.Sprintf("queue %q", q.config.Name), RetryAfter: time.Second}
	if q.config.Overflow != queue.DropOldest {
		return full
	}
	var victims []*task
	for _, t := range q.byNumber {
		if t.state(now) == queue.StateReady {
			victims = append(victims, t)
		}
	}
	if int64(len(victims)) < over {
		return full
	}
	slices.SortFunc(victims, (*task).compare)
	for _, t := range victims[:over] {
		q.remove(t)
	}
	q.dropped += over
	return nil
}

func (q *tasks) add(t *task) {
	q.byNumber[t.number], q.byID[t.id] = t, t
	heap.Push(&q.order, t)
}

func (q *tasks) remove(t *task) {
	delete(q.byNumber, t.number)
	delete(q.byID, t.id)
	heap.Remove(&q.order, t.place)
}

// Pull leases tasks that are due.
func (e *Engine) Pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	if err := p.Check(); err != nil {
		return queue.Pulled{}, fmt.Errorf("pull from queue %q: %w", name, err)
	}
	now := time.Now()
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return queue.Pulled{}, err
	}
	defer e.mu.Unlock()
	if q.paused {
		return queue.Pulled{}, nil
	}
	taken, aloneNext, passed := q.take(p, now)
	pulled := queue.Pulled{AloneNext: aloneNext}
	for _, t := range taken {
		if t.token != 0 {
			t.lost++
			t.due = t.until
		}
		e.numbers++
		t.token, t.until = e.numbers, now.Add(p.Lease)
		one, err := t.leased(now)
		if err != nil {
			return queue.Pulled{}, err
		}
		pulled.Tasks = append(pulled.Tasks, one)
	}
	for _, t := range append(taken, passed...) {
		heap.Push(&q.order, t)
	}
	return pulled, nil
}

// take takes what a pull gets out of the order, and what it passed over.
func (q *tasks) take(p queue.PullRequest, now time.Time) (taken []*task, aloneNext bool, passed []*task) {
	for len(taken) < p.Max && len(q.order) > 0 && q.order[0].state(now) == queue.StateReady {
		t := q.order[0]
		if !slices.Contains(p.Types, t.kind) {
			passed = append(passed, heap.Pop(&q.order).(*task))
			continue
		}
		if p.AloneFrom > 0 && t.lostBy(now) >= p.AloneFrom {
			if !p.Alone || len(taken) > 0 {
				return taken, true, passed
			}
			return []*task{heap.Pop(&q.order).(*task)}, false, passed
		}
		taken = append(taken, heap.Pop(&q.order).(*task))
	}
	return taken, false, passed
}

// lostBy is how often it was lost, the lease that is over included.
func (t *task) lostBy(now time.Time) int {
	if t.token != 0 && !t.until.After(now) {
		return t.lost + 1
	}
	return t.lost
}

func (t *task) leased(now time.Time) (queue.Leased, error) {
	task, err := t.task()
	return queue.Leased{
		Task: task, Lease: queue.Lease{Task: t.number, Token: t.token}, Pushed: t.pushed,
		Failed: t.failed, Lost: t.lost, Released: t.released, Progress: slices.Clone(t.progress),
		Expired: !t.deadline.IsZero() && !t.deadline.After(now),
	}, err
}

func (t *task) task() (queue.Task, error) {
	messages, err := queue.DecodeFrames(slices.Clone(t.frame), 1)
	if err != nil {
		return queue.Task{}, fmt.Errorf("task %d: %w", t.number, err)
	}
	return queue.Task{Message: messages[0], At: t.due, Deadline: t.deadline}, nil
}

// QueueStats describes a queue.
func (e *Engine) QueueStats(ctx context.Context, name string) (queue.QueueStats, error) {
	now := time.Now()
	q, err := e.lockQueue(ctx, name, now)
	if err != nil {
		return queue.QueueStats{}, err
	}
	defer e.mu.Unlock()
	s := queue.QueueStats{
		Dead: int64(len(q.dead)), MaxTasks: q.config.MaxTasks, Paused: q.paused,
		Dropped: q.dropped, DroppedDead: q.droppedDead,
	}
	for _, t := range q.byNumber {
		switch t.state(now) {
		case queue.StateLeased:
			s.Leased++
		case queue.StateDelayed:
			s.Delayed++
		case queue.StateReady:
			s.Ready++
			if due := t.pullable(); s.OldestReady.IsZero() || due.Before(s.OldestReady) {
				s.OldestReady = due
			}
		}
	}
	for _, x := range q.ended {
		if x.keptUntil.After(now) {
			s.Kept++
		}
	}
	if len(q.dead) > 0 {
		s.OldestDead = q.dead[0].buried
	}
	return s, nil
}

// pullable is when it can be pulled.
func (t *task) pullable() time.Time {
	if t.token != 0 {
		return t.until
	}
	return t.due
}

func (t *task) state(now time.Time) queue.TaskState {
	switch {
	case !t.pullable().After(now):
		return queue.StateReady
	case t.token != 0:
		return queue.StateLeased
	}
	return queue.StateDelayed
}

// WaitQueue returns when any queue has grown since the call that returned seen.
func (e *Engine) WaitQueue(ctx context.Context, name string, seen uint64) (uint64, error) {
	return e.await(ctx, seen, func() error {
		_, err := e.findQueue(name)
		return err
	})
}

// lockQueue takes the lock and finds a queue, in which what is past its time is
// forgotten. Without an error the caller unlocks.
func (e *Engine) lockQueue(ctx context.Context, name string, now time.Time) (*tasks, error) {
	if err := e.lock(ctx); err != nil {
		return nil, err
	}
	q, err := e.findQueue(name)
	if err != nil {
		e.mu.Unlock()
		return nil, err
	}
	q.forget(now)
	return q, nil
}

func (e *Engine) findQueue(name string) (*tasks, error) {
	if q := e.queues[name]; q != nil {
		return q, nil
	}
	return nil, fmt.Errorf("queue %q: %w", name, queue.ErrNotFound)
}
