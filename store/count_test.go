package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

func count(t testing.TB, s *store.Store, clicks ...snip.Click) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return s.CountClicks(ctx, tx, 0, clicks)
	})
	if err != nil {
		t.Fatalf("CountClicks: %v", err)
	}
}

// clicks are n of one kind.
func clicks(n int, c snip.Click) []snip.Click { return slices.Repeat([]snip.Click{c}, n) }

// stats asks for two days around noon, by the hour, with all values.
func stats(t testing.TB, s *store.Store, codes ...string) snip.Stats {
	t.Helper()
	today := snip.DateOf(noon)
	got, err := s.Stats(t.Context(), snip.StatsQuery{
		Codes: codes, Range: snip.Range{From: today.AddDays(-1), To: today.AddDays(1)}, Step: snip.StepHour, Top: snip.MaxTop,
	})
	if err != nil {
		t.Fatalf("Stats(%q): %v", codes, err)
	}
	var sum snip.Counts
	for _, p := range got.Series {
		sum.Add(p.Counts)
	}
	if sum != got.Counts {
		t.Errorf("Stats(%q): %+v, and the series adds up to %+v", codes, got.Counts, sum)
	}
	for d, b := range got.Dimensions {
		sum := b.More
		sum.Add(b.Other)
		for _, v := range b.Top {
			sum.Add(v.Counts)
		}
		if sum != got.Counts {
			t.Errorf("Stats(%q): %+v, and by %s it adds up to %+v", codes, got.Counts, snip.Dimension(d), sum)
		}
	}
	return got
}

// hoursOf returns the hours in which there were clicks.
func hoursOf(st snip.Stats) map[string]snip.Counts {
	hours := map[string]snip.Counts{}
	for _, p := range st.Series {
		if p.Counts != (snip.Counts{}) {
			hours[p.Start.UTC().Format("02T15")] = p.Counts
		}
	}
	return hours
}

func TestCountClicks(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	create(t, s, snip.NewLink{Code: "other"})
	start := time.Date(2026, 11, 29, 11, 0, 0, 0, time.UTC)
	firefox := snip.Click{Link: l.ID, Class: snip.Human, Browser: "Firefox", Referrer: "example.com", Visitor: 1}
	bot := snip.Click{Link: l.ID, Class: snip.Bot, Browser: "unknown", Visitor: 2}
	on := func(c snip.Click, at time.Time) snip.Click { c.At = at; return c }
	count(t, s)
	count(t, s, slices.Concat(
		clicks(4, on(bot, start.Add(time.Hour))), clicks(1, on(firefox, start.Add(time.Hour))),
		clicks(1, on(bot, start)),
		clicks(2, on(firefox, start.Add(time.Hour-time.Microsecond))),
		clicks(4, on(firefox, start.Add(-time.Microsecond))))...)
	firefox.Visitor = 3
	count(t, s, clicks(10, on(firefox, start.In(time.FixedZone("", 20700))))...)

	for _, codes := range [][]string{{"code"}, {"other", "code", "code"}, nil} {
		got := stats(t, s, codes...)
		want := map[string]snip.Counts{"29T10": {Clicks: 4, HumanClicks: 4}, "29T11": {Clicks: 13, HumanClicks: 12}, "29T12": {Clicks: 5, HumanClicks: 1}}
		if diff := cmp.Diff(want, hoursOf(got)); diff != "" {
			t.Errorf("%q: %s", codes, diff)
		}
		if got.Counts != (snip.Counts{Clicks: 22, HumanClicks: 17}) {
			t.Errorf("%q: %+v, want 22 clicks, 17 of people", codes, got.Counts)
		}
		if diff := cmp.Diff([]snip.ValueCount{
			{Value: "human", Counts: snip.Counts{Clicks: 17, HumanClicks: 17}}, {Value: "bot", Counts: snip.Counts{Clicks: 5}},
		}, got.Dimensions[snip.ByClass].Top); diff != "" {
			t.Errorf("%q: classes: %s", codes, diff)
		}
		if diff := cmp.Diff([]snip.ValueCount{
			{Value: "example.com", Counts: snip.Counts{Clicks: 17, HumanClicks: 17}}, {Value: "", Counts: snip.Counts{Clicks: 5}},
		}, got.Dimensions[snip.ByReferrer].Top); diff != "" {
			t.Errorf("%q: referrers: %s", codes, diff)
		}
		if diff := cmp.Diff([]snip.Visitors{{Day: snip.DateOf(noon), Visitors: 2}}, got.Visitors); diff != "" {
			t.Errorf("%q: visitors: %s", codes, diff)
		}
	}
	// Whoever looks into the file finds the totals.
	var code string
	var n int64
	err := s.Read().QueryRowContext(t.Context(), `SELECT code, clicks FROM links WHERE clicks > 0`).Scan(&code, &n)
	if err != nil || code != "code" || n != 22 {
		t.Errorf("SELECT code, clicks = %q, %d, %v, want \"code\", 22", code, n, err)
	}
	if other := stats(t, s, "other"); other.Counts != (snip.Counts{}) {
		t.Errorf("other: %+v, want nothing", other)
	}
	_, err = s.Stats(t.Context(), snip.StatsQuery{Codes: []string{"code", "none"}, Range: snip.Range{From: snip.DateOf(noon), To: snip.DateOf(noon)}})
	wantCode(t, err, snip.NotFound, "code")
}

