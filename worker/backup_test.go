package worker_test

import (
	"context"
	"database/sql"
	"errors"
)

// backup copies an open SQLite file.
func backup(ctx context.Context, from, to string) error {
	db, err := sql.Open("sqlite", from)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO $1", to)
	return errors.Join(err, db.Close())
}
