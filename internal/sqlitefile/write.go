package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// write is one call of Write. Its state says who may still decide about it: the
// caller withdraws it or the writer begins it, never both.
type write struct {
	do    func(ctx context.Context, tx *sql.Tx) error
	state atomic.Int32
	err   error
	done  chan struct{} // Closed when err is set.
}

const (
	waiting int32 = iota
	begun
	withdrawn
)

const (
	maxTogether = 128              // Writes in one commit.
	beginLimit  = 30 * time.Second // For a whole transaction, waiting for its lock included.

	shortestPause = time.Millisecond
	maxPause      = 100 * time.Millisecond
)

// Write runs do in a transaction and returns once it is on disk. The transaction
// is shared with other writes; an error of do, or a panic, undoes do alone.
//
// Do gets a context of its own: one that ends would undo everybody's work. It must
// not wait for anything but the database. When ctx ends before do has begun, it
// never will; when it ends later, Write returns ctx's error and the outcome is
// unknown.
func (f *File) Write(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	w := &write{do: do, done: make(chan struct{})}
	if err := f.enqueue(ctx, w); err != nil {
		return err
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	if w.state.CompareAndSwap(waiting, withdrawn) {
		return fmt.Errorf("sqlitefile: write withdrawn: %w", ctx.Err())
	}
	// It may have ended at the same moment: an outcome that is known is better.
	select {
	case <-w.done:
		return w.err
	default:
		return fmt.Errorf("sqlitefile: outcome of write unknown: %w", ctx.Err())
	}
}

func (f *File) enqueue(ctx context.Context, w *write) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlitefile: write withdrawn: %w", err)
	}
	select {
	case f.writes <- w:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sqlitefile: too many writes are waiting: %w", ctx.Err())
	}
}

// write is the writer: it takes what waits and commits it together, until Close.
func (f *File) write() {
	defer close(f.done)
	for w := range f.writes {
		batch := f.gather(w)
		if len(batch) == 0 {
			continue
		}
		held := f.commit(batch)
		for _, w := range batch {
			close(w.done)
		}
		f.pause(held)
	}
}

// pause leaves the lock alone for as long as it was held. Other processes poll for it,
// and would find it taken again each time they look. Where nobody else has the file open
// it is a small part of that: another program, such as SQLite's own, is not seen. Short
// pauses are put off until they make a long one, since to sleep takes a millisecond on
// many machines, however short it is meant to be.
func (f *File) pause(held time.Duration) {
	if f.present.alone() {
		held /= 16
	}
	if f.owed += held; f.owed < shortestPause {
		return
	}
	began := time.Now()
	time.Sleep(min(f.owed, maxPause))
	f.owed = max(0, f.owed-time.Since(began))
}

// gather takes more of what waits, and leaves out what was withdrawn.
func (f *File) gather(first *write) []*write {
	batch := make([]*write, 0, 8)
	take := func(w *write) {
		if w.state.CompareAndSwap(waiting, begun) {
			batch = append(batch, w)
		}
	}
	take(first)
	for len(batch) < maxTogether {
		select {
		case w, ok := <-f.writes:
			if !ok {
				return batch
			}
			take(w)
		default:
			return batch
		}
	}
	return batch
}

// commit runs the batch, sets each one's error, and returns how long the lock was
// held.
func (f *File) commit(batch []*write) (held time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), beginLimit)
	defer cancel()
	fail := func(op string, err error) {
		for _, w := range batch {
			// One that failed by itself keeps its own error.
			if w.err == nil {
				w.err = fmt.Errorf("sqlitefile: %s: %w", op, err)
			}
		}
	}
	f.writing.prepare(ctx)
	tx, err := f.writer.BeginTx(ctx, nil)
	if err != nil {
		fail("begin", err)
		return 0
	}
	locked := time.Now()
	for _, w := range batch {
		if len(batch) == 1 {
			w.err = call(ctx, tx, w.do)
			if w.err != nil {
				f.rollback(tx)
				return time.Since(locked)
			}
			break
		}
		if err := f.within(ctx, tx, w); err != nil {
			// The transaction itself is broken, by a full disk for example: with it
			// went what the others did.
			f.rollback(tx)
			fail("transaction ended", err)
			return time.Since(locked)
		}
	}
	if err := tx.Commit(); err != nil {
		f.rollback(tx)
		fail("commit", err)
	}
	return time.Since(locked)
}

// within runs one write in a savepoint of its own. Its error is that of the
// transaction, not of the write.
func (f *File) within(ctx context.Context, tx *sql.Tx, w *write) error {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT one"); err != nil {
		return err
	}
	if w.err = call(ctx, tx, w.do); w.err != nil {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO one"); err != nil {
			return errors.Join(err, w.err)
		}
	}
	_, err := tx.ExecContext(ctx, "RELEASE one")
	return err
}

// call turns a panic into an error: the writer has other work.
func call(ctx context.Context, tx *sql.Tx, do func(context.Context, *sql.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return do(ctx, tx)
}

// rollback ends a transaction for good. After a commit that failed, database/sql
// takes it for ended while SQLite may still be in it, and the connection would
// refuse the next BEGIN.
func (f *File) rollback(tx *sql.Tx) {
	if err := tx.Rollback(); errors.Is(err, sql.ErrTxDone) {
		ctx, cancel := context.WithTimeout(context.Background(), beginLimit)
		defer cancel()
		// That no transaction is open is what is wanted.
		_, _ = f.writer.ExecContext(ctx, "ROLLBACK")
	} else if err != nil {
		f.log.Warn("rollback", "error", err)
	}
}
