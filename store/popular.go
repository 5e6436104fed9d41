package store

import (
	"context"

	"snip"
)

// Popular returns the links that people followed most. CountedUpTo and Dropped stay
// zero: the store cannot know them.
func (s *Store) Popular(ctx context.Context, r snip.Range, limit int) (snip.Popular, error) {
	if err := r.Check(snip.StepMonth); err != nil {
		return snip.Popular{}, err
	}
	if limit < 1 || limit > snip.MaxTop {
		return snip.Popular{}, &snip.Error{Code: snip.Invalid, Field: "limit", Message: "Must be a whole number from 1 to 1000."}
	}
	var p snip.Popular
	err := s.read(ctx, func(tx session) (err error) {
		p, err = readPopular(ctx, tx, r, limit)
		return err
	})
	return p, s.failed("read popular links", err)
}

func readPopular(ctx context.Context, tx session, r snip.Range, limit int) (snip.Popular, error) {
	in := spanOf(r)
	total, coarse, err := readTotal(ctx, tx, allLinks, in)
	if err != nil {
		return snip.Popular{}, err
	}
	p := snip.Popular{Range: r, Counts: total, More: total, Coarse: instant(coarse)}
	p.Links, err = readPopularLinks(ctx, tx, in, limit)
	for _, l := range p.Links {
		p.More.Clicks -= l.Clicks
		p.More.HumanClicks -= l.HumanClicks
	}
	return p, err
}

func readPopularLinks(ctx context.Context, tx session, s span, limit int) ([]snip.LinkCount, error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT `+linkColumns+`, c, h
		FROM (
			SELECT link_id, SUM(r.clicks) AS c, SUM(r.human_clicks) AS h FROM rollups r
			WHERE generation = 0 AND slot > $1 AND slot < $3 AND link_id <> 0
				AND slot + seconds / 2 >= $2 AND slot + seconds / 2 < $3
			GROUP BY link_id ORDER BY h DESC, c DESC, link_id LIMIT $4
		) AS top JOIN links ON id = link_id
		ORDER BY h DESC, c DESC, link_id`, s.start-longest, s.start, s.end, limit)
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
