package sqlite

import (
	"context"
	"fmt"

	"snip/internal/sqlitefile"
)

// Inspect tells of which version the tables in a file are, 0 if there are none, and which
// one this program makes of them. It changes nothing. The error is fs.ErrNotExist if there
// is no file.
func Inspect(ctx context.Context, path string) (version, newest int, err error) {
	db, err := sqlitefile.Look(ctx, path)
	if err != nil {
		return 0, schemaVersion, fmt.Errorf("sqlite: %w", err)
	}
	defer db.Close() // Nothing was written.
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		defer tx.Rollback() // There is nothing to commit.
		version, err = findVersion(ctx, tx)
	}
	if err != nil {
		return 0, schemaVersion, fmt.Errorf("sqlite: inspect %s: %w", path, err)
	}
	return version, schemaVersion, nil
}
