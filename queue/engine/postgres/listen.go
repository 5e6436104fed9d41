package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel carries names of topics and queues that grew. Schemas of one database share it: a name
// too many only wakes somebody.
const channel = "queue_log"

// hintPause is how long further appends wait for their hint, so that many share one.
// To notify takes a lock of the whole server's.
const hintPause = 10 * time.Millisecond

// hints are the topics that grew and of which others shall be told.
type hints struct {
	mu     sync.Mutex // Protects topics.
	topics map[string]bool
	more   chan struct{} // Told when topics is not empty.
}

func (h *hints) add(topic string) {
	h.mu.Lock()
	h.topics[topic] = true
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *hints) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for topic := range h.topics {
		all = append(all, topic)
	}
	clear(h.topics)
	return all
}

// start begins what runs until the engine is closed.
func (e *Engine) start() {
	e.waker.init()
	e.hints.topics, e.hints.more = map[string]bool{}, make(chan struct{}, 1)
	ctx, end := context.WithCancel(context.Background())
	e.end = end
	waited := make(chan struct{}, 1)
	e.wg.Go(func() { e.watch(ctx, waited) })
	e.wg.Go(func() { e.hint(ctx) })
	e.wg.Go(func() { e.listen(ctx, waited) })
	e.sweeper.more = make(chan struct{}, 1)
	e.wg.Go(func() { e.sweep(ctx) })
}

// grew wakes this process's readers, and soon others'.
func (e *Engine) grew(topic string) {
	e.wake(topic)
	e.hints.add(topic)
}

// grewQueue is grew for a queue.
func (e *Engine) grewQueue(name string) { e.grew(queueMark + name) }

// hint tells other processes which topics grew, in statements of its own: an append
// that notified would hold its partition while it waits for the server's lock.
func (e *Engine) hint(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-e.hints.more:
			e.notify(ctx)
		case <-ctx.Done():
		}
		select {
		case <-time.After(hintPause):
		case <-ctx.Done():
		}
	}
	// The last words of one that appends and goes.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	e.notify(ctx)
}

func (e *Engine) notify(ctx context.Context) {
	topics := e.hints.take()
	if len(topics) == 0 {
		return
	}
	_, err := e.pool.Exec(ctx, "SELECT pg_notify($1::text, topic) FROM unnest($2::text[]) topic", e.mode, channel, topics)
	if err != nil && ctx.Err() == nil {
		e.cfg.Logger.Debug("other processes were not told of an append, they will find it", "error", err)
	}
}

// errPooled: what was said to one session may be heard by another.
var errPooled = errors.New("a pooler stands between")

// listen hears what others append, once somebody has waited, until ctx ends.
func (e *Engine) listen(ctx context.Context, waited <-chan struct{}) {
	select {
	case <-waited:
	case <-ctx.Done():
		return
	}
	pause := 100 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := e.hear(ctx)
		if errors.Is(err, errPooled) {
			e.cfg.Logger.Info("connected through a pooler: looking for what others append instead of being told")
			return
		}
		if time.Since(began) > time.Minute {
			pause = 100 * time.Millisecond
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// hear listens on a connection that it takes out of the pool until that is lost.
func (e *Engine) hear(ctx context.Context) error {
	conn, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // It has nothing to lose.
	}()
	// A pooler lets go of the server's session with each transaction.
	own, err := ownSession(ctx, conn, e.mode)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if !own {
		return errPooled
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	e.setTold(true)
	defer e.setTold(false)
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		e.wake(n.Payload)
	}
}

func (e *Engine) acquire(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return conn.Hijack(), nil
}
