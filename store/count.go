package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"snip"
	"snip/rollup"
)

// allLinks is the link_id under which all links together are counted.
const allLinks = 0

// CountClicks adds clicks to their links, and to what is shown of them, in the
// transaction of the caller. Those of a link that is not there any more are left out
// everywhere, so that totals are always the sum of their parts.
//
// Of several transactions at once that count for one link, all but one wait: for the
// link's row, which each locks first, links by their number. The row of the instance
// comes after all of them, so that two only wait there for the end of the other.
func (s *Store) CountClicks(ctx context.Context, tx *sql.Tx, generation int, clicks []snip.Click) error {
	in := s.session(tx)
	b := batch{generation: generation, clicks: make([]*snip.Click, 0, len(clicks))}
	for i := range clicks {
		b.clicks = append(b.clicks, &clicks[i])
	}
	slices.SortFunc(b.clicks, func(x, y *snip.Click) int {
		return cmp.Or(cmp.Compare(x.Link, y.Link), x.At.Compare(y.At))
	})
	if err := shareGeneration(ctx, in); err != nil {
		return fmt.Errorf("store: count clicks: %w", err)
	}
	if err := b.lockLinks(ctx, in); err != nil {
		return fmt.Errorf("store: count clicks of links: %w", err)
	}
	if len(b.clicks) == 0 {
		return nil
	}
	if err := b.countLinks(ctx, in); err != nil {
		return fmt.Errorf("store: count clicks: %w", err)
	}
	if err := b.countAll(ctx, in); err != nil {
		return fmt.Errorf("store: count clicks of all links: %w", err)
	}
	return nil
}

// batch is clicks on their way into the tables.
type batch struct {
	generation int
	clicks     []*snip.Click   // By link, then time.
	places     []rollup.Places // Of each click, among the values of its link and day.
	days       []*dayRow       // Of each click. Many share one.
}

// lockLinks adds to the totals of links, which locks them, and drops the clicks of
// those that are not there. The totals are those of what is shown.
func (b *batch) lockLinks(ctx context.Context, tx session) error {
	var totals, ids [][]any
	for i := 0; i < len(b.clicks); {
		id := b.clicks[i].Link
		var c snip.Counts
		for ; i < len(b.clicks) && b.clicks[i].Link == id; i++ {
			c.Clicks++
			if b.clicks[i].Class == snip.Human {
				c.HumanClicks++
			}
		}
		totals = append(totals, []any{id, c.Clicks, c.HumanClicks})
		ids = append(ids, []any{id})
	}
	if err := lockInOrder(ctx, tx, ids); err != nil {
		return err
	}
	there := make(map[int64]bool, len(totals))
	found := func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		there[id] = true
		return err
	}
	var err error
	if b.generation == shown {
		err = inChunks(ctx, tx, `
			UPDATE links SET clicks = clicks + v.column2, human_clicks = human_clicks + v.column3
			FROM (VALUES %s) AS v WHERE links.id = v.column1
			RETURNING links.id`, totals, found)
	} else {
		err = inChunks(ctx, tx, `SELECT id FROM links WHERE id IN (SELECT column1 FROM (VALUES %s) AS v)`, ids, found)
	}
	b.clicks = slices.DeleteFunc(b.clicks, func(c *snip.Click) bool { return !there[c.Link] })
	return err
}

// countLinks adds clicks to the days and rollups of their links.
func (b *batch) countLinks(ctx context.Context, tx session) error {
	var days []*dayRow
	var rollups []*rollupRow
	for _, c := range b.clicks {
		day, slot := snip.Day(c.At), slotOf(c)
		if n := len(days); n == 0 || days[n-1].link != c.Link || days[n-1].day != day {
			days = append(days, newDay(c.Link, day))
		}
		if n := len(rollups); n == 0 || rollups[n-1].link != c.Link || rollups[n-1].slot != slot {
			rollups = append(rollups, newRollup(c.Link, slot))
		}
	}
	if err := loadDays(ctx, tx, b.generation, days); err != nil {
		return err
	}
	if err := loadRollups(ctx, tx, b.generation, rollups); err != nil {
		return err
	}
	b.places = make([]rollup.Places, len(b.clicks))
	b.days = make([]*dayRow, len(b.clicks))
	d, r := 0, 0
	for i, c := range b.clicks {
		for days[d].link != c.Link || days[d].day != snip.Day(c.At) {
			d++
		}
		for rollups[r].link != c.Link || rollups[r].slot != slotOf(c) {
			r++
		}
		b.days[i] = days[d]
		days[d].add(c, &b.places[i])
		rollups[r].facts.Add(&b.places[i], c.Class == snip.Human)
	}
	return saveBoth(ctx, tx, b.generation, days, rollups)
}

// countAll adds the clicks to those of all links together. What is not kept apart for
// a link is not kept apart there either: so a link can be taken out again.
func (b *batch) countAll(ctx context.Context, tx session) error {
	var total snip.Counts
	for _, c := range b.clicks {
		total.Clicks++
		if c.Class == snip.Human {
			total.HumanClicks++
		}
	}
	if err := lockInstance(ctx, tx, b.generation, total); err != nil {
		return err
	}
	byDay, bySlot := map[int64]*dayRow{}, map[int64]*rollupRow{}
	for _, c := range b.clicks {
		if day := snip.Day(c.At); byDay[day] == nil {
			byDay[day] = newDay(allLinks, day)
		}
		if slot := slotOf(c); bySlot[slot] == nil {
			bySlot[slot] = newRollup(allLinks, slot)
		}
	}
	days := slices.SortedFunc(maps.Values(byDay), func(x, y *dayRow) int { return cmp.Compare(x.day, y.day) })
	rollups := slices.SortedFunc(maps.Values(bySlot), func(x, y *rollupRow) int { return cmp.Compare(x.slot, y.slot) })
	if err := loadDays(ctx, tx, b.generation, days); err != nil {
		return err
	}
	if err := loadRollups(ctx, tx, b.generation, rollups); err != nil {
		return err
	}
	for i, c := range b.clicks {
		all := byDay[snip.Day(c.At)]
		var places rollup.Places
		for d, p := range b.places[i] {
			places[d] = all.placeOf(b.days[i], snip.Dimension(d), p)
		}
		all.see(c)
		bySlot[slotOf(c)].facts.Add(&places, c.Class == snip.Human)
	}
	return saveBoth(ctx, tx, b.generation, days, rollups)
}

// lockInstance locks the row of the instance, and adds to its total if the generation
// is the one that is shown.
func lockInstance(ctx context.Context, tx session, generation int, c snip.Counts) error {
	if generation != shown {
		c = snip.Counts{}
	}
	_, err := tx.ExecContext(ctx, `UPDATE instance SET clicks = clicks + $1, human_clicks = human_clicks + $2`, c.Clicks, c.HumanClicks)
	return err
}
