package spool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"snip/queue"
)

// ledger counts what a directory's processes dropped, exactly and for ever. It is
// one page of a file that all of them share, written in full when it is made, so
// that counting works on a full disk.
//
// Single records are counted in a mapped word, by an atomic addition that works
// across processes. It is done once the addition is; a kill changes nothing.
//
// A segment that goes with messages that were not delivered is counted in two
// slots, written in turn, of which the valid one with the larger sequence holds.
// Under the ledger's lock and the segment's own:
//
//  1. finish what the last entry wanted,
//  2. write the entry: the new totals, the segment's ID, where it goes,
//  3. remove the segment, or move it aside.
//
// A kill before 2 changed nothing: the segment is there, uncounted, and will be
// shipped or dropped by whoever gets it. In the middle of 2 the slot's CRC is
// wrong and the other slot holds: as before. Between 2 and 3 the entry names a
// segment that is still there: step 1 of the next process removes it, and since
// a segment is adopted under the ledger's lock and after step 1, nobody ships it or
// counts it again. After 3, step 1 finds nothing to do.
type ledger struct {
	dir  string
	file *os.File
	held chan struct{} // Full while a goroutine holds the lock, which flock cannot tell apart.

	mu   sync.RWMutex
	page []byte // The mapped page; nil once closed. Guarded by mu.

	unwritten atomic.Int64 // Records counted here, since the page could not be reached.
}

const (
	ledgerMagic = "snipled1"
	ledgerSize  = 4096
	singlesAt   = 64
	slotsAt     = 128
	slotStride  = 64
	slotLen     = 52
)

// entry is a segment that goes, or in a slot the last one with the totals.
type entry struct {
	sequence uint64
	dropped  uint64
	lost     uint64 // Part of dropped: records that could not be read.
	segment  queue.SegmentID
	aside    bool // Moved to the directory aside, not removed.
}

func openLedger(ctx context.Context, dir string) (*ledger, error) {
	f, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &ledger{dir: dir, file: f, held: make(chan struct{}, 1)}
	if err := l.prepare(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if l.page, err = mapLedger(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func mapLedger(f *os.File) ([]byte, error) {
	page, err := unix.Mmap(int(f.Fd()), 0, ledgerSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return page, nil
}

// access calls use with the mapped page. After close it maps it once more, since a
// Record that comes too late is counted too.
func (l *ledger) access(use func(page []byte)) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	page := l.page
	if page == nil {
		f, err := os.OpenFile(l.file.Name(), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if page, err = mapLedger(f); err != nil {
			return err
		}
		defer func() { _ = unix.Munmap(page) }() // Fails for no memory that Mmap returned.
	}
	return faultless(page, func() { use(page) })
}

// prepare fills a new ledger. Whoever died while doing so left a page that is
// short or without its magic, and nothing counted.
func (l *ledger) prepare(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	page := make([]byte, ledgerSize)
	n, _ := l.file.ReadAt(page, 0)
	if n == ledgerSize && string(page[:8]) == ledgerMagic {
		return nil
	}
	if [8]byte(page) != [8]byte{} {
		return fmt.Errorf("%s is not the ledger of a spool", l.file.Name())
	}
	if _, err := l.file.WriteAt(make([]byte, ledgerSize), 0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt([]byte(ledgerMagic), 0); err != nil {
		return err
	}
	return l.file.Sync()
}

// lock keeps the other processes, and this one's other goroutines, from making,
// adopting and retiring segments. It polls, so that ctx can end it.
func (l *ledger) lock(ctx context.Context) error {
	select {
	case l.held <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		ok, err := tryLock(l.file)
		if ok {
			return nil
		}
		if err == nil {
			err = pause(ctx, wait)
		}
		if err != nil {
			<-l.held
			return fmt.Errorf("lock %s: %w", l.file.Name(), err)
		}
	}
}

func (l *ledger) unlock() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN) // Cannot fail on a lock that is held.
	<-l.held
}

// drop counts one record that was not kept.
func (l *ledger) drop() {
	if err := l.access(func(page []byte) { atomic.AddUint64(singles(page), 1) }); err != nil {
		l.unwritten.Add(1)
	}
}

func singles(page []byte) *uint64 { return (*uint64)(unsafe.Pointer(&page[singlesAt])) }

// totals returns the messages that were dropped, and those of them that were lost
// because they could not be read.
func (l *ledger) totals() (dropped, lost int64, err error) {
	var one uint64
	if err := l.access(func(page []byte) { one = atomic.LoadUint64(singles(page)) }); err != nil {
		return l.unwritten.Load(), 0, err
	}
	e, _, err := l.last()
	return l.unwritten.Load() + int64(one) + int64(e.dropped), int64(e.lost), err
}

// last returns the entry that holds, and the slot for the next one.
func (l *ledger) last() (e entry, next int, err error) {
	err = l.access(func(page []byte) {
		for i := range 2 {
			if s, ok := decodeEntry(page[slotsAt+i*slotStride:]); ok && s.sequence > e.sequence {
				e, next = s, 1-i
			}
		}
	})
	return e, next, err
}

// retire counts a segment that goes, and lets it go. The caller holds the lock, and
// the segment's own. After an error the segment may or may not be counted: it must
// not be shipped, and is adopted again or finished.
func (l *ledger) retire(e entry) error {
	if err := l.finish(); err != nil {
		return err
	}
	last, slot, err := l.last()
	if err != nil {
		return err
	}
	e.sequence = last.sequence + 1
	e.dropped += last.dropped
	e.lost += last.lost
	if _, err := l.file.WriteAt(e.encode(), int64(slotsAt+slot*slotStride)); err != nil {
		return fmt.Errorf("count segment %s as dropped: %w", e.segment, err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("count segment %s as dropped: %w", e.segment, err)
	}
	return l.finish()
}

// finish does what the last entry wanted done, if its process did not come to it.
// The caller holds the lock.
func (l *ledger) finish() error {
	e, _, err := l.last()
	if err != nil || e.sequence == 0 {
		return err
	}
	path := segmentPath(l.dir, e.segment)
	if e.aside {
		err := os.Rename(path, segmentPath(asideDir(l.dir), e.segment))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		// What is in it is worth less than that the spool goes on.
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a dropped segment: %w", err)
	}
	return nil
}

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	page := l.page
	l.page = nil
	return errors.Join(unix.Munmap(page), l.file.Close())
}

func (e entry) encode() []byte {
	b := make([]byte, slotLen)
	binary.NativeEndian.PutUint64(b, e.sequence)
	binary.NativeEndian.PutUint64(b[8:], e.dropped)
	binary.NativeEndian.PutUint64(b[16:], e.lost)
	copy(b[24:], e.segment[:])
	if e.aside {
		b[40] = 1
	}
	binary.NativeEndian.PutUint32(b[48:], checksum(0, b[:48]))
	return b
}

func decodeEntry(b []byte) (entry, bool) {
	e := entry{
		sequence: binary.NativeEndian.Uint64(b),
		dropped:  binary.NativeEndian.Uint64(b[8:]),
		lost:     binary.NativeEndian.Uint64(b[16:]),
		segment:  queue.SegmentID(b[24:40]),
		aside:    b[40] == 1,
	}
	ok := binary.NativeEndian.Uint32(b[48:]) == checksum(0, b[:48])
	return e, ok && e.sequence > 0 && e.dropped <= math.MaxInt64
}
