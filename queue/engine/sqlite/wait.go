package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// pollInterval is how often a process looks whether another one has written. It
// looks only while somebody waits, and reads one word of shared memory.
const pollInterval = 25 * time.Millisecond

// waker tells waiting readers that the log may have grown: at once for this
// process's appends, at the next look for others'.
type waker struct {
	mu      sync.Mutex // Protects below.
	version uint64     // Counts wake-ups, from 1.
	grown   chan struct{}
	waiting int

	begin chan struct{} // Told when somebody waits.
	end   chan struct{}
	done  chan struct{}
}

func (w *waker) init() {
	w.version, w.grown = 1, make(chan struct{})
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
	w.wake() // Who waits finds the engine closed.
}

func (w *waker) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	close(w.grown)
	w.grown = make(chan struct{})
}

// watch looks for other processes' writes until stop. The connection it looks
// through is its own, for PRAGMA data_version counts what others than that
// connection have written.
func (w *waker) watch(e *Engine) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var conn *sql.Conn
	var of *opened
	var last int64
	release := func() {
		if conn != nil {
			conn.Close() // It only read.
			conn = nil
		}
	}
	defer release()
	for {
		select {
		case <-w.end:
			return
		case <-w.begin:
		}
		for w.anyWaiting() {
			f, err := e.file(ctx)
			if err == nil && (conn == nil || f != of) {
				release()
				of = f
				conn, err = f.Read().Conn(ctx)
			}
			var now int64
			if err == nil {
				err = conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now)
			}
			// A look that failed says nothing: who waits shall look for himself.
			if err != nil || now != last {
				last = now
				w.wake()
			}
			if err != nil {
				release()
			}
			select {
			case <-w.end:
				return
			case <-time.After(pollInterval):
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
	w := &e.waker
	w.mu.Lock()
	version, grown := w.version, w.grown
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
	case <-grown:
		if _, err := e.file(ctx); err != nil {
			return seen, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.version, nil
	case <-ctx.Done():
		return seen, ctx.Err()
	}
}
