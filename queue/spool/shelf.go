package spool

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"snip/queue"
)

// shelf holds the segments whose locks this process has.
type shelf struct {
	mu       sync.Mutex // Guards the map, and the fields of segments that say so.
	segments map[queue.SegmentID]*segment
}

func (s *shelf) add(g *segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments[g.id] = g
}

func (s *shelf) has(id queue.SegmentID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.segments[id] != nil
}

// all returns the segments, the oldest first.
func (s *shelf) all() []*segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sorted()
}

func (s *shelf) sorted() []*segment {
	all := make([]*segment, 0, len(s.segments))
	for _, g := range s.segments {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *segment) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id.String(), b.id.String()))
	})
	return all
}

// finished reports whether a segment needs no shipping any more.
func (s *shelf) finished(g *segment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.full.Load() && g.unsent() == 0
}

// claimOldest returns a segment that may go to make room, busy from then on: one
// that is finished, else the oldest whose messages nobody is asked to take.
func (s *shelf) claimOldest() *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *segment
	for _, g := range s.sorted() {
		if g.busy || !g.full.Load() {
			continue
		}
		if g.unsent() == 0 {
			oldest = g
			break
		}
		if oldest == nil && !g.doubt() {
			oldest = g
		}
	}
	if oldest != nil {
		oldest.busy = true
	}
	return oldest
}

// moved notes how far a segment was sent.
func (s *shelf) moved(g *segment, p progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.progress = p
}

// leave gives a segment's lock up.
func (s *shelf) leave(g *segment) error {
	s.mu.Lock()
	delete(s.segments, g.id)
	s.mu.Unlock()
	return g.file.Close()
}

// adopt takes what dead processes left: it puts their segments on the shelf and
// removes what they never finished. The caller holds the ledger's lock.
func (s *Spool) adopt() error {
	if err := s.ledger.finish(); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(s.cfg.Dir, e.Name())
		if id, ok := segmentID(e.Name()); ok && !s.shelf.has(id) {
			err = s.adoptSegment(id, path)
		} else if strings.HasSuffix(e.Name(), newSuffix) {
			err = removeUnfinished(path)
		}
		if err != nil {
			s.log.Error("spool: cannot adopt", "file", e.Name(), "error", err)
		}
	}
	return nil
}

func (s *Spool) adoptSegment(id queue.SegmentID, path string) error {
	f, err := claimFile(path)
	if f == nil {
		return err
	}
	g, torn, err := openSegment(id, f)
	if g == nil {
		return errors.Join(err, f.Close())
	}
	if torn {
		s.log.Warn("spool: cut a record that was not finished", "segment", id, "number", g.count.Load())
	}
	if err != nil {
		return errors.Join(err, s.setAside(g))
	}
	s.shelf.add(g)
	return nil
}

func removeUnfinished(path string) error {
	f, err := claimFile(path)
	if f == nil {
		return err
	}
	return errors.Join(os.Remove(path), f.Close())
}

// setAside keeps a segment out of the way for somebody to look at. What was unsent
// in it counts as dropped. The caller holds the ledger's lock.
func (s *Spool) setAside(g *segment) error {
	s.log.Error("spool: segment set aside", "segment", g.id, "unsent", g.unsent(), "dir", asideDir(s.cfg.Dir))
	return s.retireLocked(g, true)
}

// retire is retireLocked for callers without the ledger's lock.
func (s *Spool) retire(ctx context.Context, g *segment, aside bool) error {
	if !aside && g.unsent() == 0 && g.progress.lost == 0 {
		return s.remove(g)
	}
	if err := s.ledger.lock(ctx); err != nil {
		return err
	}
	defer s.ledger.unlock()
	if aside {
		return s.setAside(g)
	}
	return s.retireLocked(g, false)
}

// retireLocked lets a segment go that the caller made busy. What it holds that was
// not delivered counts as dropped.
func (s *Spool) retireLocked(g *segment, aside bool) error {
	lost := g.progress.lost
	dropped := g.unsent() + lost
	if dropped == 0 && !aside {
		return s.remove(g)
	}
	err := s.ledger.retire(entry{segment: g.id, dropped: dropped, lost: lost, aside: aside})
	// Also after an error: whoever adopts it sees whether it was counted.
	err = errors.Join(err, s.shelf.leave(g))
	nudge(s.freed)
	return err
}

// remove lets a segment go of which everything was delivered.
func (s *Spool) remove(g *segment) error {
	err := errors.Join(os.Remove(g.path), s.shelf.leave(g))
	nudge(s.freed)
	return err
}

func (s *Spool) tooOld(g *segment) bool { return time.Since(g.created) > s.cfg.MaxAge }

// eachFile calls visit for each segment in a directory, unfinished ones included.
func eachFile(dir string, visit func(name string, info os.FileInfo)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), segmentSuffix) && !strings.HasSuffix(e.Name(), newSuffix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // Removed meanwhile.
		}
		if err != nil {
			return err
		}
		visit(e.Name(), info)
	}
	return nil
}
