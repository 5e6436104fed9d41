package postgres

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// How often a process looks whether another one has appended, while somebody waits:
// less and less often while nothing comes, and seldom as long as it is told.
const (
	pollInterval     = 25 * time.Millisecond
	idlePollInterval = 200 * time.Millisecond
	toldPollInterval = time.Second
)

// waker tells waiting readers that a topic may have grown: at once for this
// process's appends; for others' when it is told, or at the next look.
type waker struct {
	mu    sync.Mutex // Protects below.
	marks map[string]*mark
	told  bool // Somebody tells what others append: see listen.

	begin chan struct{} // Told when somebody waits.
}

// mark is how far waiting for a topic has come. It stays, once somebody waited.
type mark struct {
	version uint64        // Counts wake-ups, from 1.
	grown   chan struct{} // Closed at the next one.
	waiting int
}

func (w *waker) init() {
	w.marks, w.begin = map[string]*mark{}, make(chan struct{}, 1)
}

// of must be called with the lock held.
func (w *waker) of(topic string) *mark {
	m := w.marks[topic]
	if m == nil {
		m = &mark{version: 1, grown: make(chan struct{})}
		w.marks[topic] = m
	}
	return m
}

func (m *mark) wake() {
	m.version++
	close(m.grown)
	m.grown = make(chan struct{})
}

func (w *waker) wake(topic string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Nobody ever waited for one without a mark.
	if m := w.marks[topic]; m != nil {
		m.wake()
	}
}

func (w *waker) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.marks {
		m.wake()
	}
}

func (w *waker) setTold(told bool) {
	w.mu.Lock()
	w.told = told
	w.mu.Unlock()
	w.wakeAll() // In between something may have come of which nobody told.
}

// queueMark is before the name of a queue where names of topics stand, too. No name has
// it in it.
const queueMark = "queue/"

// awaited returns the topics that somebody waits for.
func (w *waker) awaited() (topics []string, told bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, m := range w.marks {
		if m.waiting > 0 {
			topics = append(topics, name)
		}
	}
	return topics, w.told
}

// Wait returns when the topic may have grown since the call that returned seen.
func (e *Engine) Wait(ctx context.Context, topic string, seen uint64) (uint64, error) {
	return e.await(ctx, topic, seen)
}

// WaitQueue returns when the queue may have more since the call that returned seen. It
// is told of a task that was delayed, too, but not of a lease that ended.
func (e *Engine) WaitQueue(ctx context.Context, name string, seen uint64) (uint64, error) {
	return e.await(ctx, queueMark+name, seen)
}

func (e *Engine) await(ctx context.Context, topic string, seen uint64) (uint64, error) {
	if e.closed.Load() {
		return seen, queue.ErrClosed
	}
	w := &e.waker
	w.mu.Lock()
	m := w.of(topic)
	version, grown := m.version, m.grown
	if version != seen {
		w.mu.Unlock()
		return version, nil
	}
	m.waiting++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		m.waiting--
	}()
	select {
	case w.begin <- struct{}{}:
	default:
	}
	select {
	case <-grown:
	case <-ctx.Done():
		return seen, ctx.Err()
	}
	if e.closed.Load() {
		return seen, queue.ErrClosed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return m.version, nil
}

// watch looks for other processes' appends until ctx ends.
func (e *Engine) watch(ctx context.Context, waited chan<- struct{}) {
	ends := map[string]int64{}   // Messages each topic ever got, when it was looked at last.
	looked := map[string]int64{} // A while before each queue was.
	interval := pollInterval
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.waker.begin:
		}
		select {
		case waited <- struct{}{}:
		default:
		}
		for topics, told := e.awaited(); len(topics) > 0; topics, told = e.awaited() {
			interval = min(2*interval, idlePollInterval)
			topics, queues := splitMarks(topics)
			grown := e.look(ctx, topics, ends)
			if e.lookQueues(ctx, queues, looked) || grown {
				interval = pollInterval
			}
			pause := interval
			if told {
				pause = toldPollInterval
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// look wakes those whose topic has grown since the last look, and all who wait for
// the first one.
func (e *Engine) look(ctx context.Context, topics []string, ends map[string]int64) (grown bool) {
	if len(topics) == 0 {
		return false
	}
	type end struct {
		Topic    string
		Appended int64
	}
	now, err := collect(ctx, e, pgx.RowToStructByPos[end], `
		SELECT p.topic, sum(coalesce((
			SELECT e.base + e.count FROM queue.entries e WHERE e.part = p.part ORDER BY e.base DESC LIMIT 1
		), 0))::bigint
		FROM queue.partitions p WHERE p.topic = ANY($1::text[]) GROUP BY p.topic`, topics)
	if err != nil {
		// While the server is away nobody can read. Whatever it holds afterwards, they
		// shall look.
		clear(ends)
		return false
	}
	for _, t := range now {
		if before, seen := ends[t.Topic]; !seen || before != t.Appended {
			ends[t.Topic] = t.Appended
			e.wake(t.Topic)
			grown = true
		}
	}
	return grown
}

// splitMarks tells topics from queues.
func splitMarks(marks []string) (topics, queues []string) {
	for _, m := range marks {
		if name, ok := strings.CutPrefix(m, queueMark); ok {
			queues = append(queues, name)
		} else {
			topics = append(topics, m)
		}
	}
	return topics, queues
}

// lateCommit is how late a task may be committed, after it was due, that is looked for.
const lateCommit = time.Second

// lookQueues wakes those in whose queue something came due, and was not leased, since
// the last look or a little before.
func (e *Engine) lookQueues(ctx context.Context, queues []string, looked map[string]int64) (grown bool) {
	if len(queues) == 0 {
		return false
	}
	since := int64(math.MaxInt64)
	for _, name := range queues {
		since = min(since, looked[name])
	}
	type ready struct {
		Name    string
		IsReady bool
		At      int64
	}
	now, err := collect(ctx, e, pgx.RowToStructByPos[ready],
		"SELECT name, is_ready, looked_at FROM queue.ready($1::text[], $2::bigint)", queues, since)
	if err != nil {
		clear(looked)
		return false
	}
	for _, q := range now {
		_, seen := looked[q.Name]
		looked[q.Name] = q.At - lateCommit.Microseconds()
		if q.IsReady || !seen {
			e.wake(queueMark + q.Name)
			grown = true
		}
	}
	return grown
}
