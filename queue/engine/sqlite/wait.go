package sqlite

import (
	"context"
	"sync"
	"time"

	"snip/internal/sqlitefile"
)

// pollInterval is how often a process looks whether another one has written. It
// looks only while somebody waits, and less and less often while nothing comes: to
// wake up a process that sleeps costs more than the look.
const (
	pollInterval     = 25 * time.Millisecond
	idlePollInterval = 200 * time.Millisecond
)

// waker tells those who wait that the log or a queue may have grown: at once for what
// this process wrote, at the next look for others.
type waker struct {
	mu      sync.Mutex // Protects below.
	log     bell
	queues  map[string]*bell // Those that were waited for.
	waiting int

	begin chan struct{} // Told when somebody waits.
	end   chan struct{}
	done  chan struct{}
}

// bell is rung when there may be more.
type bell struct {
	version uint64        // Counts, from 1.
	rung    chan struct{} // Closed the next time.
}

func newBell() bell { return bell{version: 1, rung: make(chan struct{})} }

func (b *bell) ring() {
	b.version++
	close(b.rung)
	b.rung = make(chan struct{})
}

func (w *waker) init() {
	w.log, w.queues = newBell(), map[string]*bell{}
	w.begin, w.end, w.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
}

func (w *waker) start(e *Engine) {
	go func() {
		defer close(w.done)
		w.watch(e)
	}()
}

func (w *waker) stop() {
	close(w.end)
	<-w.done
	w.ringAll() // Who waits finds the engine closed.
}

func (w *waker) ringLog() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.ring()
}

func (w *waker) ring(queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.queues[queue]; b != nil {
		b.ring()
	}
}

func (w *waker) ringAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.ring()
	for _, b := range w.queues {
		b.ring()
	}
}

// watch looks for what other processes wrote until stop.
func (w *waker) watch(e *Engine) {
	l := look{engine: e}
	defer l.release()
	timer := time.NewTimer(0)
	defer timer.Stop()
	interval := pollInterval
	for {
		select {
		case <-w.end:
			return
		case <-w.begin:
		}
		for w.anyWaiting() {
			interval = min(2*interval, idlePollInterval)
			if l.ring(w) {
				interval = pollInterval
			}
			timer.Reset(interval)
			select {
			case <-w.end:
				return
			case <-timer.C:
			}
		}
	}
}

func (w *waker) anyWaiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting > 0
}

// Wait returns when any topic may have grown since the call that returned seen.
func (e *Engine) Wait(ctx context.Context, name string, seen uint64) (uint64, error) {
	if _, err := e.file(ctx); err != nil {
		return seen, err
	}
	return e.waitFor(ctx, &e.waker.log, seen)
}

// WaitQueue returns when the queue may have grown since the call that returned seen.
func (e *Engine) WaitQueue(ctx context.Context, name string, seen uint64) (uint64, error) {
	err := e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		_, err := findQueue(ctx, tx, name)
		return err
	})
	if err != nil {
		return seen, about(name, "wait", err)
	}
	return e.waitFor(ctx, e.waker.bell(name), seen)
}

func (w *waker) bell(queue string) *bell {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.queues[queue]
	if b == nil {
		one := newBell()
		b = &one
		w.queues[queue] = b
	}
	return b
}

// waitFor waits until a bell has rung since the call that returned seen.
func (e *Engine) waitFor(ctx context.Context, b *bell, seen uint64) (uint64, error) {
	w := &e.waker
	w.mu.Lock()
	version, rung := b.version, b.rung
	if version != seen {
		w.mu.Unlock()
		return version, nil
	}
	w.waiting++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting--
	}()
	select {
	case w.begin <- struct{}{}:
	default:
	}
	select {
	case <-rung:
		if _, err := e.file(ctx); err != nil {
			return seen, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return b.version, nil
	case <-ctx.Done():
		return seen, ctx.Err()
	}
}
