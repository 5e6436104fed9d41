package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sort"
	"time"

	"snip"
	"snip/rollup"
)

// longest is more than a rollup can be long: a day, compacted, of 25 hours or so.
const longest = 2 * 24 * 60 * 60

// Stats returns what was counted, all of it as of one moment. CountedUpTo and Dropped
// stay zero: the store cannot know them.
func (s *Store) Stats(ctx context.Context, q snip.StatsQuery) (snip.Stats, error) {
	if err := q.Check(); err != nil {
		return snip.Stats{}, err
	}
	var stats snip.Stats
	err := s.read(ctx, func(tx session) error {
		ids, err := linkIDs(ctx, tx, q.Codes)
		if err != nil {
			return err
		}
		stats, err = readStats(ctx, tx, q, ids)
		return err
	})
	return stats, s.failed("read statistics", err)
}

// linkIDs finds links, each once, or all links together if there are no codes.
func linkIDs(ctx context.Context, tx session, codes []string) ([]int64, error) {
	if len(codes) == 0 {
		return []int64{allLinks}, nil
	}
	var ids []int64
	for _, code := range codes {
		var id int64
		err := tx.QueryRowContext(ctx, `SELECT id FROM links WHERE domain = $1 AND code = $2`, ownDomain, code).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, notFound(code)
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// span is a range on the clock of the tables.
type span struct{ start, end int64 }

func spanOf(r snip.Range) span {
	start, end := r.Bounds()
	return span{start.Unix(), end.Unix()}
}

// holds tells whether a rollup counts in the span: by its middle. Only a compacted
// day can lie on the edge of one.
func (s span) holds(slot, seconds int64) bool {
	middle := slot + seconds/2
	return s.start <= middle && middle < s.end
}

// cuts tells whether a rollup lies on an edge of the span.
func (s span) cuts(slot, seconds int64) bool {
	return slot < s.start && s.start < slot+seconds || slot < s.end && s.end < slot+seconds
}

func readStats(ctx context.Context, tx session, q snip.StatsQuery, ids []int64) (snip.Stats, error) {
	stats := snip.Stats{Codes: q.Codes, Range: q.Range, Step: q.Step}
	t := newTally(q)
	for _, id := range ids {
		if err := t.read(ctx, tx, id); err != nil {
			return stats, err
		}
	}
	for i, c := range t.counts {
		stats.Counts.Add(c)
		stats.Series = append(stats.Series, snip.Point{Start: t.steps[i], Counts: c})
	}
	for d := range stats.Dimensions {
		stats.Dimensions[d] = t.values[d].breakdown(q.Top)
	}
	before := q.Range.Before()
	stats.Before = snip.Period{From: before.From, To: before.To, Counts: t.before}
	stats.Visitors = t.visitorsOfDays()
	stats.Coarse = instant(t.coarse)
	return stats, nil
}

// instant returns a moment in seconds since 1970, or the zero time for 0.
func instant(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// What is shown of a link in some time. With their order, SQLite goes by the link and
// not through all that was in that time.
const (
	linkRollups = `
		SELECT slot, seconds, clicks, human_clicks, facts FROM rollups
		WHERE generation = 0 AND link_id = $1 AND slot > $2 AND slot < $3
		ORDER BY slot, seconds`
	linkTotals = `
		SELECT slot, seconds, clicks, human_clicks FROM rollups
		WHERE generation = 0 AND link_id = $1 AND slot > $2 AND slot < $3
		ORDER BY slot, seconds`
)

// tally adds up what a question asks for.
type tally struct {
	span, earlier span
	steps         []time.Time // And the end.
	counts        []snip.Counts
	values        [snip.NumDimensions]valueCounts
	before        snip.Counts
	visitors      map[int64]*rollup.Visitors // By UTC day.
	coarse        int64
}

func newTally(q snip.StatsQuery) *tally {
	t := &tally{
		span: spanOf(q.Range), earlier: spanOf(q.Range.Before()),
		steps: q.Range.Steps(q.Step), visitors: map[int64]*rollup.Visitors{},
	}
	t.counts = make([]snip.Counts, len(t.steps)-1)
	for d := range t.values {
		t.values[d].texts = map[string]snip.Counts{}
	}
	return t
}

// read adds what was counted for a link.
func (t *tally) read(ctx context.Context, tx session, link int64) error {
	days, err := t.readDays(ctx, tx, link)
	if err != nil {
		return err
	}
	before, coarse, err := readTotal(ctx, tx, link, t.earlier)
	if err != nil {
		return err
	}
	t.before.Add(before)
	t.coarse = max(t.coarse, coarse)
	rows, err := tx.QueryContext(ctx, linkRollups, link, t.span.start-longest, t.span.end)
	if err != nil {
		return err
	}
	defer rows.Close()
	var places placeCounts // Of the day of the rows before.
	for rows.Next() {
		var slot, seconds int64
		var c snip.Counts
		var facts sql.RawBytes
		if err := rows.Scan(&slot, &seconds, &c.Clicks, &c.HumanClicks, &facts); err != nil {
			return err
		}
		if t.span.cuts(slot, seconds) {
			t.coarse = max(t.coarse, slot+seconds)
		}
		if !t.span.holds(slot, seconds) {
			continue
		}
		t.add(slot, seconds, c)
		if day := days[dayOf(slot)]; day != places.day {
			t.fold(&places)
			places.day = day
		}
		if err := rollup.EachFact(facts, c, places.add); err != nil {
			return err
		}
	}
	t.fold(&places)
	return rows.Err()
}

// add adds to the step in which a rollup counts.
func (t *tally) add(slot, seconds int64, c snip.Counts) {
	middle := slot + seconds/2
	i := sort.Search(len(t.counts), func(i int) bool { return middle < t.steps[i+1].Unix() })
	t.counts[i].Add(c)
	if (span{t.steps[i].Unix(), t.steps[i+1].Unix()}).cuts(slot, seconds) {
		t.coarse = max(t.coarse, slot+seconds)
	}
}

// readTotal adds up what was counted for a link in a span. If compacted days lie on
// the edges of it, coarse is the end of the last one.
func readTotal(ctx context.Context, tx session, link int64, in span) (total snip.Counts, coarse int64, err error) {
	rows, err := tx.QueryContext(ctx, linkTotals, link, in.start-longest, in.end)
	if err != nil {
		return total, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var slot, seconds int64
		var c snip.Counts
		if err := rows.Scan(&slot, &seconds, &c.Clicks, &c.HumanClicks); err != nil {
			return total, 0, err
		}
		if in.cuts(slot, seconds) {
			coarse = max(coarse, slot+seconds)
		}
		if in.holds(slot, seconds) {
			total.Add(c)
		}
	}
	return total, coarse, rows.Err()
}

// readDays returns the days of a link that rollups of the range can refer to, and
// takes in the visitors of those that the range touches.
func (t *tally) readDays(ctx context.Context, tx session, link int64) (map[int64]*dayRow, error) {
	first, last := dayOf(t.span.start), dayOf(t.span.end-1)
	var rows []*dayRow
	for day := dayOf(t.span.start - longest); day <= last; day++ {
		rows = append(rows, newDay(link, day))
	}
	if err := loadDays(ctx, tx, shown, rows); err != nil {
		return nil, err
	}
	days := make(map[int64]*dayRow, len(rows))
	for _, r := range rows {
		days[r.day] = r
		if r.day < first {
			continue
		}
		if t.visitors[r.day] == nil {
			t.visitors[r.day] = &rollup.Visitors{}
		}
		if err := t.visitors[r.day].Merge(r.visitors); err != nil {
			return nil, err
		}
	}
	return days, nil
}

func (t *tally) visitorsOfDays() []snip.Visitors {
	var all []snip.Visitors
	for day, v := range t.visitors {
		if n := v.Estimate(); n > 0 {
			all = append(all, snip.Visitors{Day: snip.DateOf(time.Unix(day*secondsPerDay, 0).UTC()), Visitors: n})
		}
	}
	slices.SortFunc(all, func(x, y snip.Visitors) int { return x.Day.Sub(y.Day) })
	return all
}

const secondsPerDay = 24 * 60 * 60

// dayOf returns the UTC day of a moment in seconds since 1970.
func dayOf(seconds int64) int64 { return snip.Day(time.Unix(seconds, 0)) }
