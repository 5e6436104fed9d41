package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"snip"
)

// shown is the generation of what is shown. Every rebuild counts into another one,
// which then takes its place.
const shown = 0

// ErrGeneration: a generation is not being built any more.
var ErrGeneration = errors.New("another rebuild began, or this one has ended")

// Building returns ErrGeneration if a generation is not the one that is being built.
func (s *Store) Building(ctx context.Context, tx *sql.Tx, generation int) error {
	n, err := readBuilding(ctx, s.session(tx))
	switch {
	case err != nil:
		return fmt.Errorf("store: read generation: %w", err)
	case n != generation:
		return ErrGeneration
	}
	return nil
}

func readBuilding(ctx context.Context, tx session) (n int, err error) {
	err = tx.QueryRowContext(ctx, `SELECT building FROM instance`).Scan(&n)
	return n, err
}

// BuildGeneration begins a generation, in which nothing was counted yet. One that was
// being built is given up.
func (s *Store) BuildGeneration(ctx context.Context) (generation int, err error) {
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		return tx.QueryRowContext(ctx, `UPDATE instance SET building = building + 1 RETURNING building`).Scan(&generation)
	})
	return generation, s.failed("begin a generation", err)
}

// EraseGenerations removes what was counted in those that were given up or have ended.
func (s *Store) EraseGenerations(ctx context.Context) error {
	for {
		var gone int64
		err := s.write(ctx, func(ctx context.Context, tx session) (err error) {
			gone, err = eraseSome(ctx, tx)
			return err
		})
		if err != nil || gone == 0 {
			return s.failed("erase generations", err)
		}
	}
}

// eraseSome erases so little that others who write wait only for a moment.
func eraseSome(ctx context.Context, tx session) (gone int64, err error) {
	building, err := readBuilding(ctx, tx)
	if err != nil {
		return 0, err
	}
	for _, statement := range []string{
		`DELETE FROM rollups WHERE (generation, slot, link_id, seconds) IN (
			SELECT generation, slot, link_id, seconds FROM rollups WHERE generation > 0 AND generation < $1 LIMIT 5000)`,
		`DELETE FROM days WHERE (generation, day, link_id) IN (
			SELECT generation, day, link_id FROM days WHERE generation > 0 AND generation < $1 LIMIT 5000)`,
		`DELETE FROM inbox_segments WHERE generation > 0 AND generation < $1`,
		`DELETE FROM inbox_positions WHERE generation > 0 AND generation < $1`,
	} {
		result, err := tx.ExecContext(ctx, statement, building)
		if err != nil {
			return 0, err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return n, err
		}
	}
	return 0, nil
}

// ShowGeneration puts what was counted in the generation that is being built in the
// place of what is shown, in one step, and ends the generation. In the transaction that
// does it, ready must find that both have counted the same messages, or it is not done.
//
// What is shown of days of which the generation has fewer clicks stays, and so does
// what is older: the topic does not hold all of it any more. Since is when the first day
// began that was replaced; the zero time if all were.
func (s *Store) ShowGeneration(ctx context.Context, generation int, ready func(context.Context, *sql.Tx) (bool, error)) (done bool, since time.Time, err error) {
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		if err := holdGeneration(ctx, tx); err != nil {
			return err
		}
		if err := s.Building(ctx, tx.Tx, generation); err != nil {
			return err
		}
		if done, err = ready(ctx, tx.Tx); err != nil || !done {
			return err
		}
		if err := lockInstance(ctx, tx, generation, snip.Counts{}); err != nil {
			return err
		}
		from, err := firstWhole(ctx, tx, generation)
		if err != nil {
			return err
		}
		if from != always.start {
			since = time.Unix(from, 0).UTC()
		}
		return replace(ctx, tx, generation, from)
	})
	return done && err == nil, since, s.failed("show generation", err)
}

// firstWhole returns when the first UTC day begins from which on a generation has all
// that is shown.
func firstWhole(ctx context.Context, tx session, generation int) (since int64, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT generation, slot, seconds, clicks FROM rollups
		WHERE generation IN (0, $1) AND link_id = 0`, generation)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	missing := map[int64]int64{} // Clicks, by UTC day.
	var whole []span             // The compacted days.
	for rows.Next() {
		var g int
		var slot, seconds, clicks int64
		if err := rows.Scan(&g, &slot, &seconds, &clicks); err != nil {
			return 0, err
		}
		if g == generation {
			clicks = -clicks
		}
		missing[dayOf(slot)] += clicks
		if seconds != slotSeconds {
			whole = append(whole, span{slot, slot + seconds})
		}
	}
	since = always.start
	for day, clicks := range missing {
		if clicks > 0 {
			since = max(since, (day+1)*secondsPerDay)
		}
	}
	// A compacted day cannot be told from what it lies between.
	for _, w := range whole {
		since = max(since, (dayOf(w.end-1)+1)*secondsPerDay)
	}
	return since, rows.Err()
}

// replace puts what a generation has from a moment on in the place of what is shown.
func replace(ctx context.Context, tx session, generation int, since int64) error {
	difference := `
		SELECT link_id, CAST(SUM(CASE WHEN generation = 0 THEN -clicks ELSE clicks END) AS BIGINT) AS c,
			CAST(SUM(CASE WHEN generation = 0 THEN -human_clicks ELSE human_clicks END) AS BIGINT) AS h
		FROM rollups WHERE generation IN (0, $1) AND slot >= $2 GROUP BY link_id`
	for _, statement := range []string{
		`UPDATE links SET clicks = clicks + c, human_clicks = human_clicks + h FROM (` + difference + `) AS d
			WHERE id = link_id AND (c <> 0 OR h <> 0)`,
		`UPDATE instance SET building = building + 1, clicks = clicks + c, human_clicks = human_clicks + h
			FROM (SELECT COALESCE(SUM(c), 0) AS c, COALESCE(SUM(h), 0) AS h FROM (` + difference + `) AS all_links WHERE link_id = 0) AS d`,
		`DELETE FROM rollups WHERE generation = 0 AND slot >= $2 AND $1 > 0`,
		`UPDATE rollups SET generation = 0 WHERE generation = $1 AND slot >= $2`,
	} {
		if _, err := tx.ExecContext(ctx, statement, generation, since); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`DELETE FROM days WHERE generation = 0 AND day >= $2 AND $1 > 0`,
		`UPDATE days SET generation = 0 WHERE generation = $1 AND day >= $2`,
	} {
		if _, err := tx.ExecContext(ctx, statement, generation, dayOf(since)); err != nil {
			return err
		}
	}
	return nil
}
