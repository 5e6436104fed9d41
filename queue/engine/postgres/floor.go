package postgres

import (
	"math"
	"strings"
	"sync"
	"time"
)

const (
	// floorMargin is how late a push may be committed, after it looked at the clock, to be
	// found by the next pull.
	floorMargin = 200 * time.Millisecond

	// A pull from the start passes each task that it leases twice. It is wasteful if what it
	// passes beside is as much as so many entries of the index.
	wastedEntries = 300

	// pullEffort is how many times as long as a wasteful pull took the pause is before the
	// next.
	pullEffort = 20
)

// floors remember, for each set of tasks that this process pulls, until when all that
// was due is leased. A pull from the start finds what is not: after a lease that ended, a
// pull that was rolled back, a push that was committed late. But it passes all that is
// leased, and all that was done since somebody's oldest snapshot, which the server cannot
// clean up. Where that is much, most pulls start at the floor.
type floors struct {
	mu  sync.Mutex // Protects all.
	all map[string]*floor
}

func (f *floors) of(queue string, kinds []string) *floor {
	key := queue + "\x00" + strings.Join(kinds, "\x00")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]*floor{}
	}
	one := f.all[key]
	if one == nil {
		one = &floor{}
		f.all[key] = one
	}
	return one
}

type floor struct {
	mu    sync.Mutex // Protects below.
	at    int64      // Microseconds since 1970.
	full  time.Time  // When the last pull from the start ended.
	pause time.Duration
}

// start tells from where a pull goes. Nil: from the start.
func (f *floor) start(alone bool) *int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if alone || time.Since(f.full) >= f.pause {
		return nil
	}
	at := f.at
	return &at
}

// pass is how a pull went.
type pass struct {
	tasks   int
	entries int   // Of the index, that it passed, or as much.
	reached int64 // Until when it leased all that was due, but for what was lost.
	began   int64
	took    time.Duration // On the server.
}

func (f *floor) passed(from *int64, p pass) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from == nil {
		f.full, f.pause = time.Now(), 0
		if p.entries-2*p.tasks > wastedEntries {
			f.pause = pullEffort * p.took
		}
	}
	f.at = min(p.reached, p.began-floorMargin.Microseconds())
	if p.reached == math.MinInt64 && from != nil {
		f.at = *from
	}
}
