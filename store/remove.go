package store

import (
	"context"
	"slices"
	"sort"

	"snip"
	"snip/rollup"
)

// removeCounts erases what was counted for a link that is gone, and takes it out of
// what was counted for all links together, in the generation that is shown and in
// one that is being built. Visitors cannot be taken out: nobody knows who of them
// came for other links, too.
func removeCounts(ctx context.Context, tx session, link int64) error {
	if err := shareGeneration(ctx, tx); err != nil {
		return err
	}
	building, err := readBuilding(ctx, tx)
	if err != nil {
		return err
	}
	for _, generation := range slices.Compact([]int{shown, building}) {
		if err := lockInstance(ctx, tx, generation, snip.Counts{}); err != nil {
			return err
		}
		rows, err := readRollups(ctx, tx, generation, link, always)
		if err != nil {
			return err
		}
		for rest := rows; len(rest) > 0; {
			n := within(rest, week)
			if err := subtract(ctx, tx, generation, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		if err := deleteRollups(ctx, tx, generation, rows); err != nil {
			return err
		}
		if err := deleteDays(ctx, tx, generation, rows); err != nil {
			return err
		}
	}
	return nil
}

// week bounds how much of all links is in memory at once, in seconds.
const week = 7 * secondsPerDay

// within returns how many of the first rows begin within a time.
func within(rows []*rollupRow, seconds int64) int {
	return sort.Search(len(rows), func(i int) bool { return rows[i].slot >= rows[0].slot+seconds })
}

// subtract takes the clicks of a link out of those of all links.
func subtract(ctx context.Context, tx session, generation int, rows []*rollupRow) error {
	days, err := daysOf(ctx, tx, generation, rows)
	if err != nil {
		return err
	}
	in := span{rows[0].slot - longest, rows[len(rows)-1].slot + longest}
	all, err := readRollups(ctx, tx, generation, allLinks, in)
	if err != nil {
		return err
	}
	allDays, err := daysOf(ctx, tx, generation, all)
	if err != nil {
		return err
	}
	var total snip.Counts
	changed := map[*rollupRow]bool{}
	for _, r := range rows {
		from := holding(all, r)
		if from == nil {
			continue // It cannot be, while totals are the sum of their parts.
		}
		values, allValues := days[dayOf(r.slot)].values, allDays[dayOf(from.slot)].values
		from.facts.Subtract(r.facts, func(d snip.Dimension, p rollup.Place) rollup.Place {
			return allValues.Find(d, values, p)
		})
		changed[from] = true
		total.Clicks -= r.facts.Clicks
		total.HumanClicks -= r.facts.HumanClicks
	}
	if err := lockInstance(ctx, tx, generation, total); err != nil {
		return err
	}
	var left, empty []*rollupRow
	for r := range changed {
		if r.facts.Clicks == 0 {
			empty = append(empty, r)
		} else {
			left = append(left, r)
		}
	}
	if err := deleteRollups(ctx, tx, generation, empty); err != nil {
		return err
	}
	return saveBoth(ctx, tx, generation, nil, left)
}

// holding returns the rollup of all links in which one of a link is counted: the one
// of the same time, or the compacted day around it.
func holding(all []*rollupRow, r *rollupRow) *rollupRow {
	after := sort.Search(len(all), func(i int) bool { return all[i].slot > r.slot })
	var around *rollupRow
	for i := after - 1; i >= 0 && all[i].slot > r.slot-longest; i-- {
		switch a := all[i]; {
		case a.slot == r.slot && a.seconds == r.seconds:
			return a
		case r.slot+r.seconds <= a.slot+a.seconds:
			around = a
		}
	}
	return around
}
