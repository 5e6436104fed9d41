package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"snip"
	"snip/rollup"
)

// slotSeconds is how long a rollup is that was not compacted.
const slotSeconds = int64(snip.Slot / 1e9)

func slotOf(c *snip.Click) int64 {
	at := c.At.Unix()
	past := at % slotSeconds
	if past < 0 {
		past += slotSeconds
	}
	return at - past
}

// dayRow is a row of days.
type dayRow struct {
	link, day int64
	values    *rollup.Values
	visitors  *rollup.Visitors
	changed   bool

	// Where the values stand among those of all links, once they were looked up; 0 if
	// not. Those that stand nowhere are looked up again, which does no harm.
	inAll [snip.NumDimensions][]rollup.Place
}

func newDay(link, day int64) *dayRow {
	return &dayRow{link: link, day: day, values: &rollup.Values{}, visitors: &rollup.Visitors{}}
}

// add takes up what a click tells, and sets the places of it.
func (r *dayRow) add(c *snip.Click, places *rollup.Places) {
	for d := range snip.NumDimensions {
		before := r.values.Len(d)
		places[d] = r.values.Place(d, c.Value(d))
		if r.values.Len(d) != before {
			r.changed = true
		}
	}
	r.see(c)
}

// see takes up who made a click.
func (r *dayRow) see(c *snip.Click) {
	if c.Class == snip.Human && r.visitors.Insert(c.Visitor) {
		r.changed = true
	}
}

// placeOf returns the place that a value of a link's day has among those of all.
func (r *dayRow) placeOf(of *dayRow, d snip.Dimension, p rollup.Place) rollup.Place {
	if p == rollup.Other {
		return rollup.Other
	}
	for len(of.inAll[d]) <= int(p) {
		of.inAll[d] = append(of.inAll[d], rollup.Other)
	}
	if of.inAll[d][p] == rollup.Other {
		text, _ := of.values.Text(d, p)
		before := r.values.Len(d)
		of.inAll[d][p] = r.values.Place(d, text)
		if r.values.Len(d) != before {
			r.changed = true
		}
	}
	return of.inAll[d][p]
}

// rollupRow is a row of rollups.
type rollupRow struct {
	link, slot, seconds int64
	facts               *rollup.Facts
}

func newRollup(link, slot int64) *rollupRow {
	return &rollupRow{link: link, slot: slot, seconds: slotSeconds, facts: &rollup.Facts{}}
}

// loadDays fills in the rows that are there already.
func loadDays(ctx context.Context, tx session, generation int, days []*dayRow) error {
	keys := make([][]any, len(days))
	for i, r := range days {
		keys[i] = []any{i, r.day, r.link}
	}
	return eachDay(ctx, tx, generation, keys, func(i int, texts, visitors []byte) error {
		return days[i].decode(texts, visitors)
	})
}

// eachDay calls do with the rows of days that are there, by keys of a number, the day and
// the link. It must not keep the bytes.
func eachDay(ctx context.Context, tx session, generation int, keys [][]any, do func(i int, texts, visitors []byte) error) error {
	return inChunks(ctx, tx, fmt.Sprintf(`
		SELECT v.column1, texts, visitors FROM (VALUES %%s) AS v
		JOIN days ON generation = %d AND day = v.column2 AND link_id = v.column3`, generation), keys, func(rows *sql.Rows) error {
		var i int
		var texts, visitors sql.RawBytes
		if err := rows.Scan(&i, &texts, &visitors); err != nil {
			return err
		}
		return do(i, texts, visitors)
	})
}

func (r *dayRow) decode(texts, visitors []byte) (err error) {
	if r.values, err = rollup.DecodeValues(texts); err != nil {
		return fmt.Errorf("values of link %d on day %d: %w", r.link, r.day, err)
	}
	if r.visitors, err = rollup.DecodeVisitors(visitors); err != nil {
		return fmt.Errorf("visitors of link %d on day %d: %w", r.link, r.day, err)
	}
	return nil
}

// loadRollups fills in the rows that are there already.
func loadRollups(ctx context.Context, tx session, generation int, rollups []*rollupRow) error {
	keys := make([][]any, len(rollups))
	for i, r := range rollups {
		keys[i] = []any{i, r.slot, r.link, r.seconds}
	}
	return inChunks(ctx, tx, fmt.Sprintf(`
		SELECT v.column1, clicks, human_clicks, facts FROM (VALUES %%s) AS v
		JOIN rollups ON generation = %d AND slot = v.column2 AND link_id = v.column3 AND seconds = v.column4`, generation), keys, func(rows *sql.Rows) error {
		var i int
		var c snip.Counts
		var facts sql.RawBytes
		if err := rows.Scan(&i, &c.Clicks, &c.HumanClicks, &facts); err != nil {
			return err
		}
		return rollups[i].decode(c, facts)
	})
}

