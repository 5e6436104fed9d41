package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"snip"
	"snip/rollup"
)

// longest is more than a rollup can be long: a day, compacted, of 25 hours or so.
const longest = 2 * 24 * 60 * 60

// Stats returns what was counted for links, all of it as of one moment: for those that
// the key sees, where the question is about all. CountedUpTo and Dropped stay zero: the
// store cannot know them.
func (v *View) Stats(ctx context.Context, q snip.StatsQuery) (snip.Stats, error) {
	if err := q.Check(); err != nil {
		return snip.Stats{}, err
	}
	t := newTally(q)
	err := v.store.read(ctx, func(tx session) error {
		return v.eachPage(ctx, tx, q, func(links []int64) error { return t.read(ctx, tx, links) })
	})
	if err != nil {
		return snip.Stats{}, v.store.failed("read statistics", err)
	}
	return t.stats(q), nil
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

// instant returns a moment in seconds since 1970, or the zero time for 0.
func instant(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// What is shown of links in some time, for inChunks.
const (
	linkRollups = `
		SELECT link_id, slot, seconds, clicks, human_clicks, facts FROM (VALUES %%s) AS v CROSS JOIN rollups %s
		WHERE generation = 0 AND link_id = v.column1 AND slot > %d AND slot < %d
		ORDER BY link_id, slot, seconds`
	linkTotals = `
		SELECT slot, seconds, clicks, human_clicks FROM (VALUES %%s) AS v CROSS JOIN rollups %s
		WHERE generation = 0 AND link_id = v.column1 AND slot > %d AND slot < %d`
)

// byLink lets SQLite go by the links, and not through all that was in that time.
func byLink(tx session) string {
	if tx.kind == onSQLite {
		return "INDEXED BY rollups_link"
	}
	return ""
}

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

// read adds what was counted for links, which come in order.
func (t *tally) read(ctx context.Context, tx session, links []int64) error {
	for len(links) > 0 {
		n, err := t.readSome(ctx, tx, links)
		if err != nil {
			return err
		}
		if err := t.readBefore(ctx, tx, links[:n]); err != nil {
			return err
		}
		links = links[n:]
	}
	return nil
}

// errEnough ends a query before its end.
var errEnough = errors.New("as much as there is room for")

// readSome adds the first links, as many of them as there is room for but one at least,
// and returns how many.
func (t *tally) readSome(ctx context.Context, tx session, links []int64) (int, error) {
	// Visitors are those of whole UTC days.
	first, end := dayOf(t.span.start)*secondsPerDay, (dayOf(t.span.end-1)+1)*secondsPerDay
	days := newDayCounts()
	if links[0] == allLinks {
		// Those who followed a link that is gone came on days of which nothing else may be left.
		for day := first; day < end; day += secondsPerDay {
			days.of(allLinks, day, 1)
		}
	}
	last, n := links[0], len(links)
	err := inChunks(ctx, tx, fmt.Sprintf(linkRollups, byLink(tx), first-longest, end), keysOf(links), func(rows *sql.Rows) error {
		var link, slot, seconds int64
		var c snip.Counts
		var facts sql.RawBytes
		if err := rows.Scan(&link, &slot, &seconds, &c.Clicks, &c.HumanClicks, &facts); err != nil {
			return err
		}
		if link != last && days.places > manyPlaces {
			n = slices.Index(links, link)
			return errEnough
		}
		last = link
		counts := days.of(link, slot, seconds)
		if t.span.cuts(slot, seconds) {
			t.coarse = max(t.coarse, slot+seconds)
		}
		if !t.span.holds(slot, seconds) {
			return nil
		}
		t.add(slot, seconds, c)
		return rollup.EachFact(facts, c, counts.add)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return 0, err
	}
	return n, t.fold(ctx, tx, days)
}

// readBefore adds what was counted for links before the range.
func (t *tally) readBefore(ctx context.Context, tx session, links []int64) error {
	total, coarse, err := readTotal(ctx, tx, links, t.earlier)
	t.before.Add(total)
	t.coarse = max(t.coarse, coarse)
	return err
}

// keysOf returns links as the rows of a statement.
func keysOf(links []int64) [][]any {
	keys := make([][]any, len(links))
	for i, id := range links {
		keys[i] = []any{id}
	}
	return keys
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

// readTotal adds up what was counted for links in a span. If compacted days lie on the
// edges of it, coarse is the end of the last one.
func readTotal(ctx context.Context, tx session, links []int64, in span) (total snip.Counts, coarse int64, err error) {
	err = inChunks(ctx, tx, fmt.Sprintf(linkTotals, byLink(tx), in.start-longest, in.end), keysOf(links), func(rows *sql.Rows) error {
		var slot, seconds int64
		var c snip.Counts
		if err := rows.Scan(&slot, &seconds, &c.Clicks, &c.HumanClicks); err != nil {
			return err
		}
		if in.cuts(slot, seconds) {
			coarse = max(coarse, slot+seconds)
		}
		if in.holds(slot, seconds) {
			total.Add(c)
		}
		return nil
	})
	return total, coarse, err
}

// stats returns what was added up.
func (t *tally) stats(q snip.StatsQuery) snip.Stats {
	s := snip.Stats{Domain: q.Domain, Codes: q.Codes, Tag: q.Tag, Range: q.Range, Step: q.Step}
	for i, c := range t.counts {
		s.Counts.Add(c)
		s.Series = append(s.Series, snip.Point{Start: t.steps[i], Counts: c})
	}
	for d := range s.Dimensions {
		s.Dimensions[d] = t.values[d].breakdown(q.Top)
	}
	before := q.Range.Before()
	s.Before = snip.Period{From: before.From, To: before.To, Counts: t.before}
	s.Visitors = t.visitorsOfDays()
	s.Coarse = instant(t.coarse)
	return s
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
