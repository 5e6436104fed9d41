package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/spool"
	"snip/visitor"
)

// ShipperConfig is what a shipper is made of. Visitors and Salts must be set.
type ShipperConfig struct {
	Visitors *visitor.Reader

	// Salts returns the salts by which visitors are told apart, by the UTC day they
	// are for (snip.Day): those of yesterday, today and tomorrow.
	Salts func(ctx context.Context) (map[int64][]byte, error)

	Metrics prometheus.Registerer // Default: none.
	Logger  *slog.Logger          // Default: none.
}

// Shipper turns notes from the spool into the events that go over topic "clicks".
// What tells who a visitor was goes no further. It is safe for concurrent use.
type Shipper struct {
	cfg        ShipperConfig
	log        *slog.Logger
	clicks     *event.Clicks
	salts      atomic.Pointer[map[int64][]byte]
	unreadable prometheus.Counter
}

// NewShipper checks the configuration. It does no I/O.
func NewShipper(cfg ShipperConfig) (*Shipper, error) {
	if cfg.Visitors == nil || cfg.Salts == nil {
		return nil, errors.New("web: shipper: Visitors and Salts must be set")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	clicks, err := event.NewClicks()
	if err != nil {
		return nil, err
	}
	s := &Shipper{
		cfg: cfg, log: cfg.Logger, clicks: clicks,
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snip_notes_unreadable_total", Help: "Notes of clicks that could not be read again: a fault in Snip.",
		}),
	}
	s.salts.Store(&map[int64][]byte{})
	if cfg.Metrics != nil {
		cfg.Metrics.MustRegister(s.unreadable)
	}
	return s, nil
}

// Refresh fetches the salts. Until it succeeded once no visitor is told apart.
func (s *Shipper) Refresh(ctx context.Context) error {
	salts, err := s.cfg.Salts(ctx)
	if err != nil {
		return fmt.Errorf("web: salts of visitors: %w", err)
	}
	s.salts.Store(&salts)
	return nil
}

const (
	saltsEvery = 10 * time.Minute // They are made a day ahead.
	saltsAgain = 10 * time.Second // After a failure.
	saltsLimit = 10 * time.Second
)

// Run keeps the salts and the country database up to date until ctx ends.
func (s *Shipper) Run(ctx context.Context) error {
	visitors := make(chan error, 1)
	go func() { visitors <- s.cfg.Visitors.Run(ctx) }()
	wait := saltsEvery
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return <-visitors
		case <-timer.C:
		}
		limit, cancel := context.WithTimeout(ctx, saltsLimit)
		err := s.Refresh(limit)
		cancel()
		wait = saltsEvery
		if err != nil && ctx.Err() == nil {
			s.log.Warn("salts cannot be refreshed", "error", err)
			wait = saltsAgain
		}
	}
}

// Message makes the event of a note. A note that cannot be read, which only a fault
// of ours can make, keeps its number as a lost message and is counted by its metric.
func (s *Shipper) Message(r spool.Record) queue.Message {
	note, err := DecodeNote(r.Payload)
	var body []byte
	if err == nil {
		const usual = 128 // Bytes of an event.
		body, err = s.clicks.Append(make([]byte, 0, usual), s.click(note, r.At))
	}
	if err != nil {
		s.unreadable.Inc()
		s.log.Error("a note cannot be read", "segment", r.Segment, "number", r.Number, "error", err)
		return queue.Message{Type: queue.TypeLost, Time: r.At}
	}
	return queue.Message{Type: event.ClickType, Time: r.At, Body: body}
}

func (s *Shipper) click(n Note, at time.Time) snip.Click {
	address, err := netip.ParseAddr(n.Address)
	if err != nil {
		address = netip.Addr{}
	}
	p := s.cfg.Visitors.Profile(visitor.Facts{
		Address: address, UserAgent: n.UserAgent, Referrer: n.Referrer,
		Language: n.Language, Query: n.Query, Purpose: n.Purpose,
	})
	c := snip.Click{
		Link: n.Link, At: at, Class: p.Class,
		Browser: p.Browser, OS: p.OS, Device: p.Device, Referrer: p.Referrer, Medium: p.Medium,
		Language: p.Language, Country: p.Country, Region: p.Region, Campaign: p.Campaign,
		Alias: n.Alias, Arm: n.Arm,
	}
	// A click of a day whose salt is erased is nobody's.
	if salt := (*s.salts.Load())[snip.Day(at)]; salt != nil && address.IsValid() {
		c.Visitor = visitor.Hash(salt, address, n.UserAgent)
	}
	return c
}
