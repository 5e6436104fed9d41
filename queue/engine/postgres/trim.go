package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// What one transaction forgets at most, so that it is short.
const (
	trimEntries = 500
	trimBytes   = 16 << 20 // And the entry that passes it.
)

// Trim forgets entries that end before a position.
func (e *Engine) Trim(ctx context.Context, name string, p int, before queue.Position) error {
	if err := e.trim(ctx, name, p, before); err != nil {
		return fmt.Errorf("trim topic %q, partition %d: %w", name, p, err)
	}
	return nil
}

func (e *Engine) trim(ctx context.Context, name string, p int, before queue.Position) error {
	if _, err := e.read(ctx, name, p, before, 0); err != nil || before == (queue.Position{}) {
		return err
	}
	at, err := parsePlace(before)
	if err != nil {
		return err
	}
	today := int(e.cfg.Now().Unix() / (24 * 60 * 60))
	for {
		more, err := collect(ctx, e, pgx.RowTo[bool], "SELECT more FROM queue.trim($1::text, $2::int, $3::bigint, $4::int, $5::bigint, $6::int, $7::int)",
			name, p, at.base, trimEntries, int64(trimBytes), today, today-segmentDays)
		if err != nil || !more[0] {
			return err
		}
	}
}
