package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"snip"
)

const (
	unknownDays = 90 // How long unknown codes are kept, beside the day that runs.
	slotsAtOnce = 4  // Of those that are too old, how many slots one call erases.
)

// AddUnknownCodes adds hits to the report of unknown codes. Of one UTC day it keeps
// snip.MaxValues codes apart; the hits of all further ones are counted together. It
// also erases some of what is older than 90 days.
//
// All or nothing is kept. After an error of code snip.Unavailable the hits may be
// added again; if ctx ended while they were written, they may then be counted twice.
func (s *Store) AddUnknownCodes(ctx context.Context, hits []snip.UnknownHits) error {
	days := map[int64]unknownDay{}
	for _, h := range hits {
		if h.Hits < 1 || len(h.Code) > snip.MaxCode {
			return fmt.Errorf("store: add unknown codes: %d hits of a code of %d bytes", h.Hits, len(h.Code))
		}
		day := snip.Day(h.Slot)
		if days[day] == nil {
			days[day] = unknownDay{}
		}
		days[day].add(h)
	}
	if len(days) == 0 {
		return nil
	}
	return s.failed("add unknown codes", s.write(ctx, func(ctx context.Context, tx session) error {
		// In one order in every process, so that no two wait for each other.
		for _, day := range slices.Sorted(maps.Keys(days)) {
			if err := days[day].save(ctx, tx, day); err != nil {
				return err
			}
		}
		return eraseUnknown(ctx, tx, snip.Day(s.now())-unknownDays)
	}))
}

// unknownDay is what is to be added to one UTC day: hits by code and slot.
type unknownDay map[string]map[int64]int64

func (d unknownDay) add(h snip.UnknownHits) {
	if d[h.Code] == nil {
		d[h.Code] = map[int64]int64{}
	}
	d[h.Code][h.Slot.Truncate(snip.Slot).Unix()] += h.Hits
}

// hits returns those of a code in all slots.
func (d unknownDay) hits(code string) (sum int64) {
	for _, n := range d[code] {
		sum += n
	}
	return sum
}

// unknownKey is that of a row of unknown_hits.
type unknownKey struct{ slot, code int64 }

func (d unknownDay) save(ctx context.Context, tx session, day int64) error {
	codes, err := d.codes(ctx, tx, day)
	if err != nil {
		return err
	}
	sums := map[unknownKey]int64{}
	for code, slots := range d {
		id, apart := codes[code]
		if !apart {
			id = codes[""]
		}
		for slot, n := range slots {
			sums[unknownKey{slot, id}] += n
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b unknownKey) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.code, b.code))
	})
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.slot, k.code, sums[k]}
	}
	return inChunks(ctx, tx, `
		INSERT INTO unknown_hits (slot, code_id, hits)
		SELECT v.column1, v.column2, v.column3 FROM (VALUES %s) AS v WHERE TRUE
		ON CONFLICT (slot, code_id) DO UPDATE SET hits = unknown_hits.hits + excluded.hits`, rows, nil)
}

// codes returns the IDs of the codes that the day keeps apart. Where there is room
// it takes in those of d, the most hit first.
func (d unknownDay) codes(ctx context.Context, tx session, day int64) (map[string]int64, error) {
	// Where rows are locked one by one, this keeps two from taking the last place.
	_, err := tx.ExecContext(ctx, `
		INSERT INTO unknown_codes (day, code) VALUES ($1, '')
		ON CONFLICT (day, code) DO UPDATE SET code = excluded.code`, day)
	if err != nil {
		return nil, err
	}
	codes, err := readUnknownCodes(ctx, tx, day)
	if err != nil {
		return nil, err
	}
	var more []string
	for code := range d {
		if _, ok := codes[code]; !ok {
			more = append(more, code)
		}
	}
	slices.SortFunc(more, func(a, b string) int {
		return cmp.Or(cmp.Compare(d.hits(b), d.hits(a)), cmp.Compare(a, b))
	})
	const room = snip.MaxValues + 1 // The others have a row too.
	for _, code := range more[:min(len(more), max(0, room-len(codes)))] {
		var id int64
		err := tx.QueryRowContext(ctx, `INSERT INTO unknown_codes (day, code) VALUES ($1, $2) RETURNING id`, day, code).Scan(&id)
		if err != nil {
			return nil, err
		}
		codes[code] = id
	}
	return codes, nil
}

