package store

import (
	"cmp"
	"slices"

	"snip"
	"snip/rollup"
)

// placeCounts adds up facts that refer to one day, by place: most rows of a day have
// the same few.
type placeCounts struct {
	day    *dayRow
	counts [snip.NumDimensions][]snip.Counts
}

func (p *placeCounts) add(d snip.Dimension, at rollup.Place, c snip.Counts) {
	for len(p.counts[d]) <= int(at) {
		p.counts[d] = append(p.counts[d], snip.Counts{})
	}
	p.counts[d][at].Add(c)
}

// fold adds what was counted by place to what is counted by text, and begins anew.
func (t *tally) fold(p *placeCounts) {
	for d := range p.counts {
		for at, c := range p.counts[d] {
			if c == (snip.Counts{}) {
				continue
			}
			text, ok := p.day.values.Text(snip.Dimension(d), rollup.Place(at))
			if !ok {
				t.values[d].other.Add(c)
				continue
			}
			sum := t.values[d].texts[text]
			sum.Add(c)
			t.values[d].texts[text] = sum
		}
		p.counts[d] = p.counts[d][:0]
	}
}

// valueCounts is what was counted in one dimension.
type valueCounts struct {
	texts map[string]snip.Counts
	other snip.Counts
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
