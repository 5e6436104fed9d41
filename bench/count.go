package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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
	countLinks  = 10_000
	countClicks = 400_000 // In the topic before a measurement begins.
	batchSize   = 1000
)

// count measures how fast one worker counts a backlog of clicks, exactly once, over
// links that are popular by Zipf's law (1.1), against an UPDATE per click that is
// committed alone, on the same kind of file, synced the same.
func count(ctx context.Context, rounds int, length time.Duration, server string) error {
	if server != "" {
		return compare(ctx, rounds, length,
			&contestant{name: "snip: topic, inbox, links, rollups; 1 worker", measure: countBacklog(server, 1)},
			&contestant{name: "2 workers", measure: countBacklog(server, 2)},
			&contestant{name: "4 workers", measure: countBacklog(server, 4)},
			&contestant{name: "UPDATE per click on 16 connections", measure: updatePerClickOnServer(server, 16)},
			&contestant{name: "one committed UPDATE per click", measure: updatePerClickOnServer(server, 1)})
	}
	return compare(ctx, rounds, length,
		&contestant{name: "snip: topic, inbox, links, rollups", measure: countBacklog("", 1)},
		&contestant{name: "one committed UPDATE per click", measure: updatePerClick})
}

// countBacklog takes as long as the backlog does.
func countBacklog(server string, workers int) func(ctx context.Context, _ time.Duration) (float64, error) {
	return func(ctx context.Context, _ time.Duration) (perSecond float64, err error) {
		dir, err := os.MkdirTemp("", "snip-bench")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		at := ""
		if server != "" {
			var drop func() error
			if at, drop, err = newDatabase(ctx, server); err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, drop()) }()
		}
		links, ids, err := makeLinks(ctx, dir, at)
		if err != nil {
			return 0, err
		}
		defer links.Close()
		log, err := openLog(ctx, dir, at)
		if err != nil {
			return 0, err
		}
		defer log.Close()
		topic := worker.ClicksTopic(0)
		if err := fill(ctx, log, topic, ids); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := countAll(ctx, links, log, topic, workers); err != nil {
			return 0, err
		}
		took := time.Since(began)
		var sum int64
		if err := links.Read().QueryRow("SELECT SUM(clicks) FROM links").Scan(&sum); err != nil {
			return 0, err
		}
		if sum != countClicks {
			return 0, fmt.Errorf("counted %d clicks of %d", sum, countClicks)
		}
		return countClicks / took.Seconds(), nil
	}
}

// engine keeps topics and groups.
type engine interface {
	queue.LogEngine
	queue.GroupStore
	Close() error
}

func openLog(ctx context.Context, dir, at string) (engine, error) {
	if at != "" {
		return postgres.Open(ctx, postgres.Config{URL: at})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "log.db")})
}

// countAll returns once some workers have counted everything.
func countAll(ctx context.Context, links *store.Store, log engine, topic queue.TopicConfig, workers int) error {
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
	for counted := int64(0); counted < countClicks && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		counted = 0
		for _, c := range all {
			counted += c.Counted()
		}
	}
	stop()
	var err error
	for range all {
		err = errors.Join(err, <-ended)
	}
	return err
}

func openStore(ctx context.Context, dir, at string) (*store.Store, error) {
	if at != "" {
		return store.Open(ctx, store.Config{URL: at})
	}
	return store.Open(ctx, store.Config{Path: filepath.Join(dir, "snip.db")})
}

// makeLinks opens a store on a server, or else in a directory, and makes its links.
func makeLinks(ctx context.Context, dir, at string) (*store.Store, []int64, error) {
	s, err := openStore(ctx, dir, at)
	if err != nil {
		return nil, nil, err
	}
	ids := make([]int64, countLinks)
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for i := range ids {
			err := tx.QueryRowContext(ctx, `
				INSERT INTO links (domain, code, url, title, created_at, updated_at)
				VALUES ('', $1, 'https://example.com/', '', 0, 0) RETURNING id`, fmt.Sprintf("c%06d", i)).Scan(&ids[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
	return s, ids, err
}

func fill(ctx context.Context, log queue.LogEngine, topic queue.TopicConfig, ids []int64) error {
	if _, err := log.Declare(ctx, topic); err != nil {
		return err
	}
	clicks, err := event.NewClicks()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, uint64(len(ids)-1))
	segments := make([]queue.SegmentID, topic.Partitions)
	next := make([]uint64, topic.Partitions)
	for i := range segments {
		segments[i] = queue.NewSegmentID()
	}
	now := time.Now()
	for n := 0; n < countClicks; n += batchSize {
		p := n / batchSize % topic.Partitions
		b := queue.Batch{Segment: segments[p], First: next[p]}
		for range batchSize {
			body, err := clicks.Append(nil, click(random, ids[zipf.Uint64()], now))
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

// updatePerClick is what most shorteners do.
func updatePerClick(ctx context.Context, length time.Duration) (float64, error) {
	dir, err := os.MkdirTemp("", "snip-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	s, ids, err := makeLinks(ctx, dir, "")
	if err != nil {
		return 0, err
	}
	if err := s.Close(); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "snip.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return update(ctx, db, ids, length)
}

func update(ctx context.Context, db *sql.DB, ids []int64, length time.Duration) (float64, error) {
	update, err := db.PrepareContext(ctx, "UPDATE links SET clicks = clicks + 1 WHERE id = $1")
	if err != nil {
		return 0, err
	}
	defer update.Close()
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(len(ids)-1))
	n, began := 0, time.Now()
	for ; time.Since(began) < length; n++ {
		if _, err := update.ExecContext(ctx, ids[zipf.Uint64()]); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}
