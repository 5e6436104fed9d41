package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// Inspect tells of which version the tables at a URL are in the schema of that name, 0 if
// there are none, and which one this program makes of them. It changes nothing, and it
// finds what keeps Open from working there. No schema stands for queue.
func Inspect(ctx context.Context, url, schema string) (version, newest int, err error) {
	newest = len(steps)
	pool, err := connect(ctx, url)
	if err != nil {
		return 0, newest, fmt.Errorf("postgres engine: %w", err)
	}
	defer pool.Close()
	e := &Engine{pool: pool, schema: pgx.Identifier{cmp.Or(schema, "queue")}.Sanitize()}
	e.cfg.Logger = slog.New(slog.DiscardHandler)
	e.mode = execMode(pool.Config().ConnConfig, false)
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := e.checkServer(ctx, tx); err != nil {
			return err
		}
		version, err = e.version(ctx, tx)
		return err
	})
	if err != nil {
		return 0, newest, fmt.Errorf("postgres engine: inspect: %w", err)
	}
	return version, newest, nil
}
