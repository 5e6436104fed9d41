package store

import (
	"context"
	"database/sql"
)

// A SQLite file has one writer. On a server there are many, and these keep them apart.

// generationLock is the number of the lock under which a rebuild is put in the place
// of what is shown. Whoever else writes rollups shares the lock.
const generationLock = migrationLock + 1

// shareGeneration keeps what is shown from being replaced until the end of the
// transaction.
func shareGeneration(ctx context.Context, tx session) error {
	return lockUntilEnd(ctx, tx, `SELECT pg_advisory_xact_lock_shared($1)`, generationLock)
}

// holdGeneration waits until nobody writes rollups, and keeps others from it until the
// end of the transaction.
func holdGeneration(ctx context.Context, tx session) error {
	return lockUntilEnd(ctx, tx, `SELECT pg_advisory_xact_lock($1)`, generationLock)
}

// holdDomains waits until nobody gives a link a code, and keeps others from it until the
// end of the transaction: whether case matters must not change meanwhile, nor the domain
// go away. Whoever reads domains in a transaction shares its lock: see lockDomains.
func holdDomains(ctx context.Context, tx session) error {
	if tx.kind == onSQLite {
		return nil
	}
	_, err := tx.ExecContext(ctx, `LOCK TABLE domains IN ACCESS EXCLUSIVE MODE`)
	return err
}

func lockUntilEnd(ctx context.Context, tx session, statement string, lock int64) error {
	if tx.kind == onSQLite {
		return nil
	}
	_, err := tx.ExecContext(ctx, statement, lock)
	return err
}

// lockInOrder locks links, whose numbers rise: an UPDATE of many would lock them in
// an order of its own.
func lockInOrder(ctx context.Context, tx session, ids [][]any) error {
	if tx.kind == onSQLite {
		return nil
	}
	return inChunks(ctx, tx, `
		SELECT id FROM links WHERE id IN (SELECT column1 FROM (VALUES %s) AS v)
		ORDER BY id FOR UPDATE`, ids, func(*sql.Rows) error { return nil })
}