func readUnknownCodes(ctx context.Context, tx session, day int64) (map[string]int64, error) {
	rows, err := tx.QueryContext(ctx, `SELECT code, id FROM unknown_codes WHERE day = $1`, day)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	codes := map[string]int64{}
	for rows.Next() {
		var code string
		var id int64
		if err := rows.Scan(&code, &id); err != nil {
			return nil, err
		}
		codes[code] = id
	}
	return codes, rows.Err()
}

// eraseUnknown erases some of what lies before a UTC day: hits first, and the codes
// of a day when no hits refer to them any more. A slot and a day have a bounded
// number of rows.
func eraseUnknown(ctx context.Context, tx session, before int64) error {
	erased, err := tx.ExecContext(ctx, `
		DELETE FROM unknown_hits WHERE slot IN (
			SELECT DISTINCT slot FROM unknown_hits WHERE slot < $1 ORDER BY slot LIMIT $2
		)`, before*secondsPerDay, slotsAtOnce)
	if err != nil {
		return err
	}
	if n, err := erased.RowsAffected(); err != nil || n > 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		DELETE FROM unknown_codes WHERE day = (SELECT MIN(day) FROM unknown_codes WHERE day < $1)`, before)
	return err
}

// UnknownCodes returns the codes without a link that were asked for most, all of it
// as of one moment. Codes asked for equally often come in their order. A key that may
// not see all links is refused with snip.Forbidden: the codes are nobody's.
func (v *View) UnknownCodes(ctx context.Context, r snip.Range, limit int) (snip.UnknownCodes, error) {
	if v.limited() {
		return snip.UnknownCodes{}, &snip.Error{
			Code: snip.Forbidden, Message: "This key sees some links only; which codes no link has is for keys that see all.",
		}
	}
	if err := r.Check(snip.StepMonth); err != nil {
		return snip.UnknownCodes{}, err
	}
	if limit < 1 || limit > snip.MaxTop {
		return snip.UnknownCodes{}, &snip.Error{
			Code: snip.Invalid, Field: "limit", Message: fmt.Sprintf("Must be a whole number from 1 to %d.", snip.MaxTop),
		}
	}
	u, err := v.store.readUnknown(ctx, r, limit)
	if err != nil {
		return snip.UnknownCodes{}, v.store.failed("read unknown codes", err)
	}
	return u, nil
}

// readUnknown reads with one statement, which sees one moment.
func (s *Store) readUnknown(ctx context.Context, r snip.Range, limit int) (snip.UnknownCodes, error) {
	u := snip.UnknownCodes{Range: r}
	start, end := r.Bounds()
	rows, err := s.Read().QueryContext(ctx, `
		SELECT code, CAST(SUM(hits) AS BIGINT) AS n
		FROM unknown_hits JOIN unknown_codes ON id = code_id
		WHERE slot >= $1 AND slot < $2
		GROUP BY code ORDER BY n DESC, code`, start.Unix(), end.Unix())
	if err != nil {
		return u, err
	}
	defer rows.Close()
	for rows.Next() {
		var c snip.CodeHits
		if err := rows.Scan(&c.Code, &c.Hits); err != nil {
			return u, err
		}
		u.Hits += c.Hits
		switch {
		case c.Code == "":
			u.Other = c.Hits
		case len(u.Codes) < limit:
			u.Codes = append(u.Codes, c)
		default:
			u.More += c.Hits
		}
	}
	return u, rows.Err()
}
