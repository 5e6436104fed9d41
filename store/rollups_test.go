package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

// someClicks are on three links over some days around noon.
func someClicks(n int, links ...snip.Link) []snip.Click {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	text := func(name string, n int) string { return fmt.Sprint(name, random.IntN(n)) }
	clicks := make([]snip.Click, n)
	for i := range clicks {
		clicks[i] = snip.Click{
			Link: links[random.IntN(len(links))].ID, At: noon.Add(time.Duration(random.Int64N(int64(5*24*time.Hour))) - 60*time.Hour),
			Class: snip.Class(random.IntN(5)), Visitor: random.Uint64N(50),
			Browser: text("b", 30), Referrer: text("r", 1500), Country: text("c", 3),
			Alias: text("a", 2), Arm: text("arm", 4),
		}
	}
	return clicks
}

// views are what can be asked about links, as of some days in a zone.
type views struct {
	Stats   map[string]snip.Stats
	Popular snip.Popular
}

func look(t *testing.T, s *store.Store, zone *time.Location, step snip.Step, codes ...string) views {
	t.Helper()
	r := snip.Range{From: snip.DateOf(noon).AddDays(-4), To: snip.DateOf(noon).AddDays(4), Zone: zone}
	v := views{Stats: map[string]snip.Stats{}}
	var err error
	for _, code := range append(codes, "") {
		q := snip.StatsQuery{Range: r, Step: step, Top: snip.MaxTop}
		if code != "" {
			q.Codes = []string{code}
		}
		if v.Stats[code], err = s.Stats(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if v.Popular, err = s.Popular(t.Context(), r, 1000); err != nil {
		t.Fatal(err)
	}
	return v
}

// sameZone compares zones by what they are called.
var sameZone = cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })

// TestDeletedLinkLeavesTheOthers covers L27's last step: after a link went, every view
// is as if it had never been, but for the visitors of all links.
func TestDeletedLinkLeavesTheOthers(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprint("compacted=", compacted), func(t *testing.T) {
			fixed := store.Config{Now: func() time.Time { return noon }}
			with, without := open(t, fixed), open(t, fixed)
			var links []snip.Link
			for _, code := range []string{"a", "b", "gone"} {
				links = append(links, create(t, with, snip.NewLink{Code: code}))
				create(t, without, snip.NewLink{Code: code})
			}
			all := someClicks(3000, links...)
			count(t, with, all...)
			count(t, without, slices.DeleteFunc(slices.Clone(all), func(c snip.Click) bool { return c.Link == links[2].ID })...)
			if compacted {
				for _, s := range []*store.Store{with, without} {
					compact(t, s, time.UTC, noon)
				}
			}
			for _, s := range []*store.Store{with, without} {
				if err := s.DeleteLink(t.Context(), snip.Ref{Code: "gone"}, 0); err != nil {
					t.Fatal(err)
				}
			}
			got, want := look(t, with, time.UTC, snip.StepDay, "a", "b"), look(t, without, time.UTC, snip.StepDay, "a", "b")
			for _, v := range []views{got, want} {
				st := v.Stats[""]
				st.Visitors = nil
				v.Stats[""] = st
			}
			if diff := cmp.Diff(want, got, sameZone); diff != "" {
				t.Error(diff)
			}
			var total int64
			if err := with.Read().QueryRowContext(t.Context(), `SELECT clicks FROM instance`).Scan(&total); err != nil || total != want.Stats[""].Clicks {
				t.Errorf("the instance has %d clicks, %v, want %d", total, err, want.Stats[""].Clicks)
			}
		})
	}
}

func compact(t *testing.T, s *store.Store, zone *time.Location, before time.Time) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Compact(t.Context(), zone, before); err != nil {
			t.Fatal(err)
		}
	}
}