func (r *rollupRow) decode(c snip.Counts, facts []byte) (err error) {
	if r.facts, err = rollup.DecodeFacts(facts, c); err != nil {
		return fmt.Errorf("facts of link %d at %d: %w", r.link, r.slot, err)
	}
	return nil
}

// always is every moment that there can be.
var always = span{math.MinInt64 / 2, math.MaxInt64 / 2}

// readRollups returns the rows of a link that begin in a span, oldest first.
func readRollups(ctx context.Context, tx session, generation int, link int64, in span) ([]*rollupRow, error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT slot, seconds, clicks, human_clicks, facts FROM rollups
		WHERE generation = $1 AND link_id = $2 AND slot >= $3 AND slot < $4
		ORDER BY slot, seconds`, generation, link, in.start, in.end)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var got []*rollupRow
	for rows.Next() {
		r := &rollupRow{link: link}
		var c snip.Counts
		var facts sql.RawBytes
		if err := rows.Scan(&r.slot, &r.seconds, &c.Clicks, &c.HumanClicks, &facts); err != nil {
			return nil, err
		}
		if err := r.decode(c, facts); err != nil {
			return nil, err
		}
		got = append(got, r)
	}
	return got, rows.Err()
}

// daysOf returns the days of one link that its rollups touch.
func daysOf(ctx context.Context, tx session, generation int, rollups []*rollupRow) (map[int64]*dayRow, error) {
	days := map[int64]*dayRow{}
	var rows []*dayRow
	for _, r := range rollups {
		for day := dayOf(r.slot); day <= dayOf(r.slot+r.seconds-1); day++ {
			if days[day] == nil {
				days[day] = newDay(r.link, day)
				rows = append(rows, days[day])
			}
		}
	}
	return days, loadDays(ctx, tx, generation, rows)
}

// saveBoth writes days that changed, and rollups.
func saveBoth(ctx context.Context, tx session, generation int, days []*dayRow, rollups []*rollupRow) error {
	var rows [][]any
	for _, r := range days {
		if !r.changed {
			continue
		}
		visitors, err := r.visitors.Append(nil)
		if err != nil {
			return err
		}
		rows = append(rows, []any{generation, r.day, r.link, r.values.Append(nil), visitors})
	}
	err := insertChunks(ctx, tx, `
		INSERT INTO days (generation, day, link_id, texts, visitors) VALUES %s
		ON CONFLICT (generation, day, link_id) DO UPDATE SET texts = excluded.texts, visitors = excluded.visitors`, rows)
	if err != nil {
		return err
	}
	rows = rows[:0]
	for _, r := range rollups {
		rows = append(rows, []any{generation, r.slot, r.link, r.seconds, r.facts.Clicks, r.facts.HumanClicks, r.facts.Append(nil)})
	}
	return insertChunks(ctx, tx, `
		INSERT INTO rollups (generation, slot, link_id, seconds, clicks, human_clicks, facts) VALUES %s
		ON CONFLICT (generation, slot, link_id, seconds) DO UPDATE SET
			clicks = excluded.clicks, human_clicks = excluded.human_clicks, facts = excluded.facts`, rows)
}

func deleteRollups(ctx context.Context, tx session, generation int, rollups []*rollupRow) error {
	for _, r := range rollups {
		_, err := tx.ExecContext(ctx, `
			DELETE FROM rollups WHERE generation = $1 AND slot = $2 AND link_id = $3 AND seconds = $4`,
			generation, r.slot, r.link, r.seconds)
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteDays erases the days that rollups of a link touch.
func deleteDays(ctx context.Context, tx session, generation int, rollups []*rollupRow) error {
	last := int64(math.MinInt64)
	for _, r := range rollups {
		for day := max(last+1, dayOf(r.slot)); day <= dayOf(r.slot+r.seconds-1); day++ {
			last = day
			_, err := tx.ExecContext(ctx, `DELETE FROM days WHERE generation = $1 AND day = $2 AND link_id = $3`, generation, day, r.link)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
