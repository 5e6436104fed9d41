package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// pollInterval is how often a process looks whether another one has appended. It
// looks only while somebody waits, and less and less often while nothing comes: to
// wake up a process that sleeps costs more than the look.
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

// watch looks for other processes' appends until stop.
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
			if l.grown() {
				interval = pollInterval
				w.wake()
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

// look finds out whether the log has grown since it looked last.
//
// It asks SQLite for its data version, which changes with a commit of any other
// connection, and only then for what was appended, since most commits of an idle
// log are heartbeats. The size and time of the write-ahead log would be cheaper to
// ask for, but they change before a commit can be seen: a reader who was woken by
// them could look too early and miss it.
type look struct {
	engine   *Engine
	of       *opened // The file that was looked at.
	conn     *sql.Conn
	version  *sql.Stmt
	last     int64 // Data version.
	appended int64 // Messages all topics ever got.
}

// grown is true, too, if it cannot tell: who waits shall look for himself.
func (l *look) grown() bool {
	// Nothing here waits, and a context that can end costs a goroutine each time.
	ctx := context.Background()
	grown, err := l.compare(ctx)
	if err != nil {
		l.release()
	}
	return grown || err != nil
}

func (l *look) compare(ctx context.Context) (bool, error) {
	f, err := l.engine.file(ctx)
	if err != nil {
		return false, err
	}
	if l.conn == nil || l.of != f {
		l.release()
		if l.conn, err = f.Read().Conn(ctx); err != nil {
			return false, err
		}
		if l.version, err = l.conn.PrepareContext(ctx, "PRAGMA data_version"); err != nil {
			return false, err
		}
		// Another connection counts versions for itself, and another file may have as
		// many messages: the first look always finds that it has grown.
		l.of, l.last, l.appended = f, 0, -1
	}
	var version, appended int64
	if err := l.version.QueryRowContext(ctx).Scan(&version); err != nil {
		return false, err
	}
	if version == l.last {
		return false, nil
	}
	err = l.conn.QueryRowContext(ctx, "SELECT COALESCE(SUM(appended), 0) FROM partitions").Scan(&appended)
	if err != nil {
		return false, err
	}
	grown := appended != l.appended
	l.last, l.appended = version, appended
	return grown, nil
}

func (l *look) release() {
	// What only read has nothing to report.
	if l.version != nil {
		_ = l.version.Close()
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn, l.version = nil, nil
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