func rollups(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	if err := s.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM rollups`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCompact: days of the zone stay as they were in every figure; another zone is
// told that its figures are not exact, and loses none.
func TestCompact(t *testing.T) {
	s := open(t, store.Config{})
	var links []snip.Link
	for _, code := range []string{"a", "b", "c"} {
		links = append(links, create(t, s, snip.NewLink{Code: code}))
	}
	count(t, s, someClicks(3000, links...)...)
	zone, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	before, rows := look(t, s, zone, snip.StepDay, "a", "b", "c"), rollups(t, s)
	utc := look(t, s, time.UTC, snip.StepDay, "a")
	cutoff := noon.Add(24 * time.Hour)
	compact(t, s, zone, cutoff)
	if n := rollups(t, s); n >= rows/2 {
		t.Errorf("%d rows of %d are left", n, rows)
	}
	after := look(t, s, zone, snip.StepDay, "a", "b", "c")
	if diff := cmp.Diff(before, after, sameZone); diff != "" {
		t.Error(diff)
	}
	if c := after.Stats["a"].Coarse; !c.IsZero() {
		t.Errorf("days of the zone are coarse up to %s, want exact ones", c)
	}

	// The last day that was compacted ends at midnight in Kathmandu, the one before the cutoff.
	end := snip.DateOf(cutoff.In(zone)).Start(zone)
	for step, then := range map[snip.Step]views{
		snip.StepDay: look(t, s, time.UTC, snip.StepDay, "a"), snip.StepHour: look(t, s, zone, snip.StepHour, "a"),
	} {
		for code, st := range then.Stats {
			if !st.Coarse.Equal(end) {
				t.Errorf("%q by %s: coarse up to %s, want %s", code, step, st.Coarse, end)
			}
			if st.Counts != utc.Stats[code].Counts {
				t.Errorf("%q by %s: %+v, want %+v", code, step, st.Counts, utc.Stats[code].Counts)
			}
		}
	}

	// What comes late is added, and compacted with the next of its day or stays fine.
	late := someClicks(500, links...)
	count(t, s, late...)
	want := look(t, s, zone, snip.StepDay, "a", "b", "c")
	if got := want.Stats[""].Clicks - before.Stats[""].Clicks; got != 500 {
		t.Errorf("%d late clicks are counted, want 500", got)
	}
	compact(t, s, time.UTC, noon.Add(100*24*time.Hour))
	for code, st := range look(t, s, zone, snip.StepMonth, "a", "b", "c").Stats {
		if st.Counts != want.Stats[code].Counts {
			t.Errorf("%q: %+v after it was compacted in another zone, want %+v", code, st.Counts, want.Stats[code].Counts)
		}
	}
}

// TestGenerations: what is built is not seen until it takes the place of what is shown.
func TestGenerations(t *testing.T) {
	s := open(t, store.Config{})
	a, b := create(t, s, snip.NewLink{Code: "a"}), create(t, s, snip.NewLink{Code: "b"})
	all := someClicks(1000, a, b)
	slices.SortFunc(all, func(x, y snip.Click) int { return x.At.Compare(y.At) })
	count(t, s, all...)
	want := look(t, s, time.UTC, snip.StepHour, "a", "b")
	same := func(when string) {
		t.Helper()
		got := look(t, s, time.UTC, snip.StepHour, "a", "b")
		if diff := cmp.Diff(want, got, sameZone); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	given := begin(t, s)
	countIn(t, s, given, all[:10]...)
	building := begin(t, s)
	if shown, _, err := s.ShowGeneration(t.Context(), given, always); shown || !errors.Is(err, store.ErrGeneration) {
		t.Errorf("ShowGeneration of one that was given up = %t, %v, want %v", shown, err, store.ErrGeneration)
	}
	countIn(t, s, building, all...)
	same("while it is built")
	never := func(context.Context, *sql.Tx) (bool, error) { return false, nil }
	if shown, _, err := s.ShowGeneration(t.Context(), building, never); shown || err != nil {
		t.Errorf("ShowGeneration of one that is not ready = %t, %v", shown, err)
	}
	same("while it is not ready")
	if shown, since, err := s.ShowGeneration(t.Context(), building, always); !shown || !since.IsZero() || err != nil {
		t.Fatalf("ShowGeneration = %t since %s, %v, want everything", shown, since, err)
	}
	same("once it is shown")
	erase(t, s)
	same("once the others are erased")

	// Of the first days some clicks are not there any more, and one day has been
	// compacted: those stay. A click of the last day is new.
	compact(t, s, time.UTC, noon.AddDate(0, 0, -1))
	building = begin(t, s)
	countIn(t, s, building, all[100:]...)
	late := all[999]
	countIn(t, s, building, late)
	want = look(t, s, time.UTC, snip.StepDay, "a", "b")
	rows := rollups(t, s)
	shown, since, err := s.ShowGeneration(t.Context(), building, always)
	if day := noon.Truncate(24*time.Hour).AddDate(0, 0, -1); !shown || !since.Equal(day) || err != nil {
		t.Fatalf("ShowGeneration = %t since %s, %v, want what is from %s on", shown, since, err, day)
	}
	erase(t, s)
	if n := rollups(t, s); n >= rows {
		t.Errorf("%d rows of %d are left", n, rows)
	}
	got := look(t, s, time.UTC, snip.StepDay, "a", "b")
	for code, st := range got.Stats {
		if code == "" || code == map[int64]string{a.ID: "a", b.ID: "b"}[late.Link] {
			i := len(st.Series) - 1
			for st.Series[i].Clicks == 0 {
				i--
			}
			st.Series[i].Clicks--
			st.Clicks--
		}
		if st.Clicks != want.Stats[code].Clicks || !slices.EqualFunc(st.Series, want.Stats[code].Series, func(x, y snip.Point) bool { return x.Clicks == y.Clicks }) {
			t.Errorf("%q: %d clicks, %v, want %d, %v", code, st.Clicks, st.Series, want.Stats[code].Clicks, want.Stats[code].Series)
		}
	}

	// A link that goes while a generation is built goes from that, too.
	building = begin(t, s)
	countIn(t, s, building, append(all, late)...)
	if err := s.DeleteLink(t.Context(), snip.Ref{Code: "b"}, 0); err != nil {
		t.Fatal(err)
	}
	if shown, _, err := s.ShowGeneration(t.Context(), building, always); !shown || err != nil {
		t.Fatalf("ShowGeneration = %t, %v", shown, err)
	}
	got = look(t, s, time.UTC, snip.StepHour, "a")
	if got.Stats[""].Counts != got.Stats["a"].Counts || got.Popular.Links[0].Link.Clicks != got.Stats["a"].Clicks {
		t.Errorf("all links have %+v, the one that is left %+v, and in its row %d", got.Stats[""].Counts, got.Stats["a"].Counts, got.Popular.Links[0].Link.Clicks)
	}
}

// always is ready.
func always(context.Context, *sql.Tx) (bool, error) { return true, nil }

func begin(t *testing.T, s *store.Store) int {
	t.Helper()
	generation, err := s.BuildGeneration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return generation
}

func erase(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.EraseGenerations(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func countIn(t *testing.T, s *store.Store, generation int, clicks ...snip.Click) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.CountClicks(ctx, tx, generation, clicks) })
	if err != nil {
		t.Fatal(err)
	}
}
