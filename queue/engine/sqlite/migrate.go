package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

var (
	//go:embed schema_log.sql
	logSchema string
	//go:embed schema_rename.sql
	renameLog string // What makes version 1 of logSchema version 2.
	//go:embed schema_task.sql
	taskSchema string
)

const schemaVersion = 2

// migrate makes the tables, or makes those of an older program the ones of today.
func (e *Engine) migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // Of no effect after Commit.
	version, err := findVersion(ctx, tx)
	switch {
	case err != nil:
		return err
	case version > schemaVersion:
		return fmt.Errorf("its tables are of schema version %d, this program knows %d: they were written by a newer one", version, schemaVersion)
	case version == 1:
		_, err = tx.ExecContext(ctx, renameLog+taskSchema)
	case version == 0:
		_, err = tx.ExecContext(ctx, logSchema+taskSchema)
	}
	if err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if err := e.endLeasesOfAnotherBoot(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// findVersion returns the version of the engine's tables, 0 if they are not there. Their
// version stands in a table, because that of the file (user_version) is its owner's.
// Version 1 was a file by itself, with that in it and names without "queue_".
func findVersion(ctx context.Context, tx *sql.Tx) (version int, err error) {
	var there bool
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'queue_version')").Scan(&there)
	if err != nil {
		return 0, err
	}
	if there {
		err = tx.QueryRowContext(ctx, "SELECT version FROM queue_version").Scan(&version)
		return version, err
	}
	err = tx.QueryRowContext(ctx, "SELECT user_version FROM pragma_user_version").Scan(&version)
	if err != nil || version != 1 {
		return 0, err
	}
	// Somebody else's file may be of version 1, too.
	columns, err := tx.QueryContext(ctx, `
		SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' ORDER BY t.name, c.cid`)
	if err != nil {
		return 0, err
	}
	defer columns.Close()
	var all []string
	for columns.Next() {
		var column string
		if err := columns.Scan(&column); err != nil {
			return 0, err
		}
		all = append(all, column)
	}
	if strings.Join(all, " ") != columnsOfVersion1 {
		return 0, columns.Err()
	}
	return 1, columns.Err()
}

const columnsOfVersion1 = "entries.part entries.base entries.mark entries.count entries.segment entries.first entries.earliest entries.frames " +
	"partitions.part partitions.topic partitions.partition partitions.appended " +
	"positions.consumer positions.topic positions.partition positions.position " +
	"rosters.consumer rosters.topic rosters.boot rosters.version rosters.roster " +
	"segments.part segments.segment segments.next segments.seen_at " +
	"topics.name topics.id topics.partitions topics.max_bytes topics.bytes"

// endLeasesOfAnotherBoot makes leases over that were measured by another boot's clock:
// nobody is left who holds one.
func (e *Engine) endLeasesOfAnotherBoot(ctx context.Context, tx *sql.Tx) error {
	var boot string
	err := tx.QueryRowContext(ctx, "SELECT boot FROM queue_leases_by").Scan(&boot)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("boot of the leases: %w", err)
	}
	if boot == e.boot {
		return nil
	}
	_, err = tx.ExecContext(ctx, `
		DELETE FROM queue_leases_by;
		INSERT INTO queue_leases_by (boot) VALUES (?1);
		UPDATE queue_tasks SET until = 0 WHERE until > 0`, e.boot)
	if err != nil {
		return fmt.Errorf("end the leases of another boot: %w", err)
	}
	return nil
}
