package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip"
)

// UnknownCodes keeps which codes without a link were asked for.
type UnknownCodes interface {
	// AddUnknownCodes keeps all of the hits, or none and returns an error: then it
	// gets them again later, with those that came meanwhile.
	AddUnknownCodes(ctx context.Context, hits []snip.UnknownHits) error
}

const (
	writeEvery = 10 * time.Second // While there is something to write.
	writeLimit = 4 * time.Second  // For one write. A stop waits for two at most.

	maxApart    = 1000 // Codes of one slot each, between two writes. All others are counted together.
	maxTogether = 1000 // Slots with such others: more than 10 days without a store.
)

// unknown adds up in memory which codes without a link are asked for, and writes it
// from time to time. Whatever becomes of that, no answer waits for it.
type unknown struct {
	to   UnknownCodes
	log  *slog.Logger
	some chan struct{} // Holds one once there is something to write.

	mu      sync.Mutex // Protects the fields below.
	hits    map[unknownKey]*int64
	apart   int   // How many of them have a code.
	waiting int64 // The sum of hits, and of what is being written.
	dropped int64
}

type unknownKey struct {
	slot int64  // When it began, in seconds since 1970.
	code string // Empty: all that are not kept apart.
}

// newUnknown returns nil where nobody wants the report.
func newUnknown(cfg Config) *unknown {
	if cfg.Unknown == nil {
		return nil
	}
	u := &unknown{to: cfg.Unknown, log: cfg.Logger, some: make(chan struct{}, 1), hits: map[unknownKey]*int64{}}
	if cfg.Metrics != nil {
		read := func(field *int64) func() float64 {
			return func() float64 {
				u.mu.Lock()
				defer u.mu.Unlock()
				return float64(*field)
			}
		}
		cfg.Metrics.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "snip_unknown_hits_waiting", Help: "Visits to unknown codes that are not written to their report yet.",
			}, read(&u.waiting)),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "snip_unknown_hits_dropped_total",
				Help: "Visits to unknown codes that are missing in their report, because it could not be written for too long.",
			}, read(&u.dropped)))
	}
	return u
}

// see takes up a visit if it is one to an unknown code. With more behind it, it is as
// likely no code at all.
func (u *unknown) see(code string, v snip.Visit, d snip.Decision, now time.Time) {
	if u == nil || d.Outcome != snip.OutcomeNotFound || v.Method != http.MethodGet || v.Preview || len(v.Rest) > 1 {
		return
	}
	slot := now.Truncate(snip.Slot).Unix()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(unknownKey{slot, code}, 1)
}

// add keeps hits of a code apart, or where there is no room with all others of its
// slot, or gives them up. mu is held.
func (u *unknown) add(k unknownKey, n int64) {
	sum := u.hits[k]
	if sum == nil && k.code != "" && u.apart == maxApart {
		k.code = ""
		sum = u.hits[k]
	}
	if sum == nil {
		if k.code != "" {
			u.apart++
			k.code = strings.Clone(k.code) // It is cut out of the request's text, which would stay in memory with it.
		} else if len(u.hits)-u.apart == maxTogether {
			u.dropped += n
			return
		}
		// A pointer, because storing a number anew would replace the key, too: by the
		// one that is cut out of a request.
		sum = new(int64)
		u.hits[k] = sum
		if len(u.hits) == 1 {
			u.wake()
		}
	}
	*sum += n
	u.waiting += n
}

func (u *unknown) wake() {
	select {
	case u.some <- struct{}{}:
	default:
	}
}

// Run does what the server does beside answering, until ctx ends: it keeps up with the
// domains there are, and writes the report of unknown codes, at last what is left of it.
// For that to be all, requests must have ended before. It returns nil, and is called once.
func (s *Server) Run(ctx context.Context) error {
	var domains sync.WaitGroup
	domains.Go(func() { s.domains.run(ctx) })
	defer domains.Wait()
	if s.unknown == nil {
		<-ctx.Done()
		return nil
	}
	s.unknown.run(ctx)
	return nil
}

func (u *unknown) run(ctx context.Context) {
	kept := true // Of a store that is away one line in the log is enough.
	for u.await(ctx) {
		err := u.write(ctx)
		if err != nil && kept {
			u.log.Warn("unknown codes cannot be written; they wait", "error", err)
		}
		kept = err == nil
	}
	if err := u.write(ctx); err != nil {
		u.log.Warn("the last unknown codes are lost", "hits", u.giveUp(), "error", err)
	}
}

// await waits for something to write, and then a while for more. It tells whether
// ctx still goes on.
func (u *unknown) await(ctx context.Context) bool {
	select {
	case <-u.some:
	case <-ctx.Done():
		return false
	}
	timer := time.NewTimer(writeEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// write writes what there is. The end of ctx does not cut it off: nobody would know
// whether it was kept.
func (u *unknown) write(ctx context.Context) error {
	u.mu.Lock()
	taken, apart := u.hits, u.apart
	u.hits, u.apart = map[unknownKey]*int64{}, 0
	u.mu.Unlock()
	if len(taken) == 0 {
		return nil
	}
	hits := make([]snip.UnknownHits, 0, len(taken))
	var sum int64
	for k, n := range taken {
		hits = append(hits, snip.UnknownHits{Slot: time.Unix(k.slot, 0).UTC(), Code: k.code, Hits: *n})
		sum += *n
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer cancel()
	err := u.to.AddUnknownCodes(limit, hits)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err == nil {
		u.waiting -= sum
		return nil
	}
	// What came meanwhile finds what room there is left.
	newer := u.hits
	u.hits, u.apart = taken, apart
	for k, n := range newer {
		u.waiting -= *n
		u.add(k, *n)
	}
	u.wake()
	return err
}

// giveUp drops what waits, and returns how many hits that were.
func (u *unknown) giveUp() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.waiting
	u.hits, u.apart, u.waiting = map[unknownKey]*int64{}, 0, 0
	u.dropped += n
	return n
}
