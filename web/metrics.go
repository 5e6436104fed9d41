package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"snip"
)

type metrics struct {
	redirects map[snip.Outcome]prometheus.Counter // One for every outcome there is: read only.
	changes   prometheus.Histogram                // Of links, by their age in seconds.
	doubts    prometheus.Counter
}

// newMetrics labels with outcomes only: a code, a target or an address in a label
// would grow without end and tell what is nobody's business.
func newMetrics(r prometheus.Registerer, c *cache) *metrics {
	redirects := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snip_redirects_total", Help: "Visits to codes, by how they were answered.",
	}, []string{"outcome"})
	m := &metrics{
		redirects: map[snip.Outcome]prometheus.Counter{},
		changes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "snip_link_change_age_seconds",
			Help:    "Changes of links, made by any process, that this one's cache was told of, by how old they were.",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60},
		}),
		doubts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snip_cache_doubts_total",
			Help: "How often changes of links may have been missed, the start included: all are asked for again.",
		}),
	}
	for _, o := range []snip.Outcome{
		snip.OutcomeRedirect, snip.OutcomePreview, snip.OutcomeNotFound, snip.OutcomeGone,
		snip.OutcomePassword, snip.OutcomeOptions, snip.OutcomeMethod, snip.OutcomeUnavailable,
	} {
		m.redirects[o] = redirects.WithLabelValues(string(o))
	}
	if r == nil {
		return m
	}
	entries := func(name, help string, size func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(size()) })
	}
	r.MustRegister(redirects, m.changes, m.doubts,
		entries("snip_cache_links", "Links kept in memory.", c.found.EstimatedSize),
		entries("snip_cache_unknown", "Unknown codes kept in memory.", c.unknown.EstimatedSize))
	return m
}
