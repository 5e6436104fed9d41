package store

import (
	"cmp"
	"context"
	"slices"

	"snip"
	"snip/rollup"
)

const (
	manyPlaces = 50_000  // Counts by place for which there is room, beside those of one link.
	manyTexts  = 500_000 // Values of a dimension that are kept apart in one answer.
)

// dayCounts is what was counted for links, by link and UTC day: rollups of one day refer
// to the same values, which need not be in memory for it.
type dayCounts struct {
	order  []*placeCounts
	days   map[dayKey]*placeCounts
	places int // Of all days.
}

type dayKey struct{ link, day int64 }

// placeCounts adds up facts that refer to one day, by place: most rows of a day have
// the same few.
type placeCounts struct {
	dayKey
	counts [snip.NumDimensions][]snip.Counts
	of     *dayCounts
}

func newDayCounts() *dayCounts { return &dayCounts{days: map[dayKey]*placeCounts{}} }

// of returns the counts of the day to which a rollup refers. Those of all days that it
// touches are made, since their visitors came to it.
func (c *dayCounts) of(link, slot, seconds int64) *placeCounts {
	for day := dayOf(slot); day <= dayOf(slot+seconds-1); day++ {
		key := dayKey{link, day}
		if c.days[key] == nil {
			c.days[key] = &placeCounts{dayKey: key, of: c}
			c.order = append(c.order, c.days[key])
			c.places += int(snip.NumDimensions)
		}
	}
	return c.days[dayKey{link, dayOf(slot)}]
}

func (p *placeCounts) add(d snip.Dimension, at rollup.Place, c snip.Counts) {
	for len(p.counts[d]) <= int(at) {
		p.counts[d] = append(p.counts[d], snip.Counts{})
		p.of.places++
	}
	p.counts[d][at].Add(c)
}

// fold adds what was counted by place to what is counted by text, and the visitors of
// days that the range touches.
func (t *tally) fold(ctx context.Context, tx session, days *dayCounts) error {
	keys := make([][]any, len(days.order))
	for i, p := range days.order {
		keys[i] = []any{i, p.day, p.link}
	}
	first, last := dayOf(t.span.start), dayOf(t.span.end-1)
	err := eachDay(ctx, tx, shown, keys, func(i int, texts, visitors []byte) error {
		p := days.order[i]
		r := newDay(p.link, p.day)
		if err := r.decode(texts, visitors); err != nil {
			return err
		}
		t.addByText(p, r.values)
		if p.day < first || p.day > last {
			return nil
		}
		if t.visitors[p.day] == nil {
			t.visitors[p.day] = &rollup.Visitors{}
		}
		return t.visitors[p.day].Merge(r.visitors)
	})
	for _, p := range days.order {
		t.addByText(p, &rollup.Values{}) // Of days that tell no values.
	}
	return err
}

// addByText adds the counts of a day, and takes them out there.
func (t *tally) addByText(p *placeCounts, values *rollup.Values) {
	for d := range p.counts {
		for at, c := range p.counts[d] {
			if c == (snip.Counts{}) {
				continue
			}
			text, ok := values.Text(snip.Dimension(d), rollup.Place(at))
			if !ok {
				t.values[d].other.Add(c)
				continue
			}
			t.values[d].add(text, c)
		}
		p.counts[d] = nil
	}
}

// valueCounts is what was counted in one dimension.
type valueCounts struct {
	texts map[string]snip.Counts
	other snip.Counts
}

func (v *valueCounts) add(text string, c snip.Counts) {
	sum, ok := v.texts[text]
	if !ok && len(v.texts) >= manyTexts {
		v.other.Add(c)
		return
	}
	sum.Add(c)
	v.texts[text] = sum
}

// breakdown keeps the top values apart and adds up the rest.
func (v valueCounts) breakdown(top int) snip.Breakdown {
	b := snip.Breakdown{Other: v.other}
	for text, c := range v.texts {
		b.Top = append(b.Top, snip.ValueCount{Value: text, Counts: c})
	}
	slices.SortFunc(b.Top, func(x, y snip.ValueCount) int {
		return cmp.Or(cmp.Compare(y.HumanClicks, x.HumanClicks), cmp.Compare(y.Clicks, x.Clicks), cmp.Compare(x.Value, y.Value))
	})
	for _, c := range b.Top[min(top, len(b.Top)):] {
		b.More.Add(c.Counts)
	}
	b.Top = b.Top[:min(top, len(b.Top))]
	return b
}
