package web

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snip"
)

// domainsEvery is how often all domains are asked for, without a change that is known.
const domainsEvery = time.Minute

// domain is a domain as the redirect path keeps it. Nil stands for one that cannot be
// told: the store has not said yet which there are.
type domain struct {
	snip.Domain
	root, notFound []string // For the header Location; nil for none.
}

// custom reports whether it is another domain than the instance's own.
func (d *domain) custom() bool { return d != nil && d.Host != "" }

// fold returns the code under which the cache keeps a link.
func (d *domain) fold(code string) string {
	if !d.IgnoreCase {
		return code
	}
	return strings.ToLower(code)
}

// hosts are all domains as they were at one moment. They are not changed, but for when
// they are asked for again.
type hosts struct {
	own    *domain
	custom map[string]*domain
	until  atomic.Int64 // As in entry.
}

// never is when domains are asked for again of which no change is known: it is Run that
// does then, so that no visitor waits.
const never = math.MaxInt64

// domains knows which domain a request came to. What it knows it goes by for as long as
// the store is away.
type domains struct {
	list    func(ctx context.Context) ([]snip.Domain, error)
	log     *slog.Logger
	changed func() // Called when other links may be at a host than before.
	now     func() time.Duration
	start   time.Time
	some    chan struct{} // Holds one when Run is to ask at once.

	current atomic.Pointer[hosts] // Nil: not known yet.

	mu     sync.Mutex // Protects flight and quiet, and is held to set current.
	flight *asking
	quiet  quiet
	wait   sync.WaitGroup
}

// asking is one question to the store, for all who wait for it.
type asking struct{ done chan struct{} } // Closed when an answer has come, or none.

func newDomains(cfg Config, changed func()) *domains {
	list := cfg.Domains
	if list == nil {
		list = func(context.Context) ([]snip.Domain, error) { return nil, nil }
	}
	start := cfg.Now()
	return &domains{
		list: list, log: cfg.Logger, changed: changed, start: start, some: make(chan struct{}, 1),
		now: func() time.Duration { return cfg.Now().Sub(start) },
	}
}

// of returns the domain that a request came to by its header Host. A host that is none
// of the custom domains is the instance's own: it can have many names.
func (d *domains) of(host string, now time.Time) *domain {
	h := d.current.Load()
	if h == nil || int64(now.Sub(d.start)) >= h.until.Load() {
		if h = d.ask(h); h == nil {
			return nil
		}
	}
	if len(h.custom) == 0 {
		return h.own
	}
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	if found := h.custom[strings.ToLower(strings.TrimSuffix(host, "."))]; found != nil {
		return found
	}
	return h.own
}

// ask returns what the store says, or if it does not in time what was known before.
func (d *domains) ask(known *hosts) *hosts {
	limit := newWait
	if known != nil {
		limit = staleWait
	}
	f := d.begin()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-f.done:
	case <-t.C:
	}
	h := d.current.Load()
	if h != nil && h == known {
		h.until.Store(int64(d.now() + againAfter))
	}
	return h
}

// begin asks the store, unless somebody does.
func (d *domains) begin() *asking {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flight == nil {
		f := &asking{done: make(chan struct{})}
		d.flight = f
		d.wait.Go(func() { d.load(f) })
	}
	return d.flight
}

func (d *domains) load(f *asking) {
	defer close(f.done)
	ctx, cancel := context.WithTimeout(context.Background(), loadLimit)
	defer cancel()
	list, err := d.list(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	before, late := d.current.Load(), d.flight != f // Late: something was changed since.
	if !late {
		d.flight = nil
	}
	if err != nil {
		if d.quiet.ends(d.now()) {
			d.log.Warn("domains cannot be read; those already known go on", "error", err)
		}
		return
	}
	if late && before != nil {
		return
	}
	h := d.hosts(list)
	if !late {
		h.until.Store(never)
	}
	d.current.Store(h)
	if before != nil && !h.same(before) {
		d.changed()
	}
}

func (d *domains) hosts(list []snip.Domain) *hosts {
	h := &hosts{own: &domain{}, custom: map[string]*domain{}}
	for _, l := range list {
		one := &domain{Domain: l, root: d.location(l.Root), notFound: d.location(l.NotFound)}
		if l.Host == "" {
			h.own = one
		} else {
			h.custom[l.Host] = one
		}
	}
	return h
}

// location returns a target for the header, or nil if there is none.
func (d *domains) location(target string) []string {
	if target == "" {
		return nil
	}
	l, err := snip.Location(target)
	if err != nil {
		d.log.Error("the target of a domain cannot be used", "target", target, "error", err)
		return nil
	}
	return []string{l}
}

// same reports whether nothing was made, changed or deleted.
func (h *hosts) same(as *hosts) bool {
	return maps.EqualFunc(h.custom, as.custom, (*domain).same) && h.own.same(as.own)
}

func (d *domain) same(as *domain) bool { return d.ID == as.ID && d.Version == as.Version }

// doubt has the store asked again at the next visit. An answer that is on its way may
// be too old.
func (d *domains) doubt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flight = nil
	if h := d.current.Load(); h != nil {
		h.until.Store(0)
	}
	select {
	case d.some <- struct{}{}:
	default:
	}
}

// run asks the store from time to time, and when there is a doubt, so that hardly a
// visitor has to wait for it.
func (d *domains) run(ctx context.Context) {
	tick := time.NewTicker(domainsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.some:
		}
		<-d.begin().done
	}
}

// close waits for the questions that are still open.
func (d *domains) close() { d.wait.Wait() }
