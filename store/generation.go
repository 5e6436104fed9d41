package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Generation returns which counting of the clicks is the one that is shown.
func (s *Store) Generation(ctx context.Context, tx *sql.Tx) (int, error) {
	shown, _, err := generations(ctx, s.session(tx))
	if err != nil {
		return 0, fmt.Errorf("store: read generation: %w", err)
	}
	return shown, nil
}

// Building returns an error if a generation is not the one that is being built.
func (s *Store) Building(ctx context.Context, tx *sql.Tx, generation int) error {
	shown, building, err := generations(ctx, s.session(tx))
	switch {
	case err != nil:
		return fmt.Errorf("store: read generation: %w", err)
	case shown == generation || building != generation:
		return ErrGeneration
	}
	return nil
}

// ErrGeneration: a generation is not being built any more.
var ErrGeneration = errors.New("another rebuild began, or this one has ended")

// generations returns the generation that is shown, and the one that is being built;
// if there is none, the shown one again.
func generations(ctx context.Context, tx session) (shown, building int, err error) {
	err = tx.QueryRowContext(ctx, `SELECT generation, building FROM instance`).Scan(&shown, &building)
	return shown, building, err
}

// BuildGeneration begins a generation, in which nothing was counted yet. One that was
// being built is given up.
func (s *Store) BuildGeneration(ctx context.Context) (generation int, err error) {
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		return tx.QueryRowContext(ctx, `UPDATE instance SET building = building + 1 RETURNING building`).Scan(&generation)
	})
	return generation, s.failed("begin a generation", err)
}

// EraseGenerations removes what was counted in those that are neither shown nor being
// built.
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
	shown, building, err := generations(ctx, tx)
	if err != nil {
		return 0, err
	}
	for _, between := range [][2]int{{-1, shown}, {shown, building}} {
		for _, statement := range []string{
			`DELETE FROM rollups WHERE (generation, slot, link_id, seconds) IN (
				SELECT generation, slot, link_id, seconds FROM rollups WHERE generation > $1 AND generation < $2 LIMIT 5000)`,
			`DELETE FROM days WHERE (generation, day, link_id) IN (
				SELECT generation, day, link_id FROM days WHERE generation > $1 AND generation < $2 LIMIT 5000)`,
			`DELETE FROM inbox_segments WHERE generation > $1 AND generation < $2`,
			`DELETE FROM inbox_positions WHERE generation > $1 AND generation < $2`,
		} {
			result, err := tx.ExecContext(ctx, statement, between[0], between[1])
			if err != nil {
				return 0, err
			}
			if n, err := result.RowsAffected(); err != nil || n > 0 {
				return n, err
			}
		}
	}
	return 0, nil
}

// ShowGeneration shows the generation that is being built, in one step, if ready
// returns true in the transaction that does it. It refuses if that would take clicks
// away.
func (s *Store) ShowGeneration(ctx context.Context, generation int, ready func(context.Context, *sql.Tx) (bool, error)) (shown bool, err error) {
	err = s.write(ctx, func(ctx context.Context, tx session) error {
		if err := holdGeneration(ctx, tx); err != nil {
			return err
		}
		if err := s.Building(ctx, tx.Tx, generation); err != nil {
			return err
		}
		if shown, err = ready(ctx, tx.Tx); err != nil || !shown {
			return err
		}
		return showGeneration(ctx, tx, generation)
	})
	return shown && err == nil, s.failed("show generation", err)
}

// FewerError: what a rebuild counted is less than what is shown, so that the topic
// cannot hold all clicks any more.
type FewerError struct{ Counted, Shown int64 }

func (e *FewerError) Error() string {
	return fmt.Sprintf("the topic holds %d clicks, but %d are counted: it was trimmed since", e.Counted, e.Shown)
}

func showGeneration(ctx context.Context, tx session, generation int) error {
	var before, after int64
	err := tx.QueryRowContext(ctx, `
		SELECT clicks, (SELECT COALESCE(SUM(clicks), 0) FROM rollups WHERE generation = $1 AND link_id = 0) FROM instance`,
		generation).Scan(&before, &after)
	if err != nil {
		return err
	}
	if after < before {
		return &FewerError{Counted: after, Shown: before}
	}
	for _, statement := range []string{
		`UPDATE links SET clicks = c, human_clicks = h
		FROM (SELECT id, COALESCE(SUM(r.clicks), 0) AS c, COALESCE(SUM(r.human_clicks), 0) AS h
			FROM links LEFT JOIN rollups r ON r.generation = $1 AND link_id = id GROUP BY id) AS counted
		WHERE links.id = counted.id AND (clicks <> c OR human_clicks <> h)`,
		`UPDATE instance SET generation = $1, compacted_until = 0, clicks = c, human_clicks = h
		FROM (SELECT COALESCE(SUM(clicks), 0) AS c, COALESCE(SUM(human_clicks), 0) AS h
			FROM rollups WHERE generation = $1 AND link_id = 0) AS counted`,
	} {
		if _, err := tx.ExecContext(ctx, statement, generation); err != nil {
			return err
		}
	}
	return nil
}
