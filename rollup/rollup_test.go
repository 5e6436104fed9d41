package rollup_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snip"
	"snip/rollup"
)

// link is what one link got on one day: as kept, and as summed up by hand.
type link struct {
	values rollup.Values
	facts  rollup.Facts
	sums   [snip.NumDimensions]map[string]snip.Counts
	total  snip.Counts
}

func (l *link) click(c *snip.Click) {
	var places rollup.Places
	one := snip.Counts{Clicks: 1}
	if c.Class == snip.Human {
		one.HumanClicks = 1
	}
	for d := range snip.NumDimensions {
		places[d] = l.values.Place(d, c.Value(d))
		if l.sums[d] == nil {
			l.sums[d] = map[string]snip.Counts{}
		}
		sum := l.sums[d][c.Value(d)]
		sum.Add(one)
		l.sums[d][c.Value(d)] = sum
	}
	l.facts.Add(&places, c.Class == snip.Human)
	l.total.Add(one)
}

// read returns by text what facts tell by place, other values under "(other)".
func read(values *rollup.Values, facts *rollup.Facts) [snip.NumDimensions]map[string]snip.Counts {
	var sums [snip.NumDimensions]map[string]snip.Counts
	facts.Each(func(d snip.Dimension, p rollup.Place, c snip.Counts) {
		text, ok := values.Text(d, p)
		if !ok {
			text = "(other)"
		}
		if sums[d] == nil {
			sums[d] = map[string]snip.Counts{}
		}
		sums[d][text] = c
	})
	return sums
}

func drawClick(t *rapid.T) *snip.Click {
	text := rapid.SampledFrom([]string{"", "unknown", "a", "b", "c", "<b>", "ü", "\x00", "d", "e", "f", "g", "h", "i", "j", "k", "l"})
	return &snip.Click{
		Class:    snip.Class(rapid.IntRange(0, 4).Draw(t, "class")),
		Referrer: text.Draw(t, "referrer"), Browser: text.Draw(t, "browser"), Campaign: text.Draw(t, "campaign"),
		Alias: text.Draw(t, "alias"), Arm: text.Draw(t, "arm"),
	}
}

