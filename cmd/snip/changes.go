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

// startChanges sends what is told of changes to its topics, that of processes that died
// included, and has the site hear of everybody's. What it returns stops all of it.
func startChanges(ctx context.Context, s *stores, site *web.Server,
	registry prometheus.Registerer, log *slog.Logger, fail context.CancelCauseFunc,
) (stop func() error, err error) {
	var forwarders []*outbox.Forwarder
	for _, t := range toldTopics(s.links) {
		f, err := outbox.NewForwarder(outbox.ForwarderConfig{
			Outbox: t.outbox, Store: s.links, Engine: s.log, Topic: t.topic, Gather: t.gather, Logger: log,
		})
		if err != nil {
			return nil, err
		}
		forwarders = append(forwarders, f)
	}
	subscriber, err := queue.NewSubscriber(queue.SubscriberConfig{
		Topic: store.LinksTopic(), Engine: s.log, Handle: site.LinkChanged, Lost: site.ForgetLinks, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	registry.MustRegister(newOutboxCollector(s.links))
	var stops []func() error
	for _, f := range forwarders {
		stops = append(stops, start(ctx, fail, f.Run))
	}
	stops = append(stops, start(ctx, fail, subscriber.Run))
	return func() error {
		var err error
		for _, stop := range stops {
			err = errors.Join(err, stop())
		}
		return err
	}, nil
}

// told is a topic that is told of changes, and what is on its way there.
type told struct {
	topic  queue.TopicConfig
	outbox *outbox.Outbox
	gather time.Duration // Before the next send. Default: the outbox's.
}

func toldTopics(links *store.Store) []told {
	return []told{
		{topic: store.LinksTopic(), outbox: links.Outbox()},
		{topic: store.AuditTopic(), outbox: links.AuditOutbox(), gather: 250 * time.Millisecond}, // Nobody waits for it.
	}
}

// outboxCollector measures all figures at once. What cannot be measured is left out, so
// that an alarm on its absence fires.
type outboxCollector struct {
	links             *store.Store
	rows, max, oldest *prometheus.Desc
}

func newOutboxCollector(links *store.Store) *outboxCollector {
	topic := []string{"topic"}
	return &outboxCollector{
		links:  links,
		rows:   prometheus.NewDesc("snip_outbox_rows", "What is told of changes and is not in its topic yet.", topic, nil),
		max:    prometheus.NewDesc("snip_outbox_max_rows", "Bound of the outbox, of all topics together: at it changes are refused.", nil, nil),
		oldest: prometheus.NewDesc("snip_outbox_oldest_seconds", "Age of the oldest change that is not in its topic yet.", topic, nil),
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
	for i, t := range toldTopics(c.links) {
		stats, err := t.outbox.Stats(ctx, c.links.Read())
		if err != nil {
			return
		}
		if i == 0 {
			ch <- prometheus.MustNewConstMetric(c.max, prometheus.GaugeValue, float64(stats.MaxRows))
		}
		ch <- prometheus.MustNewConstMetric(c.rows, prometheus.GaugeValue, float64(stats.Rows), t.topic.Name)
		ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age(stats.Oldest), t.topic.Name)
	}
}
