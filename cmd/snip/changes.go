package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip/queue"
	"snip/queue/outbox"
	"snip/store"
	"snip/web"
)

// startChanges sends changes of links to their topic, those of processes that died
// included, and has the site hear of everybody's. What it returns stops both.
func startChanges(ctx context.Context, s *stores, site *web.Server,
	registry prometheus.Registerer, log *slog.Logger, fail context.CancelCauseFunc,
) (stop func() error, err error) {
	forwarder, err := outbox.NewForwarder(outbox.ForwarderConfig{
		Outbox: s.links.Outbox(), Store: s.links, Engine: s.log, Topic: store.LinksTopic(), Logger: log,
	})
	if err != nil {
		return nil, err
	}
	subscriber, err := queue.NewSubscriber(queue.SubscriberConfig{
		Topic: store.LinksTopic(), Engine: s.log, Handle: site.LinkChanged, Lost: site.ForgetLinks, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(newOutboxCollector(s.links))
	forwarded := start(ctx, fail, forwarder.Run)
	heard := start(ctx, fail, subscriber.Run)
	return func() error { return errors.Join(forwarded(), heard()) }, nil
}

// outboxCollector measures all figures at once. What cannot be measured is left out, so
// that an alarm on its absence fires.
type outboxCollector struct {
	links             *store.Store
	rows, max, oldest *prometheus.Desc
}

func newOutboxCollector(links *store.Store) *outboxCollector {
	return &outboxCollector{
		links:  links,
		rows:   prometheus.NewDesc("snip_outbox_rows", "Changes of links that are not in their topic yet.", nil, nil),
		max:    prometheus.NewDesc("snip_outbox_max_rows", "Bound of the outbox: at it changes are refused.", nil, nil),
		oldest: prometheus.NewDesc("snip_outbox_oldest_seconds", "Age of the oldest change that is not in its topic yet.", nil, nil),
	}
}

func (c *outboxCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.rows
	ch <- c.max
	ch <- c.oldest
}

func (c *outboxCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	stats, err := c.links.Outbox().Stats(ctx, c.links.Read())
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.rows, prometheus.GaugeValue, float64(stats.Rows))
	ch <- prometheus.MustNewConstMetric(c.max, prometheus.GaugeValue, float64(stats.MaxRows))
	ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age(stats.Oldest))
}
