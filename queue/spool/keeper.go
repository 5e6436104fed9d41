package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"snip/queue"
)

// keeper makes segments ahead of the intake, so that Record never waits for one,
// and clears away behind it. It is the only one that maps and unmaps them.
type keeper struct {
	*Spool
	writers []*writer
}

const (
	warmAhead = 1 << 20 // Bytes that are faulted in ahead of the intake.
	warmStep  = warmAhead / 2
)

var errBound = errors.New("MaxBytes is reached and no segment may be dropped")

// noSpace reports whether an error is one that more space would cure.
func noSpace(err error) bool {
	return errors.Is(err, errBound) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

func (k *keeper) run(ctx context.Context) {
	defer k.unmap()
	failures := 0
	youth := min(24*time.Hour, k.cfg.MaxAge/2)
	for {
		wait := min(youth/4, time.Hour)
		k.intake.refresh(time.Now().Add(-youth))
		if err := k.prepare(ctx); err != nil && ctx.Err() == nil {
			if failures%60 == 0 {
				k.log.Error("spool: cannot make a segment: records may be dropped", "error", err)
			}
			failures++
			wait = backoff(failures-1, 50*time.Millisecond, time.Second)
		} else if failures > 0 {
			failures = 0
			k.log.Info("spool: segments can be made again")
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-k.intake.rolled:
		case <-k.freed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// prepare gives the intake what it lacks and takes back what it is done with.
func (k *keeper) prepare(ctx context.Context) error {
	k.unmap()
	k.faultIn()
	for k.intake.short() {
		w, err := k.make(ctx)
		if err != nil {
			return err
		}
		k.writers = append(k.writers, w)
		k.faultIn()
		k.intake.add(w)
	}
	return nil
}

// make makes a segment, after it made room for it.
func (k *keeper) make(ctx context.Context) (*writer, error) {
	if err := k.ledger.lock(ctx); err != nil {
		return nil, err
	}
	defer k.ledger.unlock()
	if err := k.makeRoom(); err != nil {
		return nil, err
	}
	h := head{id: queue.NewSegmentID(), topic: k.cfg.Topic, partition: k.partition, created: time.Now()}
	g, err := createSegment(k.cfg.Dir, h, k.cfg.SegmentBytes)
	if err != nil {
		return nil, fmt.Errorf("make a segment: %w", err)
	}
	mapped, err := unix.Mmap(int(g.file.Fd()), 0, int(k.cfg.SegmentBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil && k.cfg.Sync > 0 {
		err = syncDir(k.cfg.Dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a segment: %w", err), os.Remove(g.path), g.file.Close())
	}
	k.partition = (k.partition + 1) % k.cfg.Partitions
	k.shelf.add(g)
	return &writer{segment: g, mapped: mapped, off: headSize, warmAt: warmStep}, nil
}

// makeRoom drops the oldest segments that may go until a new one fits. The caller
// holds the ledger's lock, so the bound holds over all processes.
func (k *keeper) makeRoom() error {
	used, err := k.used()
	if err != nil || used+k.cfg.SegmentBytes <= k.cfg.MaxBytes {
		return err
	}
	if err := k.adopt(); err != nil {
		return err
	}
	for {
		used, err := k.used()
		if err != nil || used+k.cfg.SegmentBytes <= k.cfg.MaxBytes {
			return err
		}
		g := k.shelf.claimOldest()
		if g == nil {
			return errBound
		}
		if n := g.unsent(); n > 0 {
			k.log.Warn("spool: MaxBytes is reached: the oldest segment is dropped", "segment", g.id, "messages", n)
		}
		if err := k.retireLocked(g, false); err != nil {
			return err
		}
	}
}

// used returns the size of all segments in the directory.
func (s *Spool) used() (int64, error) {
	var sum int64
	err := eachFile(s.cfg.Dir, func(_ string, info os.FileInfo) { sum += info.Size() })
	return sum, err
}

// faultIn faults pages in ahead of the intake.
func (k *keeper) faultIn() {
	for _, w := range k.writers {
		want := min(len(w.mapped), int(w.end.Load())+warmAhead) &^ (os.Getpagesize() - 1)
		if want > w.warm {
			// An old kernel cannot, or the disk fails: then Record meets the fault.
			_ = unix.Madvise(w.mapped[w.warm:want], unix.MADV_POPULATE_WRITE)
			w.warm = want
		}
	}
}

// unmap forgets the segments that the intake is done with.
func (k *keeper) unmap() {
	kept := k.writers[:0]
	for _, w := range k.writers {
		if k.intake.inUse(w) {
			kept = append(kept, w)
			continue
		}
		_ = unix.Munmap(w.mapped) // Fails for no memory that Mmap returned.
	}
	clear(k.writers[len(kept):])
	k.writers = kept
}

// sync forces records to the disk, for the power cut.
func (s *Spool) sync(ctx context.Context) {
	for pause(ctx, s.cfg.Sync) == nil {
		for _, g := range s.shelf.all() {
			end := g.end.Load()
			if !g.own || end == g.synced {
				continue
			}
			if err := g.file.Sync(); err == nil {
				g.synced = end
			} else if !errors.Is(err, os.ErrClosed) { // Closed: all of it was sent.
				s.log.Error("spool: sync", "segment", g.id, "error", err)
			}
		}
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// pause waits, or returns ctx's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// backoff gives growing pauses from least to most, with jitter. The zero count is
// the first failure.
func backoff(failures int, least, most time.Duration) time.Duration {
	d := most
	if failures < 30 && least<<failures < most {
		d = least << failures
	}
	return d/2 + rand.N(d/2+1)
}
