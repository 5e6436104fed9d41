package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"snip/queue"
)

const (
	segmentSuffix = ".seg"
	newSuffix     = ".new" // A segment that is being made.
)

func segmentPath(dir string, id queue.SegmentID) string {
	return filepath.Join(dir, id.String()+segmentSuffix)
}

func asideDir(dir string) string { return filepath.Join(dir, "aside") }

// segment is a segment that this process holds the lock of: one of its own, or one
// that a dead process left.
type segment struct {
	head
	seed uint32
	path string
	file *os.File
	own  bool

	// Set by the intake, in this order; fixed for a dead process's segment.
	end   atomic.Int64  // Where the last record ends.
	count atomic.Uint64 // Records written.
	full  atomic.Bool   // No more will be.

	synced int64 // Only the syncer uses it: the end as it last reached the disk.

	// Only who made the segment busy uses them: the run of lost records that was
	// reported last.
	lostFrom, lostRun uint64

	// Guarded by the shelf.
	progress  progress
	busy      bool // Somebody ships or retires it.
	failures  int  // Appends in a row without effect.
	notBefore time.Time
}

// doubt reports whether the outcome of the last append is unknown.
func (g *segment) doubt() bool { return g.progress.asked > g.progress.sent }

func (g *segment) unsent() uint64 {
	if n := g.count.Load(); n > g.progress.sent {
		return n - g.progress.sent
	}
	return 0
}

// createSegment makes a segment with room for size bytes and takes its lock. The
// caller holds the ledger's lock, so that nobody takes the unfinished file for one
// that a dead process left.
func createSegment(dir string, h head, size int64) (_ *segment, err error) {
	temp := filepath.Join(dir, h.id.String()+newSuffix)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp), f.Close())
		}
	}()
	if ok, err := tryLock(f); !ok {
		return nil, errors.Join(errors.New("lock a new segment"), err)
	}
	if err := reserve(f, size); err != nil {
		return nil, fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	if _, err := f.WriteAt(h.encode(), 0); err != nil {
		return nil, err
	}
	g := &segment{head: h, seed: seedOf(h.id), path: segmentPath(dir, h.id), file: f, own: true}
	g.end.Store(headSize)
	g.progress.offset = headSize
	return g, os.Rename(temp, g.path)
}

// reserve makes sure that the file's bytes can be written on a disk that gets full.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// broken reports a segment whose header cannot be trusted.
type broken struct{ cause error }

func (e *broken) Error() string { return "segment cannot be shipped: " + e.cause.Error() }
func (e *broken) Unwrap() error { return e.cause }

// openSegment reads a segment whose lock f holds. With a *broken error it returns
// what can be said about the segment nevertheless.
func openSegment(id queue.SegmentID, f *os.File) (g *segment, torn bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	page := make([]byte, headSize)
	if _, err := f.ReadAt(page, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	g = &segment{seed: seedOf(id), path: f.Name(), file: f}
	g.progress = decodeProgress(g.seed, page[progressAt:progressAt+progressLen])
	counted, known := decodeCount(binary.NativeEndian.Uint64(page[countAt:]))
	r := &reader{file: f, seed: g.seed}
	at := position{g.progress.sent, g.progress.offset}
	e, err := r.measure(at, counted, known, info.Size())
	if err != nil {
		return nil, false, err
	}
	g.end.Store(e.end)
	g.count.Store(e.count)
	g.full.Store(true)
	g.head, err = decodeHead(id, page)
	if err != nil {
		g.head = head{id: id}
		return g, e.torn, &broken{err}
	}
	return g, e.torn, nil
}

// note writes down how far the segment was sent.
func (g *segment) note(p progress) error {
	_, err := g.file.WriteAt(p.encode(g.seed), progressAt)
	return err
}

// tryLock takes the lock of a file, unless another open file has it.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return true, nil
}

// claimFile opens a file and takes its lock. It returns nil for one that another
// process holds, or that was removed before the lock was taken.
func claimFile(path string) (_ *os.File, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if ok {
		var opened, named os.FileInfo
		if opened, err = f.Stat(); err == nil {
			named, err = os.Stat(path)
		}
		if err == nil && os.SameFile(opened, named) {
			return f, nil
		}
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// segmentID returns the ID in a segment's file name.
func segmentID(name string) (queue.SegmentID, bool) {
	text, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return queue.SegmentID{}, false
	}
	id, err := queue.ParseSegmentID(text)
	return id, err == nil && id.String() == text
}
