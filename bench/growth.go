package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"snip"
	"snip/store"
)

// growth measures the same things with few links and clicks, and with many.
func growth(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		title: "Growth",
		notes: growthNotes,
		head: []string{"links, and as many clicks", "on", "redirects/s", "`POST /shorten`/s", "clicks counted/s",
			"a link's 90 days, ms", "everything's 90 days, ms", "popular links of 90 days, ms"},
	}
	for _, n := range b.sizes {
		for _, onServer := range []bool{false, true} {
			g := &grown{bench: b, n: n, onServer: onServer}
			err := g.measure(ctx)
			// What was made is removed before more is made: it can be some gigabytes.
			if err := errors.Join(err, b.cleanUp()); err != nil {
				return t, fmt.Errorf("%d links: %w", n, err)
			}
			t.cells = append(t.cells, g.cells())
			fmt.Println(strings.Join(g.cells(), "  ")) // The whole takes long.
		}
	}
	return t, nil
}

// grown is a store of some size, and what was measured on it.
type grown struct {
	*bench
	n        int
	onServer bool

	redirects, shortened, counted float64   // Each second.
	questions                     []float64 // Milliseconds.
}

func (g *grown) cells() []string {
	on := "SQLite"
	if g.onServer {
		on = "PostgreSQL"
	}
	cells := []string{thousands(fmt.Sprint(g.n)), on, figure(g.redirects), figure(g.shortened), figure(g.counted)}
	for _, ms := range g.questions {
		cells = append(cells, figure(ms))
	}
	return cells
}

func (g *grown) measure(ctx context.Context) error {
	at, err := g.newPlace(ctx, g.onServer)
	if err != nil {
		return err
	}
	began := time.Now()
	s, err := makeLinks(ctx, at, g.n)
	if err != nil {
		return err
	}
	if err := g.measureStore(ctx, s, at, began); err != nil {
		return errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil {
		return err
	}
	return g.measureProgram(ctx, at)
}

// measureStore fills the store, asks it, and goes on to count.
func (g *grown) measureStore(ctx context.Context, s *store.Store, at place, began time.Time) error {
	t := byPopularity(g.n, g.n)
	for batch := range t.batches(fillBatch) {
		if err := countBatch(ctx, s, batch); err != nil {
			return err
		}
	}
	if g.onServer {
		if err := vacuum(ctx, at.url); err != nil {
			return err
		}
	}
	fmt.Printf("%d links and clicks made in %s\n", g.n, time.Since(began).Round(time.Second))
	for _, ask := range g.questionsTo(s, t) {
		var took []float64
		for range g.rounds {
			began := time.Now()
			if err := ask(ctx); err != nil {
				return err
			}
			took = append(took, time.Since(began).Seconds()*1e3)
		}
		g.questions = append(g.questions, median(took))
	}
	var err error
	g.counted, err = countOn(ctx, s, t, g.length)
	return err
}

func (g *grown) questionsTo(s *store.Store, t *traffic) []func(context.Context) error {
	days := snip.Range{From: snip.DateOf(trafficStart()), To: snip.DateOf(trafficEnd().Add(-time.Second)), Zone: time.UTC}
	stats := func(codes ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Stats(ctx, snip.StatsQuery{Codes: codes, Range: days, Step: snip.StepDay, Top: 10})
			return err
		}
	}
	return []func(context.Context) error{
		stats(fmt.Sprint("c", t.hottest-1)),
		stats(),
		func(ctx context.Context) error { _, err := s.Popular(ctx, days, 10); return err },
	}
}

// measureProgram starts a web on the store. Without a worker: it would count meanwhile,
// or have a backlog to count, and both depend on how fast the redirects were.
func (g *grown) measureProgram(ctx context.Context, at place) error {
	s, err := g.startSnip(ctx, at, "web")
	if err != nil {
		return err
	}
	if g.n <= cachedLinks {
		if err := (load{address: s.address, path: nextPath("/c")}).times(ctx, g.n); err != nil {
			return err
		}
	}
	random := load{address: s.address, path: randomPath(g.n)}
	if _, err := random.perSecond(ctx, g.length); err != nil { // So that caches are as they stay.
		return err
	}
	var rates []float64
	for range g.rounds {
		one, err := random.perSecond(ctx, g.length)
		if err := errors.Join(err, quiet(s.processes...)); err != nil {
			return err
		}
		rates = append(rates, one)
	}
	g.redirects = median(rates)
	g.shortened, err = s.shortenMany(ctx, g.length)
	return err
}

// cachedLinks are fewer than the cache of a web holds, of links as these are.
const cachedLinks = 80_000

const growthNotes = `Clicks are spread over 90 days, and over links that are popular by Zipf's law (1.1). Redirects are of links drawn evenly, after a while of the same, by a web whose worker rests. Clicks are counted as they come after all that, 1,000 in a transaction, without the topic before it. Questions go to the store itself; the link is the most popular one.

What grows faster than a logarithm, and why:

- **Redirects** fall once, where the links no longer fit into the memory of a web (32 MiB, about 100,000 of these). From there on most are looked up in the database by an index.
- **A link's days, and everything's,** grow with the rows that have to be read, until each of the 8,640 quarters of an hour has one. More clicks change no more than how much a row holds, which is bounded.
- **Popular links** are the sum of a row for each link and quarter of an hour in which it was followed, so they grow with the clicks of these days.
- **Counting** slows down where fewer of a thousand clicks are of the same link: each other link is rows of its own to be read and written.`
