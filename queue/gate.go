package queue

import (
	"context"
	"sync"
)

// gate lets one task run alone in a worker, whatever queues it works on.
type gate struct {
	mu      sync.Mutex
	changed chan struct{} // Closed at the next change that somebody waits for.
	waiting int
	busy    int     // Pulls and tasks under way.
	claim   *puller // Who waits to run a task alone, or runs it.
}

// enter waits until the puller may pull. A pull that is to get a task that runs alone
// waits for everything else to end, and keeps everything else waiting until unclaim.
func (g *gate) enter(ctx context.Context, c *puller, alone bool) error {
	for {
		changed := g.tryEnter(c, alone)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			g.unclaim(c)
			return ctx.Err()
		}
	}
}

// tryEnter returns what to wait for, or nil.
func (g *gate) tryEnter(c *puller, alone bool) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if alone && g.claim == nil {
		g.claim = c
	}
	if g.claim == nil || alone && g.claim == c && g.busy == 0 {
		g.busy++
		return nil
	}
	g.waiting++
	return g.changed
}

// add says that so many more are under way, or fewer.
func (g *gate) add(n int) { g.change(func() { g.busy += n }) }

// unclaim ends the puller's claim, if it has one.
func (g *gate) unclaim(c *puller) {
	g.change(func() {
		if g.claim == c {
			g.claim = nil
		}
	})
}

func (g *gate) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
	if g.waiting > 0 {
		close(g.changed)
		g.changed, g.waiting = make(chan struct{}), 0
	}
}
