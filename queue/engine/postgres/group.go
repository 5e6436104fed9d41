package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// Roster returns a group's roster. Its time is the server's, which members on many
// machines share. A clock that is set back goes on from where a roster was last
// swapped.
func (e *Engine) Roster(ctx context.Context, group, topic string) (roster []byte, version int64, now time.Duration, err error) {
	type row struct {
		Roster  []byte
		Version int64
		Micros  int64
	}
	rows, err := collect(ctx, e, pgx.RowToStructByPos[row], `
		SELECT r.roster, coalesce(r.version, 0), (extract(epoch FROM
			greatest(clock_timestamp(), r.swapped_at) + coalesce(r.shift, '0')) * 1000000)::bigint
		FROM (SELECT) one LEFT JOIN queue.rosters r ON r.consumer = $1 AND r.topic = $2`, group, topic)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("roster of group %q: %w", group, err)
	}
	r := rows[0]
	return r.Roster, r.Version, time.Duration(r.Micros) * time.Microsecond, nil
}

// Swap puts a roster in the place of that of a version.
func (e *Engine) Swap(ctx context.Context, group, topic string, version int64, roster []byte) error {
	if roster == nil {
		roster = []byte{} // Nil is null.
	}
	query := `
		UPDATE queue.rosters SET version = version + 1, roster = $4,
			shift = shift + greatest(swapped_at - clock_timestamp(), '0'), swapped_at = clock_timestamp()
		WHERE consumer = $1 AND topic = $2 AND version = $3`
	if version == 0 {
		query = `
		INSERT INTO queue.rosters (consumer, topic, version, roster, swapped_at)
		VALUES ($1, $2, $3::bigint + 1, $4, clock_timestamp())
		ON CONFLICT (consumer, topic) DO NOTHING`
	}
	if err := e.change(ctx, queue.ErrConflict, query, group, topic, version, roster); err != nil {
		return fmt.Errorf("roster of group %q: %w", group, err)
	}
	return nil
}

// Position returns where a group stands.
func (e *Engine) Position(ctx context.Context, group string, topic queue.TopicID, partition int) (queue.Position, error) {
	found, err := collect(ctx, e, pgx.RowTo[string],
		"SELECT position FROM queue.positions WHERE consumer = $1 AND topic = $2 AND partition = $3", group, topic[:], partition)
	var at queue.Position
	if err == nil && len(found) > 0 {
		at, err = queue.ParsePosition(found[0])
	}
	if err != nil {
		return queue.Position{}, fmt.Errorf("position of group %q: %w", group, err)
	}
	return at, nil
}

// Commit moves a group's position.
func (e *Engine) Commit(ctx context.Context, group string, topic queue.TopicID, partition int, from, to queue.Position) error {
	query := `
		UPDATE queue.positions SET position = $4
		WHERE consumer = $1 AND topic = $2 AND partition = $3 AND position = $5`
	if from == (queue.Position{}) {
		query = `
		INSERT INTO queue.positions AS p (consumer, topic, partition, position) VALUES ($1, $2, $3, $4)
		ON CONFLICT (consumer, topic, partition) DO UPDATE SET position = excluded.position WHERE p.position = $5`
	}
	err := e.change(ctx, queue.ErrFenced, query, group, topic[:], partition, to.String(), from.String())
	if err != nil {
		return fmt.Errorf("position of group %q: %w", group, err)
	}
	return nil
}
