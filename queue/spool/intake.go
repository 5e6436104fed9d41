package spool

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"snip/queue"
)

// Why a record was dropped.
var (
	errClosed   = fmt.Errorf("spool: record: %w", queue.ErrClosed)
	errNoSpace  = fmt.Errorf("spool: record: no segment has room: %w", queue.ErrFull)
	errTooLarge = errors.New("spool: record: the payload is larger than MaxRecord")
)

// Record adds a message. On return it is in the page cache, and survives the
// process. It never waits for the disk or the engine: what cannot be kept at once
// is counted as dropped, and the error says why (queue.ErrFull, queue.ErrClosed, a
// payload that is too large, a failing disk). at is kept to the nanosecond.
// payload is not kept.
func (s *Spool) Record(at time.Time, payload []byte) error {
	err := errTooLarge
	if len(payload) <= s.cfg.MaxRecord {
		err = s.intake.record(nanos(at), payload)
	}
	if err != nil {
		s.ledger.drop()
		return err
	}
	if s.intake.asleep.Load() && s.intake.asleep.CompareAndSwap(true, false) {
		s.intake.signal()
	}
	return nil
}

// intake is the way in: one segment that is written, and one prepared ahead.
type intake struct {
	mu     sync.Mutex // Guards what follows. Nothing under it waits or does I/O.
	active *writer
	spare  *writer
	closed bool

	rolled chan struct{} // Tells the keeper that the spare is gone or pages get short.
	wake   chan struct{} // Tells Ship that there is something to send.
	asleep atomic.Bool   // Ship wants to be woken.
}

func (in *intake) signal() { nudge(in.wake) }

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (in *intake) record(at int64, payload []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return errClosed
	}
	if in.active != nil && !in.active.fits(payload) {
		if in.spare == nil {
			return errNoSpace
		}
		in.roll()
	}
	if in.active == nil {
		return errNoSpace
	}
	if err := in.active.write(at, payload); err != nil {
		in.roll() // Its pages cannot be trusted any more.
		return fmt.Errorf("spool: record: %w", err)
	}
	if in.active.off > in.active.warmAt {
		in.active.warmAt += warmStep
		nudge(in.rolled)
	}
	return nil
}

// roll ends the active segment and goes on with the spare, if there is one.
func (in *intake) roll() {
	in.active.full.Store(true)
	in.active, in.spare = in.spare, nil
	nudge(in.rolled)
}

// abandon goes on with the spare if g is being written.
func (in *intake) abandon(g *segment) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.active != nil && in.active.segment == g {
		in.roll()
	}
}

// add brings a new segment, which is not needed any more if the intake was closed.
func (in *intake) add(w *writer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		w.full.Store(true)
	case in.active == nil:
		in.active = w
	default:
		in.spare = w
	}
}

// short reports whether a segment is missing.
func (in *intake) short() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return !in.closed && (in.active == nil || in.spare == nil)
}

// refresh ends segments that were made before a moment: the spare at once, the
// active one as soon as there is a younger spare.
func (in *intake) refresh(before time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.spare != nil && in.spare.created.Before(before) {
		in.spare.full.Store(true)
		in.spare = nil
	}
	if in.spare != nil && in.active.created.Before(before) {
		in.roll()
	}
}

func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	for _, w := range []*writer{in.active, in.spare} {
		if w != nil {
			w.full.Store(true)
		}
	}
	in.active, in.spare = nil, nil
}

// inUse reports whether a record may still be written to w.
func (in *intake) inUse(w *writer) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return w == in.active || w == in.spare
}

// writer is a segment that this process writes.
type writer struct {
	*segment
	mapped []byte
	off    int    // Of the next record.
	number uint32 // Of the next record.
	warmAt int    // Past this, the keeper is asked to fault more pages in.
	warm   int    // Pages up to here are faulted in. Only the keeper uses it.
}

func (w *writer) fits(payload []byte) bool {
	return align(recordHead+len(payload)) <= len(w.mapped)-w.off
}

func (w *writer) write(at int64, payload []byte) error {
	err := faultless(w.mapped, func() {
		putRecord(w.mapped[w.off:], w.seed, w.number, at, payload)
		storeWord(w.mapped[countAt:], countWord(w.number+1))
	})
	if err != nil {
		return err
	}
	w.off += align(recordHead + len(payload))
	w.number++
	w.end.Store(int64(w.off))
	w.count.Store(uint64(w.number))
	return nil
}
