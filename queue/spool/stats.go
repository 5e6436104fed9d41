package spool

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"time"
)

// Stats describes a spool's directory at one moment, whichever process it is of.
type Stats struct {
	Bytes    int64 // Size of all segments.
	MaxBytes int64
	Segments int
	Unsent   int64 // Messages that no engine acknowledged yet.

	// Dropped counts messages that were not kept, ever, exactly. Lost are those of
	// them that were accepted and could not be read again.
	Dropped int64
	Lost    int64

	Aside  int       // Segments set aside, for somebody to look at.
	Oldest time.Time // Of the oldest unsent message; zero if there is none.
}

// Stats costs a few microseconds per segment. What the directory does not tell,
// since it cannot be read, is left out.
func (s *Spool) Stats() Stats {
	st := Stats{MaxBytes: s.cfg.MaxBytes}
	// The files first: a message that becomes unsent later is younger than the call.
	err := eachFile(s.cfg.Dir, func(name string, info os.FileInfo) {
		st.Bytes += info.Size()
		if _, ok := segmentID(name); ok {
			st.Segments++
			st.addUnsent(s.look(name))
		}
	})
	if err != nil {
		s.log.Error("spool: stats", "error", err)
	}
	if aside, err := os.ReadDir(asideDir(s.cfg.Dir)); err == nil {
		st.Aside = len(aside)
	}
	st.Dropped, st.Lost, err = s.ledger.totals()
	if err != nil {
		s.log.Error("spool: stats", "error", err)
	}
	return st
}

func (st *Stats) addUnsent(n uint64, oldest time.Time) {
	if n == 0 {
		return
	}
	st.Unsent += int64(n)
	if !oldest.IsZero() && (st.Oldest.IsZero() || oldest.Before(st.Oldest)) {
		st.Oldest = oldest
	}
}

// look returns how many messages of a segment are unsent, and the time of the
// first of them.
func (s *Spool) look(name string) (unsent uint64, oldest time.Time) {
	f, err := os.Open(filepath.Join(s.cfg.Dir, name))
	if err != nil {
		return 0, time.Time{} // Removed meanwhile: nothing in it is unsent.
	}
	defer f.Close()
	id, _ := segmentID(name)
	page := make([]byte, progressAt+progressLen)
	var p progress
	for range 3 { // Its shipper may be writing the progress.
		if _, err := f.ReadAt(page, 0); err != nil {
			return 0, time.Time{}
		}
		if p = decodeProgress(seedOf(id), page[progressAt:]); p.asked != askedUnknown {
			break
		}
	}
	count, ok := decodeCount(binary.NativeEndian.Uint64(page[countAt:]))
	if !ok || count <= p.sent {
		return 0, time.Time{}
	}
	h, err := decodeHead(id, page)
	if err != nil {
		return count - p.sent, time.Time{}
	}
	b := make([]byte, recordHead)
	_, err = f.ReadAt(b, p.offset)
	if err != nil || recordSize(b) == 0 || uint64(binary.NativeEndian.Uint32(b[8:])) != p.sent {
		return count - p.sent, h.created // Broken: no record of it is older than the segment.
	}
	return count - p.sent, fromNanos(int64(binary.NativeEndian.Uint64(b[16:])))
}
