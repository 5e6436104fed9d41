package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// Roster returns a group's roster. One from before the host was booted comes back
// empty: its times are of another clock.
func (e *Engine) Roster(ctx context.Context, group, topic string) (roster []byte, version int64, now time.Duration, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		var boot string
		err := tx.QueryRowContext(ctx, "SELECT boot, version, roster FROM queue_rosters WHERE consumer = $1 AND topic = $2", group, topic).
			Scan(&boot, &version, &roster)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if boot != e.boot {
			roster = nil
		}
		return err
	})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("roster of group %q: %w", group, err)
	}
	// After the read: the time never lies before that of a roster that was seen.
	now, err = uptime()
	return roster, version, now, err
}

// Swap puts a roster in the place of that of a version.
func (e *Engine) Swap(ctx context.Context, group, topic string, version int64, roster []byte) error {
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		query := `
			UPDATE queue_rosters SET boot = $4, version = version + 1, roster = $5
			WHERE consumer = $1 AND topic = $2 AND version = $3`
		if version == 0 {
			query = `
			INSERT INTO queue_rosters (consumer, topic, version, boot, roster) VALUES ($1, $2, $3 + 1, $4, $5)
			ON CONFLICT (consumer, topic) DO NOTHING`
		}
		return one(queue.ErrConflict)(tx.ExecContext(ctx, query, group, topic, version, e.boot, roster))
	})
	if err != nil {
		return fmt.Errorf("roster of group %q: %w", group, err)
	}
	return nil
}

// Position returns where a group stands.
func (e *Engine) Position(ctx context.Context, group string, topic queue.TopicID, partition int) (at queue.Position, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		var text string
		err := tx.QueryRowContext(ctx, "SELECT position FROM queue_positions WHERE consumer = $1 AND topic = $2 AND partition = $3",
			group, topic[:], partition).Scan(&text)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			at, err = queue.ParsePosition(text)
		}
		return err
	})
	if err != nil {
		return at, fmt.Errorf("position of group %q: %w", group, err)
	}
	return at, nil
}

// Commit moves a group's position.
func (e *Engine) Commit(ctx context.Context, group string, topic queue.TopicID, partition int, from, to queue.Position) error {
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		query := `
			UPDATE queue_positions SET position = $4
			WHERE consumer = $1 AND topic = $2 AND partition = $3 AND position = $5`
		args := []any{group, topic[:], partition, to.String(), from.String()}
		if from == (queue.Position{}) {
			query = `
			INSERT INTO queue_positions (consumer, topic, partition, position) VALUES ($1, $2, $3, $4)
			ON CONFLICT (consumer, topic, partition) DO UPDATE SET position = excluded.position WHERE position = $5`
		}
		return one(queue.ErrFenced)(tx.ExecContext(ctx, query, args...))
	})
	if err != nil {
		return fmt.Errorf("position of group %q: %w", group, err)
	}
	return nil
}

// one makes a statement that did not change its one row the given error.
func one(none error) func(sql.Result, error) error {
	return func(r sql.Result, err error) error {
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if err == nil && n != 1 {
			return none
		}
		return err
	}
}
