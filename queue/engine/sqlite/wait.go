package sqlite

import (
	"context"
	"os"
	"sync"
	"time"
)

// pollInterval is how often a process looks whether another one has written. It
// looks only while somebody waits, and less and less often while nothing happens:
// to wake up a process that sleeps costs more than the look.
const (
	pollInterval     = 25 * time.Millisecond
	idlePollInterval = 200 * time.Millisecond
)

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

// watch looks for other processes' commits until stop: each one writes to the file's
// write-ahead log, so its size or time changes. To ask SQLite for its data version
// would say the same at a hundred times the cost, which an idle program would pay
// forty times a second. Where a file system's clock is coarse, a commit may be
// missed that overwrites as much of the log within the same tick; then readers find
// it when they poll.
func (w *waker) watch(e *Engine) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	interval := pollInterval
	var last walState
	for {
		tick.Stop()
		select {
		case <-w.end:
			return
		case <-w.begin:
		}
		for w.anyWaiting() {
			interval = min(2*interval, idlePollInterval)
			if now := statWAL(e.cfg.Path); now != last {
				last, interval = now, pollInterval
				w.wake()
			}
			tick.Reset(interval)
			select {
			case <-w.end:
				return
			case <-tick.C:
			}
		}
	}
}

// appended returns how many messages all topics ever got.
func (e *Engine) appended() (n int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	f, err := e.file(ctx)
	if err != nil {
		return 0, err
	}
	err = f.Read().QueryRowContext(ctx, "SELECT COALESCE(SUM(appended), 0) FROM partitions").Scan(&n)
	return n, err
}

// walState changes when the write-ahead log is written to. It is zero without one.
type walState struct {
	size     int64
	modified time.Time
}

func statWAL(path string) walState {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return walState{}
	}
	return walState{info.Size(), info.ModTime()}
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
