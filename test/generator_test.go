package test

import (
	"archive/zip"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // A machine may lack the zones.

	domain "snip"
)

// generator makes clicks of the years 2025 and 2026 whose sums are hard to get right:
// around the days on which clocks change, in every zone there is, and on the edges of
// whatever clicks are summed by.
type generator struct {
	rnd     *rand.Rand
	zones   []clock
	texts   vocabulary
	links   []int64 // The first one is the hot one.
	popular *rand.Zipf
}

// clock is a zone and when its clocks change in these years.
type clock struct {
	*time.Location
	changes []time.Time
}

var (
	firstYear = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
	yearsEnd  = time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
)

func newGenerator(rnd *rand.Rand, zones []*time.Location, links []int64) *generator {
	g := &generator{
		rnd: rnd, texts: newVocabulary(rnd), links: links,
		popular: rand.NewZipf(rnd, 1.3, 1, uint64(len(links)-1)),
	}
	for _, zone := range zones {
		c := clock{Location: zone}
		_, change := firstYear.In(zone).ZoneBounds()
		for !change.IsZero() && change.Before(yearsEnd) {
			c.changes = append(c.changes, change)
			_, change = change.ZoneBounds()
		}
		g.zones = append(g.zones, c)
	}
	return g
}

// clicks makes clicks of all links, hot and rare.
func (g *generator) clicks(n int) []domain.Click {
	clicks := make([]domain.Click, n)
	for i := range clicks {
		clicks[i] = g.click(g.links[g.popular.Uint64()], g.moment(), g.rnd.IntN(40))
	}
	return clicks
}

// click makes one by a visitor, who is not told of every time.
func (g *generator) click(link int64, at time.Time, person int) domain.Click {
	c := domain.Click{Link: link, At: at.UTC().Truncate(time.Microsecond)}
	if g.rnd.IntN(10) > 0 {
		c.Visitor = hash(domain.Day(c.At), person)
	}
	g.texts.fill(g.rnd, &c)
	return c
}

// crowd makes a day of UTC on which many people follow two links: the first half of
// them one, the second half the other, and those in the middle both. Their hashes do
// not depend on the seed, so neither does how well they can be estimated.
func (g *generator) crowd(day time.Time, first, second int64, people int) []domain.Click {
	var clicks []domain.Click
	for i := range people {
		for _, link := range []int64{first, second} {
			if link == first && i >= people*2/3 || link == second && i < people/3 {
				continue
			}
			c := g.click(link, day.Add(time.Duration(g.rnd.Int64N(int64(24*time.Hour)))), i)
			c.Class, c.Visitor = domain.Human, hash(domain.Day(c.At), i)
			clicks = append(clicks, c)
		}
	}
	return clicks
}

// hash is what a visitor is told apart by on one day: 64 bits, evenly distributed.
func hash(day int64, person int) uint64 {
	x := uint64(day)<<32 + uint64(person)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// moment returns one of those that are easily put into the wrong slot, hour, day,
// week or month of one zone or another.
func (g *generator) moment() time.Time {
	zone := g.zones[g.rnd.IntN(len(g.zones))]
	at := g.day(zone)
	switch g.rnd.IntN(8) {
	case 0: // Where the day begins, mostly.
		y, m, d := at.Date()
		return g.beside(time.Date(y, m, d, 0, 0, 0, 0, zone.Location))
	case 1:
		return g.beside(at.Truncate(domain.Slot))
	case 2: // Within two hours of the change of the clocks, or at it.
		if len(zone.changes) == 0 {
			return at
		}
		change := zone.changes[g.rnd.IntN(len(zone.changes))]
		if g.rnd.IntN(2) == 0 {
			return g.beside(change)
		}
		return change.Add(time.Duration(g.rnd.Int64N(int64(4*time.Hour))) - 2*time.Hour)
	}
	return at
}

// day returns some moment of a day.
func (g *generator) day(zone clock) time.Time {
	within := time.Duration(g.rnd.Int64N(int64(24 * time.Hour))).Truncate(time.Microsecond)
	y, m := 2025+g.rnd.IntN(2), time.Month(1+g.rnd.IntN(12))
	switch g.rnd.IntN(4) {
	case 0: // The last of a month, or the first of the next.
		return time.Date(y, m+1, g.rnd.IntN(2), 0, 0, 0, 0, zone.Location).Add(within)
	case 1: // One of the days around a change of the clocks.
		if len(zone.changes) > 0 {
			change := zone.changes[g.rnd.IntN(len(zone.changes))]
			return change.Add(time.Duration(g.rnd.IntN(3)-1)*24*time.Hour + within - 12*time.Hour)
		}
	}
	return time.Date(y, m, 1+g.rnd.IntN(31), 0, 0, 0, 0, zone.Location).Add(within)
}

// beside returns a moment, or its neighbour on either side.
func (g *generator) beside(at time.Time) time.Time {
	return at.Add(time.Duration(g.rnd.IntN(3)-1) * time.Microsecond)
}

// everyZone returns all zones that come with Go.
func everyZone(t *testing.T) []*time.Location {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var zones []*time.Location
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") || f.Name == "Factory" {
			continue
		}
		zones = append(zones, mustZone(t, f.Name))
	}
	if len(zones) < 400 {
		t.Fatalf("%d zones, want all of them", len(zones))
	}
	return zones
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
