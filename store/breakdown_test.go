package store

import (
	"fmt"
	"testing"

	"snip"
)

// TestManyTexts: one answer keeps so many values of a dimension apart, those that came
// first with all their clicks, and the others are counted together.
func TestManyTexts(t *testing.T) {
	v := valueCounts{texts: map[string]snip.Counts{}}
	const more = 10
	for round := range int64(2) {
		for i := range manyTexts + more {
			v.add(fmt.Sprint(i), snip.Counts{Clicks: 1 + round, HumanClicks: round})
		}
	}
	if got, want := v.texts["0"], (snip.Counts{Clicks: 3, HumanClicks: 1}); len(v.texts) != manyTexts || got != want {
		t.Errorf("%d values are kept apart, the first with %+v, want %d with %+v", len(v.texts), got, manyTexts, want)
	}
	if want := (snip.Counts{Clicks: 3 * more, HumanClicks: more}); v.other != want {
		t.Errorf("others have %+v, want %+v", v.other, want)
	}
	b := v.breakdown(snip.MaxTop)
	sum := b.More
	sum.Add(b.Other)
	for _, c := range b.Top {
		sum.Add(c.Counts)
	}
	if want := (snip.Counts{Clicks: 3 * (manyTexts + more), HumanClicks: manyTexts + more}); sum != want || len(b.Top) != snip.MaxTop {
		t.Errorf("%d values at the top, all have %+v, want %d and %+v", len(b.Top), sum, snip.MaxTop, want)
	}
}