func TestCountClicksRollsBackWithItsTransaction(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	mine := errors.New("mine")
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(s.CountClicks(ctx, tx, 0, []snip.Click{{Link: l.ID, At: noon}}), mine)
	})
	if !errors.Is(err, mine) {
		t.Fatalf("Write = %v, want %v", err, mine)
	}
	if got := stats(t, s, "code"); got.Counts != (snip.Counts{}) {
		t.Errorf("%+v, want nothing", got.Counts)
	}
}

// TestCountClicksInEveryChunkSize counts for links of which every third is gone,
// and compares with a count by hand.
func TestCountClicksInEveryChunkSize(t *testing.T) {
	s := open(t, store.Config{})
	const n = 450
	want := map[string]int64{}
	codes := map[int64]string{}
	for i := range n {
		l := create(t, s, snip.NewLink{Code: fmt.Sprint("c", i)})
		codes[l.ID] = l.Code
		want[l.Code] = 0
		if i%3 == 0 {
			if err := s.DeleteLink(t.Context(), snip.Ref{Code: l.Code}, 0); err != nil {
				t.Fatal(err)
			}
			delete(want, l.Code)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 31, 32, 33, 64, 200, 1000} {
		batch := make([]snip.Click, size)
		for i := range batch {
			batch[i] = snip.Click{Link: random.Int64N(n) + 1, At: noon.Add(time.Duration(random.IntN(3)) * snip.Slot), Class: snip.Class(random.IntN(5))}
			if _, ok := want[codes[batch[i].Link]]; ok {
				want[codes[batch[i].Link]]++
			}
		}
		count(t, s, batch...)
	}
	got := map[string]int64{}
	page, err := s.ListLinks(t.Context(), snip.LinkQuery{Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range page.Links {
		got[l.Code] = l.Clicks
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var odd int
	err = s.Read().QueryRowContext(t.Context(), `
		SELECT COUNT(*) FROM (SELECT link_id, SUM(clicks) AS sum FROM rollups GROUP BY link_id) AS t
		LEFT JOIN (SELECT id, clicks FROM links UNION ALL SELECT 0, SUM(clicks) FROM links) AS l ON l.id = t.link_id
		WHERE l.clicks IS NULL OR l.clicks <> t.sum`).Scan(&odd)
	if err != nil || odd != 0 {
		t.Errorf("%d links whose clicks are not the sum of their rollups, %v", odd, err)
	}
}

// TestStatsAreOfOneMoment reads while others count: the sum must always be right.
func TestStatsAreOfOneMoment(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for i := range 50 {
			at := noon.Add(time.Duration(i) * snip.Slot / 2)
			count(t, s, snip.Click{Link: l.ID, At: at}, snip.Click{Link: l.ID, At: at, Class: snip.Bot})
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if got := stats(t, s, "code"); got.Clicks != 2*got.HumanClicks { // stats compares the rest.
			t.Fatalf("%d clicks, %d of people, want half", got.Clicks, got.HumanClicks)
		}
	}
	wg.Wait()
}

// TestCountersAtOnce: many count for the same links, in whichever order their clicks
// come, while links are made, deleted and compacted. Nobody waits for another for ever,
// and every click is counted once.
func TestCountersAtOnce(t *testing.T) {
	s := open(t, store.Config{})
	var links []snip.Link
	for i := range 20 {
		links = append(links, create(t, s, snip.NewLink{Code: fmt.Sprint("c", i)}))
	}
	gone := create(t, s, snip.NewLink{Code: "gone"})
	all := append(slices.Clone(links), gone)
	const counters, batches, size = 4, 8, 200
	var wg sync.WaitGroup
	for n := range counters {
		wg.Go(func() {
			for i := range batches {
				batch := someClicks(size+n*batches+i, all...)
				if err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.CountClicks(ctx, tx, 0, batch) }); err != nil {
					t.Errorf("CountClicks: %v", err)
				}
			}
		})
	}
	wg.Go(func() { compact(t, s, time.UTC, noon) })
	wg.Go(func() {
		if err := s.DeleteLink(t.Context(), snip.Ref{Code: "gone"}, 0); err != nil {
			t.Errorf("DeleteLink: %v", err)
		}
	})
	wg.Wait()
	want := map[int64]int64{}
	for n := range counters {
		for i := range batches {
			for _, c := range someClicks(size+n*batches+i, all...) {
				want[c.Link]++
			}
		}
	}
	var sum int64
	for _, l := range links {
		sum += want[l.ID]
		if got := look(t, s, time.UTC, snip.StepDay, l.Code).Stats[l.Code]; got.Clicks != want[l.ID] {
			t.Errorf("%q has %d clicks, want %d", l.Code, got.Clicks, want[l.ID])
		}
	}
	if got := look(t, s, time.UTC, snip.StepDay).Stats[""]; got.Clicks != sum {
		t.Errorf("all links have %d clicks, want %d", got.Clicks, sum)
	}
}

// BenchmarkCountClicks counts one click on each of 1000 links.
func BenchmarkCountClicks(b *testing.B) {
	s := open(b, store.Config{})
	var batch []snip.Click
	for i := range 1000 {
		l := create(b, s, snip.NewLink{Code: fmt.Sprint("c", i)})
		batch = append(batch, snip.Click{Link: l.ID, At: noon, Browser: "Chrome", OS: "Windows", Visitor: rand.Uint64()})
	}
	b.ReportAllocs()
	for b.Loop() {
		count(b, s, batch...)
	}
}