// TestFactsAddUp: whatever is added, encoded, decoded, merged and taken away, every
// dimension tells what a count by hand does.
func TestFactsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var links [2]link
		for range rapid.IntRange(0, 60).Draw(t, "clicks") {
			links[rapid.IntRange(0, 1).Draw(t, "link")].click(drawClick(t))
		}
		for i := range links {
			l := &links[i]
			values, err := rollup.DecodeValues(l.values.Append(nil))
			if err != nil {
				t.Fatal(err)
			}
			facts, err := rollup.DecodeFacts(l.facts.Append(nil), l.facts.Counts)
			if err != nil {
				t.Fatal(err)
			}
			if l.total.Clicks == 0 {
				continue // Of nothing, everything is Other.
			}
			if diff := cmp.Diff(l.sums, read(values, facts)); diff != "" {
				t.Fatal(diff)
			}
		}
		all, allValues := rollup.Facts{}, rollup.Values{}
		for i := range links {
			all.Merge(&links[i].facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
				return allValues.Move(d, &links[i].values, p)
			})
		}
		if want := links[0].total.Clicks + links[1].total.Clicks; all.Clicks != want {
			t.Fatalf("%d clicks of both, want %d", all.Clicks, want)
		}
		all.Subtract(&links[0].facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
			return allValues.Find(d, &links[0].values, p)
		})
		got := read(&allValues, &all)
		if links[1].total.Clicks == 0 {
			links[1].sums = got // Nothing, in one way or another.
			for d, sums := range got {
				if len(sums) > 0 {
					t.Fatalf("by %s there is %v left of nothing", snip.Dimension(d), sums)
				}
			}
		}
		if diff := cmp.Diff(links[1].sums, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestManyValues: a thousand are kept apart, and the total stays.
func TestManyValues(t *testing.T) {
	var l link
	const clicks = 5000
	for i := range clicks {
		l.click(&snip.Click{Referrer: fmt.Sprintf("%d.example", i), Campaign: "same"})
	}
	got := read(&l.values, &l.facts)
	if n := len(got[snip.ByReferrer]); n != snip.MaxValues+1 {
		t.Errorf("%d referrers, want %d and the others", n, snip.MaxValues)
	}
	if other := got[snip.ByReferrer]["(other)"].Clicks; other != clicks-snip.MaxValues {
		t.Errorf("%d of others, want %d", other, clicks-snip.MaxValues)
	}
	if same := got[snip.ByCampaign]["same"].Clicks; same != clicks {
		t.Errorf("%d of the one campaign, want %d", same, clicks)
	}
	decoded, err := rollup.DecodeFacts(l.facts.Append(nil), l.facts.Counts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, read(&l.values, decoded)); diff != "" {
		t.Error(diff)
	}
}

// TestSubtractWhatIsNotThere: the dimensions add up all the same.
func TestSubtractWhatIsNotThere(t *testing.T) {
	var a, b link
	for i := range 10 {
		a.click(&snip.Click{Browser: fmt.Sprint(i), Class: snip.Class(i % 2)})
		b.click(&snip.Click{Browser: "x", Class: snip.Class(i % 2)})
	}
	var half rollup.Facts
	places := rollup.Places{}
	for i := range 5 {
		half.Add(&places, i%2 == 0)
	}
	a.facts.Subtract(&half, func(d snip.Dimension, p rollup.Place) rollup.Place { return a.values.Find(d, &b.values, p) })
	var sums [snip.NumDimensions]snip.Counts
	a.facts.Each(func(d snip.Dimension, _ rollup.Place, c snip.Counts) {
		if c.HumanClicks < 0 || c.Clicks < c.HumanClicks {
			t.Errorf("by %s: %+v", d, c)
		}
		sums[d].Add(c)
	})
	for d, sum := range sums {
		if want := (snip.Counts{Clicks: 5, HumanClicks: 2}); sum != want || a.facts.Counts != want {
			t.Errorf("by %s: %+v of %+v, want %+v", snip.Dimension(d), sum, a.facts.Counts, want)
		}
	}
}

// TestNothingTold: rows without facts are all Other.
func TestNothingTold(t *testing.T) {
	total := snip.Counts{Clicks: 3, HumanClicks: 2}
	facts, err := rollup.DecodeFacts(nil, total)
	if err != nil {
		t.Fatal(err)
	}
	for d, sums := range read(&rollup.Values{}, facts) {
		if diff := cmp.Diff(map[string]snip.Counts{"(other)": total}, sums); diff != "" {
			t.Errorf("by %s: %s", snip.Dimension(d), diff)
		}
	}
}

// TestVisitors: exact while they are few, within the error when they are many, the
// same in whichever order and however often they come and are put together.
func TestVisitors(t *testing.T) {
	for _, n := range []int{0, 1, 47, 48, 49, 1000, 20_000, 200_000} {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		numbers := make([]uint64, n)
		for i := range numbers {
			numbers[i] = random.Uint64()
		}
		var halves [2]rollup.Visitors
		one := &rollup.Visitors{}
		one.Insert(0) // Nobody.
		for i, x := range numbers {
			one.Insert(x)
			halves[i%2].Insert(x)
			halves[(i/2)%2].Insert(x)
			if i%1000 == 999 {
				one = reopen(t, one)
			}
		}
		one = reopen(t, one)
		if err := halves[0].Merge(&halves[1]); err != nil {
			t.Fatal(err)
		}
		for _, got := range []int64{one.Estimate(), halves[0].Estimate(), reopen(t, &halves[0]).Estimate()} {
			if off := math.Abs(float64(got) - float64(n)); n <= 48 && off != 0 || off > snip.VisitorsError*float64(n) {
				t.Errorf("%d visitors, want %d", got, n)
			}
		}
		if one.Estimate() != halves[0].Estimate() {
			t.Errorf("%d visitors, and %d in another order", one.Estimate(), halves[0].Estimate())
		}
	}
}

// TestVisitorsError: days of 40,000 visitors, where the sketch is at its
// worst, keep to what is said.
func TestVisitorsError(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; make test runs it")
	}
	random := rand.New(rand.NewPCG(1, 2))
	const days, visitors = 300, 40_000
	off := 0
	for range days {
		var v rollup.Visitors
		for range visitors {
			v.Insert(random.Uint64())
		}
		if math.Abs(float64(v.Estimate())-visitors) > snip.VisitorsError*visitors {
			off++
		}
	}
	if off > 1 {
		t.Errorf("%d of %d days are off by more than %v", off, days, snip.VisitorsError)
	}
}

func reopen(t *testing.T, v *rollup.Visitors) *rollup.Visitors {
	t.Helper()
	b, err := v.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = rollup.DecodeVisitors(b); err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzDecode(f *testing.F) {
	var l link
	for i := range 20 {
		l.click(&snip.Click{Browser: fmt.Sprint(i), Class: snip.Class(i % 5)})
	}
	f.Add(l.values.Append(nil), int64(20), int64(4))
	f.Add(l.facts.Append(nil), l.facts.Clicks, l.facts.HumanClicks)
	f.Add([]byte(olderValues), int64(3), int64(2))
	f.Add([]byte(olderFacts), int64(3), int64(2))
	var v rollup.Visitors
	for i := range uint64(60) {
		v.Insert(i * 0x9e3779b97f4a7c15)
		if i == 10 || i == 59 {
			b, err := v.Append(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, int64(0), int64(0))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, clicks, human int64) {
		if values, err := rollup.DecodeValues(b); err == nil {
			values.Append(nil)
		}
		if v, err := rollup.DecodeVisitors(b); err == nil {
			v.Insert(1)
			v.Estimate()
		}
		total := snip.Counts{Clicks: max(0, clicks), HumanClicks: min(max(0, clicks), max(0, human))}
		facts, err := rollup.DecodeFacts(b, total)
		if err != nil {
			return
		}
		sums := map[snip.Dimension]snip.Counts{}
		facts.Each(func(d snip.Dimension, _ rollup.Place, c snip.Counts) {
			sum := sums[d]
			sum.Add(c)
			sums[d] = sum
		})
		for sum := range maps.Values(sums) {
			if sum != total {
				t.Fatalf("%+v, want %+v", sum, total)
			}
		}
	})
}
