package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

func count(t testing.TB, s *store.Store, counts ...store.Count) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.CountClicks(ctx, tx, counts) })
	if err != nil {
		t.Fatalf("CountClicks: %v", err)
	}
}

func TestCountClicks(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	create(t, s, snip.NewLink{Code: "other"})
	start := time.Date(2026, 11, 29, 11, 45, 0, 0, time.UTC)
	count(t, s)
	count(t, s,
		store.Count{Link: l.ID, Slot: start.Add(15 * time.Minute), Clicks: 5, HumanClicks: 1},
		store.Count{Link: l.ID, Slot: start, Clicks: 1},
		store.Count{Link: l.ID, Slot: start.Add(15*time.Minute - 1), Clicks: 2, HumanClicks: 2}, // The same slot.
		store.Count{Link: l.ID, Slot: start.Add(-time.Second), Clicks: 4, HumanClicks: 4},
	)
	count(t, s, store.Count{Link: l.ID, Slot: start.In(time.FixedZone("", 20700)), Clicks: 10, HumanClicks: 10})

	got, err := s.LinkStats(t.Context(), "code")
	if err != nil {
		t.Fatal(err)
	}
	l.Clicks, l.HumanClicks = 22, 17
	want := snip.Stats{Link: l, Clicks: 22, HumanClicks: 17, Slots: []snip.SlotCount{
		{Start: start.Add(-15 * time.Minute), Clicks: 4, HumanClicks: 4},
		{Start: start, Clicks: 13, HumanClicks: 12},
		{Start: start.Add(15 * time.Minute), Clicks: 5, HumanClicks: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// What design 4.1 promises whoever looks into the file.
	var code string
	var clicks int64
	err = s.Read().QueryRowContext(t.Context(), `SELECT code, clicks FROM links WHERE clicks > 0`).Scan(&code, &clicks)
	if err != nil || code != "code" || clicks != 22 {
		t.Errorf("SELECT code, clicks = %q, %d, %v, want \"code\", 22", code, clicks, err)
	}
	if other, err := s.LinkStats(t.Context(), "other"); err != nil || other.Clicks != 0 || len(other.Slots) != 0 {
		t.Errorf("LinkStats(other) = %+v, %v, want nothing", other, err)
	}
}

func TestCountClicksRollsBackWithItsTransaction(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	mine := errors.New("mine")
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(s.CountClicks(ctx, tx, []store.Count{{Link: l.ID, Slot: noon, Clicks: 1}}), mine)
	})
	if !errors.Is(err, mine) {
		t.Fatalf("Write = %v, want %v", err, mine)
	}
	if stats, err := s.LinkStats(t.Context(), "code"); err != nil || stats.Clicks != 0 || len(stats.Slots) != 0 {
		t.Errorf("LinkStats = %+v, %v, want nothing", stats, err)
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
			if err := s.DeleteLink(t.Context(), l.Code); err != nil {
				t.Fatal(err)
			}
			delete(want, l.Code)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 31, 32, 33, 64, 200, 1000} {
		counts := make([]store.Count, size)
		for i := range counts {
			c := store.Count{Link: random.Int64N(n) + 1, Slot: noon.Add(time.Duration(random.IntN(3)) * snip.Slot), Clicks: random.Int64N(9) + 1}
			counts[i] = c
			if _, ok := want[codes[c.Link]]; ok {
				want[codes[c.Link]] += c.Clicks
			}
		}
		count(t, s, counts...)
	}
	got := map[string]int64{}
	links, err := s.ListLinks(t.Context(), snip.Page{Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		got[l.Code] = l.Clicks
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var odd int
	err = s.Read().QueryRowContext(t.Context(), `
		SELECT COUNT(*) FROM (SELECT link_id, SUM(clicks) AS sum FROM totals GROUP BY link_id) AS t
		LEFT JOIN links ON links.id = t.link_id WHERE links.clicks IS NULL OR links.clicks <> t.sum`).Scan(&odd)
	if err != nil || odd != 0 {
		t.Errorf("%d links whose clicks are not the sum of their totals, %v", odd, err)
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
			count(t, s, store.Count{Link: l.ID, Slot: noon.Add(time.Duration(i) * snip.Slot), Clicks: 2, HumanClicks: 1})
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		stats, err := s.LinkStats(t.Context(), "code")
		if err != nil {
			t.Fatal(err)
		}
		var clicks, human int64
		for _, slot := range stats.Slots {
			clicks += slot.Clicks
			human += slot.HumanClicks
		}
		if stats.Clicks != clicks || stats.Link.Clicks != clicks || stats.HumanClicks != human {
			t.Fatalf("%d clicks, %d in the link, %d in slots; %d human, %d in slots", stats.Clicks, stats.Link.Clicks, clicks, stats.HumanClicks, human)
		}
	}
	wg.Wait()
}

// BenchmarkCountClicks counts one click on each of 1000 links.
func BenchmarkCountClicks(b *testing.B) {
	s := open(b, store.Config{})
	var counts []store.Count
	for i := range 1000 {
		l := create(b, s, snip.NewLink{Code: fmt.Sprint("c", i)})
		counts = append(counts, store.Count{Link: l.ID, Slot: noon, Clicks: 1, HumanClicks: 1})
	}
	for b.Loop() {
		count(b, s, counts...)
	}
}
