package web

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"snip"
)

const (
	foundFor   = 60 * time.Second // A link is served without asking the store again.
	unknownFor = 5 * time.Second  // So is a code that no link has.
	againAfter = time.Second      // When to ask again after an answer did not come.

	staleWait = 250 * time.Millisecond // For an answer, while an older one is at hand.
	newWait   = 2 * time.Second        // For an answer about a code never seen.
	loadLimit = 5 * time.Second        // For the store.
	maxLoads  = 64                     // Questions to the store at the same time.

	logAgain = 10 * time.Second // Between two lines about a store that does not answer.
)

// entry is a link as the cache keeps it.
type entry struct {
	link     snip.Route
	location []string     // Of link, as the header wants it.
	until    atomic.Int64 // When the store is asked again: nanoseconds of the cache's clock.
}

// route is nil for no entry.
func (e *entry) route() *snip.Route {
	if e == nil {
		return nil
	}
	return &e.link
}

// cache keeps links between the redirect path and the store. What it found it
// serves for as long as the store does not answer. Unknown codes are kept apart, so
// that a flood of them pushes no link out.
type cache struct {
	links   snip.Links
	log     *slog.Logger
	now     func() time.Duration // Since the cache was made: a wall clock that is set moves nothing.
	found   *otter.Cache[string, *entry]
	unknown *otter.Cache[string, time.Duration] // Until when.

	mu      sync.Mutex // Protects flights, and what a flight puts into found and unknown.
	flights map[string]*flight
	loads   chan struct{} // Holds one for each question that the store was asked and has not answered.
	wait    sync.WaitGroup

	quietUntil atomic.Int64 // As until in entry; not logged before.
}

// flight is one question to the store, for all who ask for that code meanwhile.
type flight struct {
	done    chan struct{} // Closed when entry and err are set.
	entry   *entry        // Nil: unknown.
	err     error
	changed bool // The link was changed since: the answer may be an old one.
	doubted bool // Then that was somewhere else, and an old answer is better than none.
}

func newCache(cfg Config) (*cache, error) {
	found, err := otter.New(&otter.Options[string, *entry]{
		MaximumWeight: uint64(cfg.CacheBytes),
		Weigher: func(code string, e *entry) uint32 {
			const rest = 200 // Entry, slice and the cache's own, about.
			return uint32(len(code) + len(e.link.Location) + rest)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("web: cache of links: %w", err)
	}
	unknown, err := otter.New(&otter.Options[string, time.Duration]{MaximumSize: cfg.CacheUnknown})
	if err != nil {
		return nil, fmt.Errorf("web: cache of unknown codes: %w", err)
	}
	start := cfg.Now()
	return &cache{
		links: cfg.Links, log: cfg.Logger, found: found, unknown: unknown,
		now:     func() time.Duration { return cfg.Now().Sub(start) },
		flights: map[string]*flight{}, loads: make(chan struct{}, maxLoads),
	}, nil
}

// get returns the entry of a code, nil if no link has it, or an error if that could
// not be found out in time.
func (c *cache) get(code string) (*entry, error) {
	now := c.now()
	e, ok := c.found.GetIfPresent(code)
	if ok && int64(now) < e.until.Load() {
		return e, nil
	}
	if !ok {
		if until, ok := c.unknown.GetIfPresent(code); ok && now < until {
			return nil, nil
		}
		return c.await(code, newWait)
	}
	fresh, err := c.await(code, staleWait)
	if err != nil {
		e.until.Store(int64(c.now() + againAfter))
		return e, nil
	}
	return fresh, nil
}

// await asks the store, or waits with those who asked already.
func (c *cache) await(code string, limit time.Duration) (*entry, error) {
	c.mu.Lock()
	f := c.flights[code]
	if f == nil {
		// A code is part of a request's text and would keep all of it in memory.
		code = strings.Clone(code)
		f = &flight{done: make(chan struct{})}
		c.flights[code] = f
		// The visitor who asked may be gone before the answer is there; others wait
		// for it too.
		c.wait.Go(func() { c.load(code, f) })
	}
	c.mu.Unlock()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-f.done:
		return f.entry, f.err
	case <-t.C:
		return nil, context.DeadlineExceeded
	}
}

func (c *cache) load(code string, f *flight) {
	f.entry, f.err = c.ask(code)
	if f.err != nil {
		c.complain(f.err)
	}
	c.mu.Lock()
	switch {
	case !f.changed:
		delete(c.flights, code)
		c.keep(code, f)
	case f.doubted && f.entry != nil:
		// It is asked for again at the next visit.
		c.found.SetIfAbsent(code, f.entry)
	}
	c.mu.Unlock()
	close(f.done)
}

func (c *cache) ask(code string) (*entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadLimit)
	defer cancel()
	select {
	case c.loads <- struct{}{}:
		defer func() { <-c.loads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	link, err := c.links.Link(ctx, code)
	if snip.CodeOf(err) == snip.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	route, err := link.Route()
	if err != nil {
		return nil, err
	}
	return &entry{link: route, location: []string{route.Location}}, nil
}

// complain logs an outage, which every visit would repeat, now and then.
func (c *cache) complain(err error) {
	now, until := int64(c.now()), c.quietUntil.Load()
	if now >= until && c.quietUntil.CompareAndSwap(until, now+int64(logAgain)) {
		c.log.Warn("links cannot be looked up; those already seen go on", "error", err)
	}
}

// keep puts an answer into the cache. An outage is none.
func (c *cache) keep(code string, f *flight) {
	switch {
	case f.err != nil:
	case f.entry == nil:
		c.found.Invalidate(code)
		c.unknown.Set(code, c.now()+unknownFor)
	default:
		f.entry.until.Store(int64(c.now() + foundFor))
		c.unknown.Invalidate(code)
		c.found.Set(code, f.entry)
	}
}

// invalidate forgets a code whose link was made, changed or deleted. An answer that
// is on its way may be older than the change: it is given to those who wait for
// it, and not kept.
func (c *cache) invalidate(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[code]; f != nil {
		f.changed = true
		delete(c.flights, code)
	}
	c.found.Invalidate(code)
	c.unknown.Invalidate(code)
}

// doubt has a code asked for again, whose link was changed somewhere. What was found is
// kept for as long as no answer comes.
func (c *cache) doubt(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[code]; f != nil {
		f.changed, f.doubted = true, true
		delete(c.flights, code)
	}
	if e, ok := c.found.GetIfPresent(code); ok {
		e.until.Store(0)
	}
	c.unknown.Invalidate(code)
}

// doubtAll has every code asked for again. What was found is kept for as long as no
// answer comes.
func (c *cache) doubtAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for code, f := range c.flights {
		f.changed, f.doubted = true, true
		delete(c.flights, code)
	}
	for e := range c.found.Values() {
		e.until.Store(0)
	}
	c.unknown.InvalidateAll()
}

// close waits for the questions that are still open.
func (c *cache) close() { c.wait.Wait() }
