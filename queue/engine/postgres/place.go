package postgres

import (
	"fmt"

	"snip/queue"
)

// place is a position, read.
type place struct {
	start bool // The zero position: before everything.
	base  int64
	index int64
	mark  uint32
}

// parsePlace returns ErrPositionLost for what no log of this engine ever gave.
func parsePlace(at queue.Position) (place, error) {
	if at == (queue.Position{}) {
		return place{start: true}, nil
	}
	base, mark, err := queue.ParseEntry(at.Entry)
	if err != nil {
		return place{}, err
	}
	if base > 1<<62 || at.Index < 0 || at.Index > 1<<32 {
		return place{}, fmt.Errorf("position %s: %w", at, queue.ErrPositionLost)
	}
	return place{base: int64(base), index: int64(at.Index), mark: mark}, nil
}

// offset is the number of messages before the place.
func (p place) offset() int64 { return p.base + p.index }

// check tells whether the entry at the place's base is that of the place, and long
// enough.
func (p place) check(mark int64, count int) error {
	if uint32(mark) == p.mark && p.index <= int64(count) {
		return nil
	}
	return p.lost()
}

// checkOldest tells whether the place, where there is no entry, stands at the end of
// what was trimmed.
func (p place) checkOldest(oldest int64) error {
	if p.start || p.base < oldest && p.offset() == oldest {
		return nil
	}
	return p.lost()
}

func (p place) lost() error {
	return fmt.Errorf("position %s:%d: %w", queue.FormatEntry(uint64(p.base), p.mark), p.index, queue.ErrPositionLost)
}
