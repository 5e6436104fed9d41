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

// place is where a link is found.
type place struct{ domain, code string }

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
	routes  Routes
	log     *slog.Logger
	now     func() time.Duration // Since the cache was made: a wall clock that is set moves nothing.
	start   time.Time
	found   *otter.Cache[place, *entry]
	unknown *otter.Cache[place, time.Duration] // Until when.

	mu      sync.Mutex // Protects flights, and what a flight puts into found and unknown.
	flights map[place]*flight
	loads   chan struct{} // Holds one for each question that the store was asked and has not answered.
	wait    sync.WaitGroup

	quiet quiet
}

// flight is one question to the store, for all who ask for that code meanwhile.
type flight struct {
	done    chan struct{} // Closed when entry and err are set.
	entry   *entry        // Nil: unknown.
	err     error
	changed bool // The link was changed since: the answer may be an old one.
	doubted bool // Then that was somewhere else, and an old answer is better than none.
}

// quiet keeps an outage, which every visit would repeat, to a line in the log now and
// then.
type quiet struct{ until atomic.Int64 }

// ends reports whether it is time for a line.
func (q *quiet) ends(now time.Duration) bool {
	until := q.until.Load()
	return int64(now) >= until && q.until.CompareAndSwap(until, int64(now+logAgain))
}

func newCache(cfg Config) (*cache, error) {
	found, err := otter.New(&otter.Options[place, *entry]{
		MaximumWeight: uint64(cfg.CacheBytes),
		Weigher:       weight,
	})
	if err != nil {
		return nil, fmt.Errorf("web: cache of links: %w", err)
	}
	unknown, err := otter.New(&otter.Options[place, time.Duration]{MaximumSize: cfg.CacheUnknown})
	if err != nil {
		return nil, fmt.Errorf("web: cache of unknown codes: %w", err)
	}
	start := cfg.Now()
	return &cache{
		routes: cfg.Routes, log: cfg.Logger, found: found, unknown: unknown, start: start,
		now:     func() time.Duration { return cfg.Now().Sub(start) },
		flights: map[place]*flight{}, loads: make(chan struct{}, maxLoads),
	}, nil
}

// get returns the entry of a code, nil if no link has it, or an error if that could
// not be found out in time; and whether it took a while.
func (c *cache) get(at place, when time.Time) (e *entry, waited bool, err error) {
	now := when.Sub(c.start)
	e, ok := c.found.GetIfPresent(at)
	if ok && int64(now) < e.until.Load() {
		return e, false, nil
	}
	if !ok {
		if until, ok := c.unknown.GetIfPresent(at); ok && now < until {
			return nil, false, nil
		}
		e, err = c.await(at, newWait)
		return e, true, err
	}
	fresh, err := c.await(at, staleWait)
	if err != nil {
		e.until.Store(int64(c.now() + againAfter))
		return e, true, nil
	}
	return fresh, true, nil
}

// await asks the store, or waits with those who asked already.
func (c *cache) await(at place, limit time.Duration) (*entry, error) {
	c.mu.Lock()
	f := c.flights[at]
	if f == nil {
		// A code is part of a request's text and would keep all of it in memory.
		at.code = strings.Clone(at.code)
		f = &flight{done: make(chan struct{})}
		c.flights[at] = f
		// The visitor who asked may be gone before the answer is there; others wait
		// for it too.
		c.wait.Go(func() { c.load(at, f) })
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

func (c *cache) load(at place, f *flight) {
	f.entry, f.err = c.ask(at)
	if f.err != nil && c.quiet.ends(c.now()) {
		c.log.Warn("links cannot be looked up; those already seen go on", "error", f.err)
	}
	c.mu.Lock()
	switch {
	case !f.changed:
		delete(c.flights, at)
		c.keep(at, f)
	case f.doubted && f.entry != nil:
		// It is asked for again at the next visit.
		c.found.SetIfAbsent(at, f.entry)
	}
	c.mu.Unlock()
	close(f.done)
}

func (c *cache) ask(at place) (*entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadLimit)
	defer cancel()
	select {
	case c.loads <- struct{}{}:
		defer func() { <-c.loads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	route, err := c.routes.Route(ctx, at.domain, at.code)
	if snip.CodeOf(err) == snip.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &entry{link: route, location: []string{route.Location}}, nil
}

// keep puts an answer into the cache. An outage is none.
func (c *cache) keep(at place, f *flight) {
	switch {
	case f.err != nil:
	case f.entry == nil:
		c.found.Invalidate(at)
		c.unknown.Set(at, c.now()+unknownFor)
	default:
		f.entry.until.Store(int64(c.now() + foundFor))
		c.unknown.Invalidate(at)
		c.found.Set(at, f.entry)
	}
}

// invalidate forgets a code whose link was made, changed or deleted. An answer that
// is on its way may be older than the change: it is given to those who wait for
// it, and not kept.
func (c *cache) invalidate(at place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[at]; f != nil {
		f.changed = true
		delete(c.flights, at)
	}
	c.found.Invalidate(at)
	c.unknown.Invalidate(at)
}

// doubt has a code asked for again, whose link was changed somewhere. What was found is
// kept for as long as no answer comes.
func (c *cache) doubt(at place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[at]; f != nil {
		f.changed, f.doubted = true, true
		delete(c.flights, at)
	}
	if e, ok := c.found.GetIfPresent(at); ok {
		e.until.Store(0)
	}
	c.unknown.Invalidate(at)
}

// doubtAll has every code asked for again. What was found is kept for as long as no
// answer comes.
func (c *cache) doubtAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, f := range c.flights {
		f.changed, f.doubted = true, true
		delete(c.flights, at)
	}
	for e := range c.found.Values() {
		e.until.Store(0)
	}
	c.unknown.InvalidateAll()
}

// close waits for the questions that are still open.
func (c *cache) close() { c.wait.Wait() }

// weight is about how many bytes of memory an entry takes.
func weight(at place, e *entry) uint32 {
	const (
		plain   = 240 // Entry, slice and the cache's own.
		special = 120
		rule    = 300
		value   = 24
	)
	n := len(at.domain) + len(at.code) + len(e.link.Location) + len(e.link.Alias) + plain
	s := e.link.Special
	if s == nil {
		return uint32(n)
	}
	n += len(s.PasswordHash) + len(s.Fallback) + special
	for _, r := range s.Rules {
		n += rule
		for _, a := range r.Arms {
			n += len(a.Name) + len(a.Location) + 2*value
		}
		for _, list := range [...][]string{r.When.Devices, r.When.Systems, r.When.Languages, r.When.Countries} {
			n += weightOf(list, value)
		}
		for name, values := range r.When.Query {
			n += len(name) + weightOf(values, value) + 2*value
		}
	}
	return uint32(n)
}

func weightOf(list []string, each int) (n int) {
	for _, s := range list {
		n += len(s) + each
	}
	return n
}
