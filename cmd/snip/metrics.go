package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip/queue/spool"
	"snip/worker"
)

func spoolMetrics(r prometheus.Registerer, s *spool.Spool) {
	gauge := func(name, help string, value func(spool.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(s.Stats()) })
	}
	r.MustRegister(
		gauge("snip_spool_bytes", "Disk space of the spool's segments.",
			func(s spool.Stats) float64 { return float64(s.Bytes) }),
		gauge("snip_spool_max_bytes", "Bound of the spool.",
			func(s spool.Stats) float64 { return float64(s.MaxBytes) }),
		gauge("snip_spool_oldest_seconds", "Age of the oldest click in the spool that is not in its topic yet.",
			func(s spool.Stats) float64 { return age(s.Oldest) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "snip_clicks_dropped_total",
			Help: "Clicks that could not be kept, ever, by all processes on this data directory.",
		}, func() float64 { return float64(s.Stats().Dropped) }),
	)
}

func countMetrics(r prometheus.Registerer, c *worker.Count) {
	r.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "snip_clicks_counted_total", Help: "Clicks that this process counted.",
		}, func() float64 { return float64(c.Counted()) }),
		&lagCollector{
			count: c,
			age: prometheus.NewDesc("snip_group_lag_seconds",
				"Age of the oldest message the group has not processed.", []string{"group"}, nil),
			messages: prometheus.NewDesc("snip_group_lag_messages",
				"Messages the group has not processed.", []string{"group"}, nil),
		},
	)
}

// lagCollector measures both figures at once. A lag that cannot be measured is
// left out, so that an alarm on its absence fires.
type lagCollector struct {
	count         *worker.Count
	age, messages *prometheus.Desc
}

func (c *lagCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.age; ch <- c.messages }

func (c *lagCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lag, err := c.count.Lag(ctx)
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, age(lag.Oldest), worker.CountGroup)
	ch <- prometheus.MustNewConstMetric(c.messages, prometheus.GaugeValue, float64(lag.Messages), worker.CountGroup)
}

func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}

// progress tells up to when clicks are counted. It looks along a click's way, so
// that one which moves on meanwhile is met again further down.
type progress struct {
	spool *spool.Spool
	count *worker.Count
}

func (p progress) read(ctx context.Context) (countedUpTo time.Time, dropped int64, err error) {
	countedUpTo = time.Now()
	s := p.spool.Stats()
	lag, err := p.count.Lag(ctx)
	if err != nil {
		return time.Time{}, s.Dropped, err
	}
	for _, oldest := range []time.Time{s.Oldest, lag.Oldest} {
		if !oldest.IsZero() && oldest.Before(countedUpTo) {
			countedUpTo = oldest
		}
	}
	return countedUpTo, s.Dropped, nil
}
