package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
	"snip/store"
	"snip/worker"
)

const (
	countLinks      = 10_000
	countsPerSecond = 100_000 // In the topic before a measurement begins, for each second of it.
	batchSize       = 1000
)

// popularity tells which of the links are followed.
type popularity struct {
	name string
	next func(random *rand.Rand) func() int
}

// byZipf is what is usual. The other two are as unlike it as can be.
func byZipf() popularity {
	return popularity{"Zipf 1.1 over 10,000 links", func(random *rand.Rand) func() int {
		zipf := rand.NewZipf(random, 1.1, 1, countLinks-1)
		return func() int { return int(zipf.Uint64()) }
	}}
}

func oneHotLink() popularity {
	return popularity{"one hot link", func(*rand.Rand) func() int { return func() int { return 0 } }}
}

func evenly() popularity {
	return popularity{"10,000 links evenly", func(random *rand.Rand) func() int {
		return func() int { return random.IntN(countLinks) }
	}}
}

// count measures how fast one worker counts a backlog of clicks, exactly once, beside
// an UPDATE per click that is committed alone, in the same kind of database, synced
// the same.
func count(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, onServer := range []bool{false, true} {
		where, limit := "SQLite", 8.0
		if onServer {
			where, limit = "PostgreSQL", 12
		}
		for _, p := range []popularity{byZipf(), oneHotLink(), evenly()} {
			snip := &contestant{name: "clicks counted on " + where + ", 1 worker, " + p.name, measure: b.countBacklog(onServer, 1, p)}
			update := &contestant{name: "one committed UPDATE per click", measure: b.updatePerClick(onServer, 1, p)}
			all := []*contestant{snip, update}
			var more, parallel *contestant
			if onServer && p.name == byZipf().name {
				more = &contestant{name: "2 workers", measure: b.countBacklog(onServer, 2, p)}
				parallel = &contestant{name: "UPDATE per click on 16 connections", measure: b.updatePerClick(onServer, 16, p)}
				all = append(all, more, parallel)
			}
			if err := inTurns(ctx, b.rounds, b.length, all...); err != nil {
				return rows, err
			}
			var asked bar
			if p.name == byZipf().name {
				asked = ratioAtLeast(limit)
			}
			rows = append(rows, snip.beside(update, "/s", asked))
			if more != nil {
				rows = append(rows, more.beside(parallel, "/s", bar{}))
			}
		}
	}
	return rows, nil
}

// countBacklog takes as long as the backlog does.
func (b *bench) countBacklog(onServer bool, workers int, p popularity) func(context.Context, time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (perSecond float64, err error) {
		at, err := b.newPlace(ctx, onServer)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, b.cleanUp()) }()
		links, err := makeLinks(ctx, at, countLinks)
		if err != nil {
			return 0, err
		}
		defer links.Close()
		log, err := openLog(ctx, at)
		if err != nil {
			return 0, err
		}
		defer log.Close()
		topic := worker.ClicksTopic(0)
		clicks := int(length.Seconds()*countsPerSecond) / batchSize * batchSize
		if err := fill(ctx, log, topic, clicks, p); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := countAll(ctx, links, log, topic, workers, clicks); err != nil {
			return 0, err
		}
		took := time.Since(began)
		var sum int
		if err := links.Read().QueryRow("SELECT SUM(clicks) FROM links").Scan(&sum); err != nil {
			return 0, err
		}
		if sum != clicks {
			return 0, fmt.Errorf("counted %d clicks of %d", sum, clicks)
		}
		return float64(clicks) / took.Seconds(), nil
	}
}

// engine keeps topics and groups.
type engine interface {
	queue.LogEngine
	queue.GroupStore
	Close() error
}

func openLog(ctx context.Context, at place) (engine, error) {
	if at.url != "" {
		return postgres.Open(ctx, postgres.Config{URL: at.url})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(at.dir, "log.db")})
}

// countAll returns once some workers have counted so many clicks.
func countAll(ctx context.Context, links *store.Store, log engine, topic queue.TopicConfig, workers, clicks int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all []*worker.Count
	ended := make(chan error, workers)
	for range workers {
		c, err := worker.NewCount(worker.CountConfig{Store: links, Engine: log, Roster: log, Topic: topic})
		if err != nil {
			return err
		}
		all = append(all, c)
		go func() { ended <- c.Run(ctx) }()
	}
	for counted := 0; counted < clicks && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		counted = 0
		for _, c := range all {
			counted += int(c.Counted())
		}
	}
	stop()
	var err error
	for range all {
		err = errors.Join(err, <-ended)
	}
	return err
}

// fill puts clicks into a topic, as a shipper does.
func fill(ctx context.Context, log queue.LogEngine, topic queue.TopicConfig, n int, p popularity) error {
	if _, err := log.Declare(ctx, topic); err != nil {
		return err
	}
	clicks, err := event.NewClicks()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	link := p.next(random)
	segments := make([]queue.SegmentID, topic.Partitions)
	next := make([]uint64, topic.Partitions)
	for i := range segments {
		segments[i] = queue.NewSegmentID()
	}
	now := time.Now()
	for done := 0; done < n; done += batchSize {
		p := done / batchSize % topic.Partitions
		b := queue.Batch{Segment: segments[p], First: next[p]}
		for range batchSize {
			body, err := clicks.Append(nil, click(random, int64(link()+1), now))
			if err != nil {
				return err
			}
			b.Messages = append(b.Messages, queue.Message{Type: event.ClickType, Time: now, Body: body})
		}
		next[p] += batchSize
		if err := log.Append(ctx, topic.Name, p, b); err != nil {
			return err
		}
	}
	return nil
}

// click has ten values in each of five dimensions, as the bar asks for, and a visitor
// of many. Class and medium go along with them, and the rest is unknown.
func click(random *rand.Rand, link int64, at time.Time) snip.Click {
	value := func(name string) string { return fmt.Sprint(name, random.IntN(10)) }
	return snip.Click{
		Link: link, At: at, Visitor: random.Uint64N(100_000) * 0x9e3779b97f4a7c15,
		Referrer: value("site-") + ".example", Browser: value("Browser "), OS: value("System "),
		Country: value("C"), Campaign: value("campaign "),
		Medium: "other", Device: "phone", Language: "en", Region: "unknown",
	}
}
