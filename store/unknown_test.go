package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

// unknownBook is a store on a file of its own, whose clock a test sets.
type unknownBook struct {
	t     *testing.T
	path  string
	now   time.Time
	store *store.Store
}

func openUnknown(t *testing.T) *unknownBook {
	t.Helper()
	b := &unknownBook{
		t: t, path: filepath.Join(t.TempDir(), "snip.db"),
		now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
	}
	b.store = b.open()
	return b
}

// open opens the store once more, as another process would.
func (b *unknownBook) open() *store.Store {
	b.t.Helper()
	s, err := store.Open(b.t.Context(), store.Config{Path: b.path, Now: func() time.Time { return b.now }})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return s
}

func (b *unknownBook) add(hits ...snip.UnknownHits) {
	b.t.Helper()
	if err := b.store.AddUnknownCodes(b.t.Context(), hits); err != nil {
		b.t.Fatal(err)
	}
}

func (b *unknownBook) read(r snip.Range, limit int) snip.UnknownCodes {
	b.t.Helper()
	u, err := b.store.UnknownCodes(b.t.Context(), r, limit)
	if err != nil {
		b.t.Fatal(err)
	}
	if u.Range != r {
		b.t.Errorf("range = %v, want %v", u.Range, r)
	}
	u.Range = snip.Range{}
	return u
}

