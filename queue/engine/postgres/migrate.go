package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed schema.sql
var schema string

//go:embed schema_tasks.sql
var schemaTasks string

// steps make the tables: the first brings them from version 0 to 1, and so on.
var steps = []string{schema, schemaTasks}

// migrationLock is the number of the lock under which one process makes the tables.
const migrationLock = 0x71756575656c6f67 // "queuelog"

// migrate makes the tables, or finds that they are there.
func (e *Engine) migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	// A lock of the transaction, not of the session, which a pooler would share.
	return pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", e.mode, int64(migrationLock)); err != nil {
			return err
		}
		if err := e.checkServer(ctx, tx); err != nil {
			return err
		}
		version, err := e.version(ctx, tx)
		if err != nil {
			return fmt.Errorf("version of the tables: %w", err)
		}
		if version > len(steps) {
			return fmt.Errorf("the tables are of schema version %d, this program knows %d: they were made by a newer one", version, len(steps))
		}
		if version == len(steps) {
			return nil
		}
		if err := e.makeTables(ctx, tx, version); err != nil {
			return fmt.Errorf("make the tables of schema version %d: %w", len(steps), err)
		}
		return nil
	})
}

// checkServer refuses what the engine cannot keep its promises on, and finds out how to
// speak to it.
func (e *Engine) checkServer(ctx context.Context, tx pgx.Tx) error {
	var isolation, fsync string
	err := tx.QueryRow(ctx, "SELECT current_setting('default_transaction_isolation'), current_setting('fsync')", e.mode).
		Scan(&isolation, &fsync)
	if err != nil {
		return err
	}
	if isolation != "read committed" {
		return fmt.Errorf("default_transaction_isolation is %q, but appends wait for each other and must see what the one before "+
			"committed: ALTER ROLE ... SET default_transaction_isolation = 'read committed'", isolation)
	}
	own, err := ownSession(ctx, tx.Conn(), e.mode)
	if err != nil {
		return err
	}
	e.mode = execMode(tx.Conn().Config(), own)
	if fsync == "off" {
		e.cfg.Logger.Warn("the server runs with fsync = off: a power cut may damage the log")
	}
	return nil
}

// version is 0 where nothing was made yet.
func (e *Engine) version(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var there bool
	err = tx.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL", e.mode, e.schema+".version").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = tx.QueryRow(ctx, e.statement("SELECT version FROM queue.version"), e.mode).Scan(&version)
	return version, err
}

// makeTables makes what a version lacks.
func (e *Engine) makeTables(ctx context.Context, tx pgx.Tx, version int) error {
	if version == 0 {
		if err := e.makeSchema(ctx, tx); err != nil {
			return err
		}
	}
	for _, step := range steps[version:] {
		if _, err := tx.Exec(ctx, e.statement(step)); err != nil {
			return err
		}
	}
	note := "UPDATE queue.version SET version = %d"
	if version == 0 {
		note = "CREATE TABLE queue.version AS SELECT %d AS version"
	}
	_, err := tx.Exec(ctx, e.statement(fmt.Sprintf(note, len(steps))))
	return err
}

func (e *Engine) makeSchema(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1::text) IS NOT NULL", e.mode, e.schema).Scan(&there); err != nil {
		return err
	}
	if there {
		return nil
	}
	// IF NOT EXISTS would ask for the right to make it even if it is there.
	_, err := tx.Exec(ctx, "CREATE SCHEMA "+e.schema)
	return err
}
