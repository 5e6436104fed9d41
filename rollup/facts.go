package rollup

import (
	"encoding/binary"
	"slices"

	"snip"
)

// Facts are the clicks of one link within a span of time, by the places of their
// values. In every dimension they add up to Counts. The zero value has none.
type Facts struct {
	snip.Counts
	entries [snip.NumDimensions][]entry // In the order of their places.
}

type entry struct {
	place Place
	snip.Counts
}

// Places are the places of one click's values.
type Places [snip.NumDimensions]Place

// Add counts one click.
func (f *Facts) Add(places *Places, human bool) {
	one := snip.Counts{Clicks: 1}
	if human {
		one.HumanClicks = 1
	}
	if f.Clicks == 0 {
		// All at once: most rows never get a second click.
		first := make([]entry, snip.NumDimensions)
		for d := range f.entries {
			f.entries[d] = first[d : d : d+1]
		}
	}
	f.Counts.Add(one)
	for d, p := range places {
		f.at(d, p).Add(one)
	}
}

// Merge adds what was counted elsewhere, with the places that move gives for those
// there.
func (f *Facts) Merge(g *Facts, move func(snip.Dimension, Place) Place) {
	f.Counts.Add(g.Counts)
	for d, entries := range g.entries {
		for _, e := range entries {
			f.at(d, move(snip.Dimension(d), e.place)).Add(e.Counts)
		}
	}
}

// Subtract takes away what was merged before. What is not at its place is taken from
// Other, and what is not there either from wherever there is some: so the dimensions
// still add up.
func (f *Facts) Subtract(g *Facts, move func(snip.Dimension, Place) Place) {
	f.Clicks -= g.Clicks
	f.HumanClicks -= g.HumanClicks
	for d, entries := range g.entries {
		for _, e := range entries {
			rest := e.Counts
			take(f.at(d, move(snip.Dimension(d), e.place)), &rest)
			take(f.at(d, Other), &rest)
			for i := range f.entries[d] {
				take(&f.entries[d][i].Counts, &rest)
			}
		}
		f.entries[d] = slices.DeleteFunc(f.entries[d], func(e entry) bool { return e.Counts == snip.Counts{} })
	}
}

// take moves as much of rest from c as c has, so that c stays possible: people are
// not more than all.
func take(c, rest *snip.Counts) {
	others := min(c.Clicks-c.HumanClicks, rest.Clicks-rest.HumanClicks)
	people := min(c.HumanClicks, rest.HumanClicks)
	for _, x := range []*snip.Counts{c, rest} {
		x.Clicks -= others + people
		x.HumanClicks -= people
	}
}

// at returns the counts of a place, which it makes if there are none yet.
func (f *Facts) at(d int, p Place) *snip.Counts {
	entries := f.entries[d]
	// The first places are those of the values that come most.
	i, n := 0, len(entries)
	if n <= few {
		for i < n && entries[i].place < p {
			i++
		}
	} else {
		i, _ = slices.BinarySearchFunc(entries, p, func(e entry, p Place) int { return int(e.place) - int(p) })
	}
	if i == n || entries[i].place != p {
		f.entries[d] = slices.Insert(entries, i, entry{place: p})
	}
	return &f.entries[d][i].Counts
}

// Each calls do with what was counted for each place.
func (f *Facts) Each(do func(d snip.Dimension, p Place, c snip.Counts)) {
	for d, entries := range f.entries {
		for _, e := range entries {
			do(snip.Dimension(d), e.place, e.Counts)
		}
	}
}

// Append encodes all but Counts. Per dimension, with unsigned varints: if one place
// has all clicks, twice its number and 1; else twice the number of places, and each
// with its clicks and those of people.
func (f *Facts) Append(dst []byte) []byte {
	size := 2
	for _, entries := range f.entries {
		size += 1 + 4*len(entries) // About: most numbers take a byte.
	}
	dst = slices.Grow(dst, size)
	dst = append(dst, version, byte(snip.NumDimensions))
	for _, entries := range f.entries {
		if len(entries) == 1 {
			dst = binary.AppendUvarint(dst, uint64(entries[0].place)<<1|1)
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(len(entries))<<1)
		for _, e := range entries {
			dst = binary.AppendUvarint(dst, uint64(e.place))
			dst = binary.AppendUvarint(dst, uint64(e.Clicks))
			dst = binary.AppendUvarint(dst, uint64(e.HumanClicks))
		}
	}
	return dst
}

// DecodeFacts reads what Append wrote, given the counts. Where nothing is told of a
// dimension, as of all of them by no bytes at all, everything is Other.
func DecodeFacts(b []byte, total snip.Counts) (*Facts, error) {
	f := &Facts{Counts: total}
	entries := make([]entry, 0, max(int(snip.NumDimensions), len(b)/3))
	var last [snip.NumDimensions]int
	err := EachFact(b, total, func(d snip.Dimension, p Place, c snip.Counts) {
		entries = append(entries, entry{p, c})
		last[d] = len(entries)
	})
	if err != nil {
		return nil, err
	}
	from := 0
	for d, to := range last {
		to = max(from, to) // 0 where nothing is told, of no clicks at all.
		f.entries[d] = entries[from:to:to]
		from = to
	}
	return f, nil
}

// EachFact calls do with what an encoding tells, without making Facts of it: in the
// order of dimensions, and of places in each.
func EachFact(b []byte, total snip.Counts, do func(d snip.Dimension, p Place, c snip.Counts)) error {
	told := 0
	if len(b) > 0 {
		if len(b) < 2 || b[0] != version || b[1] > byte(snip.NumDimensions) {
			return errFormat
		}
		told = int(b[1])
		b = b[2:]
	}
	for d := range snip.NumDimensions {
		if int(d) >= told {
			do(d, Other, total)
			continue
		}
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return errFormat
		}
		b = b[n:]
		if head&1 == 1 {
			if head>>1 > 1<<16-1 {
				return errFormat
			}
			do(d, Place(head>>1), total)
			continue
		}
		rest := total
		next := uint64(0) // Places rise.
		for range head >> 1 {
			var x [3]uint64
			for i := range x {
				if x[i], n = binary.Uvarint(b); n <= 0 {
					return errFormat
				}
				b = b[n:]
			}
			if x[0] < next || x[0] > 1<<16-1 || x[1] > uint64(rest.Clicks) || x[2] > uint64(rest.HumanClicks) {
				return errFormat
			}
			next = x[0] + 1
			c := snip.Counts{Clicks: int64(x[1]), HumanClicks: int64(x[2])}
			rest.Clicks -= c.Clicks
			rest.HumanClicks -= c.HumanClicks
			do(d, Place(x[0]), c)
		}
		if rest != (snip.Counts{}) {
			return errFormat
		}
	}
	if len(b) > 0 {
		return errFormat
	}
	return nil
}
