package test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	domain "snip"
)

// TestRandomValuesStayBounded: somebody sends a referrer and a campaign of its own with
// each click. A thousand of them are kept apart, the others are counted all the same.
func TestRandomValuesStayBounded(t *testing.T) {
	s := newInstance(t, "flooded", "quiet")
	s.feed(s.flood("flooded", crowdDay, 5000), nil)
	s.feed(spread(s.links["quiet"], crowdDay, crowdDay.Add(time.Hour), 20), nil)
	s.resume()
	s.mustBeBounded([]string{"flooded"}, 5000, 4000)
	s.web.stop()
	before := size(t, s.dir)

	s.feed(s.flood("flooded", crowdDay, 20_000), nil)
	s.resume()
	s.mustBeBounded([]string{"flooded"}, 25_000, 24_000)
	s.mustBeBounded(nil, 25_020, 24_000)
	s.mustBeBounded([]string{"quiet", "flooded"}, 25_020, 24_000)
	s.mustAgree(question{codes: []string{"quiet"}, from: "2026-06-10", to: "2026-06-10", zone: time.UTC, step: "hour", top: 10})
	s.web.stop()
	// The values alone, kept once for the link and once for everything, take more than this.
	if grown := size(t, s.dir) - before; grown > 512<<10 {
		t.Errorf("20,000 more values let the database grow by %d bytes", grown)
	}
}

// flood makes clicks with values that nobody else has, on one day of UTC.
func (s *instance) flood(code string, day time.Time, n int) []domain.Click {
	clicks := spread(s.links[code], day, day.Add(24*time.Hour-time.Microsecond), n)
	for i := range clicks {
		clicks[i].Referrer = fmt.Sprintf("%016x.example", s.rnd.Uint64())
		clicks[i].Campaign = fmt.Sprintf("%016x and so on", s.rnd.Uint64())
		if i%3 == 0 {
			clicks[i].Class = domain.Bot
		}
	}
	return clicks
}

// mustBeBounded asks for a day. Of the two dimensions with random values a thousand are
// kept apart, per link; all else agrees with the sums.
func (s *instance) mustBeBounded(codes []string, clicks, other int64) {
	s.t.Helper()
	q := question{codes: codes, from: "2026-06-10", to: "2026-06-10", zone: time.UTC, step: "hour", top: 1000}
	got, want := s.ask(q), s.stats(q)
	wrong := addsUp(got)
	if got.Clicks != clicks {
		wrong = append(wrong, fmt.Sprintf("%d clicks, want %d", got.Clicks, clicks))
	}
	for _, name := range []string{"referrer", "campaign"} {
		all := map[string]tally{}
		for _, v := range want.Dimensions[name].Top {
			all[v.Value] = v.tally
		}
		d := got.Dimensions[name]
		for _, v := range d.Top {
			if all[v.Value] != v.tally {
				wrong = append(wrong, fmt.Sprintf("%s %q has %+v, want %+v", name, v.Value, v.tally, all[v.Value]))
			}
			delete(all, v.Value) // A second time it is wrong.
		}
		if len(d.Top) != 1000 || d.Other.Clicks < other {
			wrong = append(wrong, fmt.Sprintf("%d values of %s and %+v of others, want 1000 and %d clicks or more",
				len(d.Top), name, d.Other, other))
		}
		delete(got.Dimensions, name)
		delete(want.Dimensions, name)
	}
	for _, fault := range append(wrong, compare(got, want, q.top)...) {
		s.t.Errorf("%s: %s", q, fault)
	}
}

// size is that of the database, which nobody has open.
func size(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "snip.db"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
