package sqlite

import (
	"context"
	"database/sql"
)

// look finds out what has grown since it looked last.
//
// It asks SQLite for its data version, which changes with a commit of any other
// connection, and only then for what was appended and pushed, since most commits of an
// idle log are heartbeats, and half of those of queues are verdicts. The size and time of
// the write-ahead log would be cheaper to ask for, but they change before a commit can be
// seen: a reader who was woken by them could look too early and miss it.
type look struct {
	engine   *Engine
	of       *opened // The file that was looked at.
	conn     *sql.Conn
	version  *sql.Stmt
	last     int64            // Data version.
	appended int64            // Messages all topics ever got.
	grown    map[string]int64 // How often each queue grew.
}

// ring rings for what has grown, and tells whether anything has. If it cannot tell,
// everything may have: who waits shall look for himself.
func (l *look) ring(w *waker) bool {
	// Nothing here waits, and a context that can end costs a goroutine each time.
	grown, err := l.compare(context.Background(), w)
	if err != nil {
		l.release()
		w.ringAll()
	}
	return grown || err != nil
}

func (l *look) compare(ctx context.Context, w *waker) (bool, error) {
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
		// many messages: the first look always finds that all has grown.
		l.of, l.last, l.appended, l.grown = f, 0, -1, map[string]int64{}
		defer w.ringAll()
	}
	var version int64
	if err := l.version.QueryRowContext(ctx).Scan(&version); err != nil || version == l.last {
		return false, err
	}
	l.last = version
	log, err := l.compareLog(ctx, w)
	if err != nil {
		return false, err
	}
	queues, err := l.compareQueues(ctx, w)
	return log || queues, err
}

func (l *look) compareLog(ctx context.Context, w *waker) (bool, error) {
	var appended int64
	err := l.conn.QueryRowContext(ctx, "SELECT COALESCE(SUM(appended), 0) FROM queue_partitions").Scan(&appended)
	if err != nil || appended == l.appended {
		return false, err
	}
	l.appended = appended
	w.ringLog()
	return true, nil
}

func (l *look) compareQueues(ctx context.Context, w *waker) (any bool, err error) {
	rows, err := l.conn.QueryContext(ctx, "SELECT name, grown FROM queue_queues")
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var grown int64
		if err := rows.Scan(&name, &grown); err != nil {
			return false, err
		}
		if before, seen := l.grown[name]; !seen || before != grown {
			l.grown[name], any = grown, true
			w.ring(name)
		}
	}
	return any, rows.Err()
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
