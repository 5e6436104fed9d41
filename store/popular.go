package store

import (
	"context"

	"snip"
)

// Popular returns the links that people followed most, of those that the key sees.
// CountedUpTo and Dropped stay zero: the store cannot know them.
func (v *View) Popular(ctx context.Context, r snip.Range, limit int) (snip.Popular, error) {
	if err := r.Check(snip.StepMonth); err != nil {
		return snip.Popular{}, err
	}
	if limit < 1 || limit > snip.MaxTop {
		return snip.Popular{}, &snip.Error{Code: snip.Invalid, Field: "limit", Message: "Must be a whole number from 1 to 1000."}
	}
	var p snip.Popular
	err := v.store.read(ctx, func(tx session) (err error) {
		p, err = v.readPopular(ctx, tx, r, limit)
		return err
	})
	return p, v.store.failed("read popular links", err)
}

func (v *View) readPopular(ctx context.Context, tx session, r snip.Range, limit int) (snip.Popular, error) {
	in := spanOf(r)
	var total snip.Counts
	var coarse int64
	all := snip.StatsQuery{}
	err := v.eachPage(ctx, tx, all, func(links []int64) error {
		c, end, err := readTotal(ctx, tx, links, in)
		total.Add(c)
		coarse = max(coarse, end)
		return err
	})
	if err != nil {
		return snip.Popular{}, err
	}
	p := snip.Popular{Range: r, Counts: total, More: total, Coarse: instant(coarse)}
	p.Links, err = v.readPopularLinks(ctx, tx, in, limit)
	for _, l := range p.Links {
		p.More.Clicks -= l.Clicks
		p.More.HumanClicks -= l.HumanClicks
	}
	return p, err
}

func (v *View) readPopularLinks(ctx context.Context, tx session, s span, limit int) ([]snip.LinkCount, error) {
	args := []any{s.start - longest, s.start, s.end, limit}
	from, seen := "rollups", ""
	if v.limited() {
		set, err := v.setOf(ctx, tx, snip.StatsQuery{})
		if err != nil {
			return nil, err
		}
		from = "rollups JOIN links ON links.id = link_id"
		seen, args = set.conditions(args)
	}
	rows, err := tx.QueryContext(ctx, `
		SELECT `+linkColumns+`, c, h
		FROM (
			SELECT link_id AS top_id, SUM(rollups.clicks) AS c, SUM(rollups.human_clicks) AS h FROM `+from+`
			WHERE generation = 0 AND slot > $1 AND slot < $3 AND link_id <> 0
				AND slot + seconds / 2 >= $2 AND slot + seconds / 2 < $3`+seen+`
			GROUP BY link_id ORDER BY h DESC, c DESC, link_id LIMIT $4
		) AS top JOIN links ON links.id = top_id
		ORDER BY h DESC, c DESC, top_id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var links []snip.LinkCount
	for rows.Next() {
		var l snip.LinkCount
		if l.Link, err = scanLink(rows, &l.Clicks, &l.HumanClicks); err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, rows.Err()
}
