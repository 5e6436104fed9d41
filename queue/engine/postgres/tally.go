package postgres

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// countPause is how long a count is trusted: what other processes add meanwhile is not
	// in it.
	countPause = time.Second

	// countEffort is how many times as long as counting took the pause is at least, if it
	// took longer than countCheap.
	countEffort = 20
	countCheap  = 10 * time.Millisecond

	// countWait is how long a count waits for calls that fill meanwhile. What such a call
	// adds may then be counted twice.
	countWait = 500 * time.Millisecond
)

// tallies are the counts of what is in each queue.
type tallies struct {
	mu  sync.Mutex // Protects all.
	all map[string]*tally
}

func (t *tallies) of(name string) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*tally{}
	}
	one := t.all[name]
	if one == nil {
		one = &tally{filling: semaphore.NewWeighted(fillers)}
		t.all[name] = one
	}
	return one
}

// fillers is more than there ever are at once.
const fillers = 1 << 30

// tally is a count against a bound. It is counted on the server now and then, and kept up
// in between with what this process does. It may be too high, never too low but for what
// others do: so a process alone keeps the bound exactly.
type tally struct {
	filling *semaphore.Weighted // One of it is held by each call that fills, all by one that counts.

	mu       sync.Mutex // Protects below.
	counted  time.Time  // Zero: never, or not to be trusted.
	took     time.Duration
	epoch    int // Counts the countings.
	bound    int64
	there    int64 // What is reserved included.
	reserved int64
}

// room is what a call may fill.
type room struct {
	there    int64 // Without it.
	reserved int64
}

// counter asks the server for a bound and for how much is there.
type counter func(context.Context) (bound, n int64, err error)

// reserve sets room aside for n more, or for less if there is not so much, and counts
// before if that is needed. Without an error the caller uses the room, or doubts.
func (t *tally) reserve(ctx context.Context, n int, count counter) (room, error) {
	if err := t.filling.Acquire(ctx, 1); err != nil {
		return room{}, err
	}
	if t.trusted(n) {
		return t.take(n), nil
	}
	t.filling.Release(1)
	held, err := t.alone(ctx)
	if err != nil {
		return room{}, err
	}
	defer func() { t.filling.Release(held) }()
	if !t.trusted(n) { // Nobody else has just counted.
		began := time.Now()
		bound, there, err := count(ctx)
		if err != nil {
			return room{}, err
		}
		t.set(bound, there, began)
	}
	held-- // The caller's.
	return t.take(n), nil
}

// alone waits until nobody fills, but not long.
func (t *tally) alone(ctx context.Context) (held int64, err error) {
	soon, cancel := context.WithTimeout(ctx, countWait)
	defer cancel()
	if t.filling.Acquire(soon, fillers) == nil {
		return fillers, nil
	}
	return 1, t.filling.Acquire(ctx, 1)
}

// trusted tells whether the count is good enough to add n.
func (t *tally) trusted(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := time.Since(t.counted)
	if t.counted.IsZero() || age > max(countPause, countEffort*t.took) {
		return false
	}
	return t.there+int64(n) <= t.bound || t.took > countCheap && age < countEffort*t.took
}

func (t *tally) set(bound, there int64, began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bound, t.counted, t.took = bound, began, time.Since(began)
	t.there = there + t.reserved
	t.epoch++
}

func (t *tally) take(n int) room {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := room{there: t.there, reserved: min(int64(n), max(0, t.bound-t.there))}
	t.there += r.reserved
	t.reserved += r.reserved
	return r
}

// use ends a reservation: so many more are there.
func (t *tally) use(r room, more int) {
	defer t.filling.Release(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved -= r.reserved
	t.there += int64(more) - r.reserved
}

// doubt ends a reservation of which nobody knows what became.
func (t *tally) doubt(r room) {
	defer t.filling.Release(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved -= r.reserved
	t.counted = time.Time{}
}

// now tells when a call begins that takes something away.
func (t *tally) now() (epoch int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.epoch
}

// less notes how much a call took away. If it was counted since the call began, that may
// be in the count.
func (t *tally) less(n, epoch int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch == epoch {
		t.there -= int64(n)
	}
}

func (t *tally) limit() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bound
}

// distrust has it counted before it is needed again.
func (t *tally) distrust() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counted = time.Time{}
}
