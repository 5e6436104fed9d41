package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"snip/internal/sqlitefile"
)

// State is what a store is like.
type State struct {
	Software string // Such as "PostgreSQL 17.2".
	// Schema is the version of its tables: 0 if there are none, or that of a program older
	// or newer than this one, which makes Newest of it.
	Schema, Newest int64
	// Clock is the database's. Zero: it has none of its own.
	Clock time.Time
}

// Inspect tells what the store at cfg.Path or cfg.URL is like, and changes nothing. Its
// errors are those of Open, and fs.ErrNotExist if there is no file.
func Inspect(ctx context.Context, cfg Config) (State, error) {
	if (cfg.Path == "") == (cfg.URL == "") {
		return State{}, errors.New("store: one of Path and URL must be set")
	}
	newest, err := newestSchema()
	if err != nil {
		return State{}, fmt.Errorf("store: %w", err)
	}
	st := State{Newest: newest}
	if cfg.URL == "" {
		db, err := sqlitefile.Look(ctx, cfg.Path)
		if err != nil {
			return st, (&Store{db: file{}}).failed("inspect", err)
		}
		defer db.Close() // Nothing was written.
		return st, (&Store{db: file{}}).failed("inspect", st.ofFile(ctx, db))
	}
	p, err := connect(ctx, cfg.URL, 1)
	if err != nil {
		return st, (&Store{db: &server{}}).failed("inspect", err)
	}
	defer p.Close() // Nothing was written.
	return st, (&Store{db: p}).failed("inspect", st.ofServer(ctx, p.db))
}

func (st *State) ofFile(ctx context.Context, db *sql.DB) error {
	var there bool
	err := db.QueryRowContext(ctx, `
		SELECT 'SQLite ' || sqlite_version(), EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version')`).
		Scan(&st.Software, &there)
	if err != nil || !there {
		return err
	}
	return st.readSchema(ctx, db)
}

func (st *State) ofServer(ctx context.Context, db *sql.DB) error {
	var there bool
	err := db.QueryRowContext(ctx, `
		SELECT 'PostgreSQL ' || current_setting('server_version'), clock_timestamp(), to_regclass('goose_db_version') IS NOT NULL`).
		Scan(&st.Software, &st.Clock, &there)
	if err != nil || !there {
		return err
	}
	return st.readSchema(ctx, db)
}

func (st *State) readSchema(ctx context.Context, db *sql.DB) error {
	return db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&st.Schema)
}

// newestSchema is the version of the tables that this program makes.
func newestSchema() (newest int64, err error) {
	names, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return 0, err
	}
	newest = makeSearchable(onSQLite).Version
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("read migrations: %w", err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}