// rows counts those of a table.
func (b *unknownBook) rows(table string) (n int) {
	b.t.Helper()
	if err := b.store.Read().QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// day is one UTC day.
func day(t time.Time) snip.Range { return snip.Range{From: snip.DateOf(t), To: snip.DateOf(t)} }

func TestUnknownCodesAddUp(t *testing.T) {
	b := openUnknown(t)
	b.add(
		snip.UnknownHits{Slot: b.now, Code: "one", Hits: 2},
		snip.UnknownHits{Slot: b.now.Add(14 * time.Minute), Code: "one", Hits: 3},
		snip.UnknownHits{Slot: b.now, Code: "One", Hits: 1},
		snip.UnknownHits{Slot: b.now, Code: "two", Hits: 4},
		snip.UnknownHits{Slot: b.now, Hits: 7},
	)
	b.add()
	b.add(
		snip.UnknownHits{Slot: b.now.Add(30 * time.Minute), Code: "two", Hits: 1},
		snip.UnknownHits{Slot: b.now, Hits: 1},
	)
	all := snip.UnknownCodes{Hits: 19, Codes: []snip.CodeHits{{Code: "one", Hits: 5}, {Code: "two", Hits: 5}, {Code: "One", Hits: 1}}, Other: 8}
	if diff := cmp.Diff(all, b.read(day(b.now), snip.MaxTop)); diff != "" {
		t.Error(diff)
	}
	first := snip.UnknownCodes{Hits: 19, Codes: []snip.CodeHits{{Code: "one", Hits: 5}}, More: 6, Other: 8}
	if diff := cmp.Diff(first, b.read(day(b.now), 1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(snip.UnknownCodes{}, b.read(day(b.now.AddDate(0, 0, 1)), 1)); diff != "" {
		t.Error(diff)
	}
}

// Kathmandu is 5:45 ahead: its days begin within an hour of UTC.
func TestUnknownCodesOfDaysInAnyZone(t *testing.T) {
	b := openUnknown(t)
	zone, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	today := snip.Date{Year: 2026, Month: 11, Day: 29}
	start := today.Start(zone)
	for i, at := range []time.Time{start.Add(-time.Second), start, start.Add(24*time.Hour - time.Second), start.Add(24 * time.Hour)} {
		b.add(snip.UnknownHits{Slot: at, Code: "gone", Hits: int64(1) << (4 * i)})
	}
	for days, want := range map[[2]int]int64{{0, 0}: 0x110, {-1, -1}: 0x1, {1, 1}: 0x1000, {-1, 1}: 0x1111} {
		got := b.read(snip.Range{From: today.AddDays(days[0]), To: today.AddDays(days[1]), Zone: zone}, 1)
		if got.Hits != want || got.Codes[0].Hits != want {
			t.Errorf("hits of days %v = %#x, %v, want %#x", days, got.Hits, got.Codes, want)
		}
	}
}

// A flood of codes takes no more rows than the bound, and every hit stays counted.
func TestUnknownCodesAreBoundedPerDay(t *testing.T) {
	b := openUnknown(t)
	b.add(snip.UnknownHits{Slot: b.now, Code: "early", Hits: 1})
	var flood []snip.UnknownHits
	for i := range snip.MaxValues {
		flood = append(flood, snip.UnknownHits{Slot: b.now, Code: fmt.Sprintf("flood-%04d", i), Hits: 1})
	}
	flood = append(flood, snip.UnknownHits{Slot: b.now, Code: "often", Hits: 9})
	b.add(flood...)
	b.add(snip.UnknownHits{Slot: b.now, Code: "late", Hits: 5}, snip.UnknownHits{Slot: b.now, Code: "early", Hits: 5})
	got := b.read(day(b.now), 2)
	// Of the flood two found no place, and neither did what came late.
	want := snip.UnknownCodes{
		Hits: 1 + 1000 + 9 + 5 + 5, Codes: []snip.CodeHits{{Code: "often", Hits: 9}, {Code: "early", Hits: 6}}, More: 998, Other: 2 + 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := b.rows("unknown_codes"); n != snip.MaxValues+1 {
		t.Errorf("%d rows of codes, want %d", n, snip.MaxValues+1)
	}
	if n := b.rows("unknown_hits"); n != snip.MaxValues+1 {
		t.Errorf("%d rows of hits, want %d", n, snip.MaxValues+1)
	}
	// The next day has places of its own.
	next := b.now.AddDate(0, 0, 1)
	b.add(snip.UnknownHits{Slot: next, Code: "late", Hits: 1})
	if diff := cmp.Diff(snip.UnknownCodes{Hits: 1, Codes: []snip.CodeHits{{Code: "late", Hits: 1}}}, b.read(day(next), 2)); diff != "" {
		t.Error(diff)
	}
}

// Two stores on one file stand for two processes.
func TestUnknownCodesOfManyWritersAddUp(t *testing.T) {
	b := openUnknown(t)
	stores := []*store.Store{b.store, b.open()}
	const writers, codes = 8, 300 // More than fit.
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			var hits []snip.UnknownHits
			for i := range codes {
				hits = append(hits,
					snip.UnknownHits{Slot: b.now, Code: fmt.Sprintf("code-%d-%d", w, i), Hits: 1},
					snip.UnknownHits{Slot: b.now, Code: "same", Hits: 1})
			}
			if err := stores[w%2].AddUnknownCodes(t.Context(), hits); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := b.read(day(b.now), 1)
	want := snip.UnknownCodes{
		Hits: 2 * writers * codes, Codes: []snip.CodeHits{{Code: "same", Hits: writers * codes}},
		More: snip.MaxValues - 1, Other: writers*codes - (snip.MaxValues - 1),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownCodesAreErasedAfter90Days(t *testing.T) {
	b := openUnknown(t)
	old := b.now
	const slots = 10 // More than one call erases.
	for i := range slots {
		b.add(snip.UnknownHits{Slot: old.Add(time.Duration(i) * snip.Slot), Code: "old", Hits: 1})
	}
	b.now = old.AddDate(0, 0, 90)
	b.add(snip.UnknownHits{Slot: b.now, Code: "new", Hits: 1})
	if got := b.read(day(old), 1).Hits; got != slots {
		t.Errorf("%d hits after 90 days, want all %d", got, slots)
	}
	b.now = b.now.AddDate(0, 0, 1)
	before := b.rows("unknown_hits")
	b.add(snip.UnknownHits{Slot: b.now, Code: "new", Hits: 1})
	if erased := before + 1 - b.rows("unknown_hits"); erased < 1 || erased >= slots {
		t.Errorf("one call erased %d slots, want some of %d", erased, slots)
	}
	for range slots {
		b.add(snip.UnknownHits{Slot: b.now, Code: "new", Hits: 1})
	}
	if got := b.read(day(old), 1).Hits; got != 0 {
		t.Errorf("%d hits after 91 days, want none", got)
	}
	// Two days are left, each with one code and the row of all others.
	if hits, codes := b.rows("unknown_hits"), b.rows("unknown_codes"); hits != 2 || codes != 4 {
		t.Errorf("%d rows of hits and %d of codes are left, want 2 and 4", hits, codes)
	}
}

func TestUnknownCodesRefuse(t *testing.T) {
	b := openUnknown(t)
	today := snip.DateOf(b.now)
	for name, ask := range map[string]struct {
		r     snip.Range
		limit int
		field string
	}{
		"no limit":      {day(b.now), 0, "limit"},
		"a large limit": {day(b.now), snip.MaxTop + 1, "limit"},
		"backwards":     {snip.Range{From: today, To: today.AddDays(-1)}, 1, "from"},
		"a thousand years": {
			snip.Range{From: snip.Date{Year: 1970, Month: 1, Day: 1}, To: snip.Date{Year: 2970, Month: 1, Day: 1}}, 1, "from",
		},
	} {
		_, err := b.store.UnknownCodes(t.Context(), ask.r, ask.limit)
		e, ok := errors.AsType[*snip.Error](err)
		if !ok || e.Code != snip.Invalid || e.Field != ask.field {
			t.Errorf("%s: error %v, want one of field %q", name, err, ask.field)
		}
	}
	for _, wrong := range []snip.UnknownHits{
		{Slot: b.now, Code: "none", Hits: 0},
		{Slot: b.now, Code: strings.Repeat("x", snip.MaxCode+1), Hits: 1},
	} {
		if err := b.store.AddUnknownCodes(t.Context(), []snip.UnknownHits{{Slot: b.now, Hits: 1}, wrong}); err == nil {
			t.Errorf("%+v was added", wrong)
		}
	}
	if got := b.read(day(b.now), 1).Hits; got != 0 {
		t.Errorf("%d hits of what was refused", got)
	}
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.store.AddUnknownCodes(t.Context(), []snip.UnknownHits{{Slot: b.now, Hits: 1}}); snip.CodeOf(err) != snip.Unavailable {
		t.Errorf("a closed store answers %v, want unavailable", err)
	}
}
