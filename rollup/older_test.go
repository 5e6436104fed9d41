package rollup_test

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snip"
	"snip/rollup"
)

// What was kept of one link and day when clicks had ten dimensions, without alias and
// arm: two clicks of people and one of a program.
const (
	olderValues = "\x01\x0a" +
		"\x02\x05human\x03bot" + "\x02\x09r.example\x00" + "\x01\x06direct" + "\x01\x07Firefox" + "\x01\x05Linux" +
		"\x01\x07desktop" + "\x01\x02de" + "\x01\x02CH" + "\x01\x05CH-ZH" + "\x01\x00"
	olderFacts = "\x01\x0a" +
		"\x04\x01\x02\x02\x02\x01\x00" + "\x04\x01\x01\x01\x02\x02\x01" + "\x03\x03\x03\x03\x03\x03\x03\x03"
)

func olderTotal() snip.Counts { return snip.Counts{Clicks: 3, HumanClicks: 2} }

// openOlder returns the link of the encodings above, with its sums.
func openOlder(t *testing.T) *link {
	t.Helper()
	values, err := rollup.DecodeValues([]byte(olderValues))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := rollup.DecodeFacts([]byte(olderFacts), olderTotal())
	if err != nil {
		t.Fatal(err)
	}
	l := &link{values: *values, facts: *facts, total: olderTotal()}
	l.sums = [snip.NumDimensions]map[string]snip.Counts{
		snip.ByClass:    {"human": {Clicks: 2, HumanClicks: 2}, "bot": {Clicks: 1}},
		snip.ByReferrer: {"r.example": {Clicks: 1, HumanClicks: 1}, "": {Clicks: 2, HumanClicks: 1}},
		snip.ByMedium:   {"direct": l.total}, snip.ByBrowser: {"Firefox": l.total}, snip.ByOS: {"Linux": l.total},
		snip.ByDevice: {"desktop": l.total}, snip.ByLanguage: {"de": l.total}, snip.ByCountry: {"CH": l.total},
		snip.ByRegion: {"CH-ZH": l.total}, snip.ByCampaign: {"": l.total},
		snip.ByAlias: {"(other)": l.total}, snip.ByArm: {"(other)": l.total},
	}
	return l
}

func (l *link) check(t *testing.T, of string) {
	t.Helper()
	if l.facts.Counts != l.total {
		t.Errorf("%s: %+v, want %+v", of, l.facts.Counts, l.total)
	}
	if diff := cmp.Diff(l.sums, read(&l.values, &l.facts)); diff != "" {
		t.Errorf("%s: %s", of, diff)
	}
}

// reopen keeps a link and reads it again.
func (l *link) reopen(t *testing.T) {
	t.Helper()
	values, err := rollup.DecodeValues(l.values.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := rollup.DecodeFacts(l.facts.Append(nil), l.facts.Counts)
	if err != nil {
		t.Fatal(err)
	}
	l.values, l.facts = *values, *facts
}

// TestOlderEncodings: what was counted before there were some of the dimensions is
// Other in them, and stays so whatever comes on top.
func TestOlderEncodings(t *testing.T) {
	l := openOlder(t)
	l.check(t, "as it was kept")
	l.reopen(t)
	l.check(t, "kept again")

	l.click(&snip.Click{Browser: "Firefox", Alias: "old", Arm: "r/a"})
	l.click(&snip.Click{Class: snip.Bot})
	l.check(t, "with further clicks")
	if got := l.sums[snip.ByAlias]; got["(other)"] != olderTotal() || got["old"].Clicks != 1 || got[""].Clicks != 1 {
		t.Errorf("by alias: %v", got)
	}
	l.reopen(t)
	l.check(t, "with further clicks, kept again")

	var newer link
	newer.click(&snip.Click{Browser: "Firefox", Alias: "old", Arm: "r/b"})
	for name, order := range map[string][2]*link{"older first": {l, &newer}, "newer first": {&newer, l}} {
		var both link
		for _, part := range order {
			both.merge(part)
		}
		both.check(t, "merged, "+name)
		both.reopen(t)
		for _, part := range order {
			both.facts.Subtract(&part.facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
				return both.values.Find(d, &part.values, p)
			})
			both.total.Clicks -= part.total.Clicks
			both.total.HumanClicks -= part.total.HumanClicks
			if both.total.Clicks > 0 {
				both.sums = order[1].sums
			} else {
				both.sums = [snip.NumDimensions]map[string]snip.Counts{}
			}
			both.check(t, "taken away again, "+name)
		}
	}
}

func (l *link) merge(part *link) {
	l.facts.Merge(&part.facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
		return l.values.Move(d, &part.values, p)
	})
	l.total.Add(part.total)
	for d, sums := range part.sums {
		if l.sums[d] == nil {
			l.sums[d] = map[string]snip.Counts{}
		}
		for text, c := range sums {
			sum := l.sums[d][text]
			sum.Add(c)
			l.sums[d][text] = sum
		}
	}
}

// forget returns facts as a version with fewer dimensions kept them.
func forget(f *rollup.Facts, dimensions int) []byte {
	var told [snip.NumDimensions][]byte
	var places [snip.NumDimensions]uint64
	f.Each(func(d snip.Dimension, p rollup.Place, c snip.Counts) {
		places[d]++
		for _, x := range []uint64{uint64(p), uint64(c.Clicks), uint64(c.HumanClicks)} {
			told[d] = binary.AppendUvarint(told[d], x)
		}
	})
	b := []byte{1, byte(dimensions)}
	for d := range dimensions {
		b = binary.AppendUvarint(b, places[d]<<1)
		b = append(b, told[d]...)
	}
	return b
}

// TestDimensionsAreAdded: of links that were kept when there were fewer dimensions,
// whichever, everything adds up in all of them: with further clicks, merged and taken
// away.
func TestDimensionsAreAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, rest link
		var parts [3]link
		for i := range parts {
			l := &parts[i]
			for range rapid.IntRange(1, 20).Draw(t, "clicks") {
				l.click(drawClick(t))
			}
			known := rapid.IntRange(0, int(snip.NumDimensions)).Draw(t, "dimensions")
			facts, err := rollup.DecodeFacts(forget(&l.facts, known), l.facts.Counts)
			if err != nil {
				t.Fatal(err)
			}
			l.facts = *facts
			for d := known; d < int(snip.NumDimensions); d++ {
				l.sums[d] = map[string]snip.Counts{"(other)": l.total}
			}
			for range rapid.IntRange(0, 5).Draw(t, "further clicks") {
				l.click(drawClick(t))
			}
			if diff := cmp.Diff(l.sums, read(&l.values, &l.facts)); diff != "" {
				t.Fatal(diff)
			}
			all.merge(l)
			if i > 0 {
				rest.merge(l)
			}
		}
		if diff := cmp.Diff(all.sums, read(&all.values, &all.facts)); diff != "" {
			t.Fatal(diff)
		}
		all.facts.Subtract(&parts[0].facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
			return all.values.Find(d, &parts[0].values, p)
		})
		if diff := cmp.Diff(rest.sums, read(&all.values, &all.facts)); diff != "" {
			t.Fatal(diff)
		}
	})
}
