package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"snip/internal/sqlitefile"
)

// database is where a store is kept.
type database interface {
	// Read returns connections for reading.
	Read() *sql.DB
	// QueryRowContext reads one row, for statements of which there are few and that are
	// run often.
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	// write runs fn in a transaction and returns once it is on disk.
	write(ctx context.Context, fn func(context.Context, session) error) error
	Close() error

	// ready is a transaction of Write whose statements are prepared, where that helps.
	ready(tx *sql.Tx) sqlitefile.Tx
	// kind tells which statements it takes where the two differ.
	kind() kind
	// fault tells what a person should know of an error, or "".
	fault(err error) string
	// taken reports that a row with the same unique columns is there already.
	taken(err error) bool
}

type kind int

const (
	onSQLite kind = iota
	onPostgres
)

// session is a transaction that knows on which kind of database it is.
type session struct {
	*sql.Tx
	kind  kind
	ready sqlitefile.Tx // Runs its statements. Nil: Tx does.
	tail  *pgx.Batch    // See later.
}

func (s session) runner() sqlitefile.Tx {
	if s.ready != nil {
		return s.ready
	}
	return s.Tx
}

func (s session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return s.runner().ExecContext(ctx, query, args...)
}

func (s session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.runner().QueryContext(ctx, query, args...)
}

func (s session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return s.runner().QueryRowContext(ctx, query, args...)
}

// write runs fn in a transaction and returns once it is on disk.
func (s *Store) write(ctx context.Context, fn func(context.Context, session) error) error {
	return s.db.write(ctx, fn)
}

// session is for a transaction of Write that comes back from elsewhere.
func (s *Store) session(tx *sql.Tx) session {
	return session{Tx: tx, kind: s.db.kind(), ready: s.db.ready(tx)}
}

// read runs fn in a transaction that sees one state of the store.
func (s *Store) read(ctx context.Context, fn func(session) error) error {
	options := &sql.TxOptions{ReadOnly: true} // On SQLite it sees one state as it is.
	if s.db.kind() == onPostgres {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.Read().BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer tx.Rollback() // There is nothing to commit.
	return fn(session{Tx: tx, kind: s.db.kind()})
}

// file is a store in a SQLite file.
type file struct{ *sqlitefile.File }

func (file) kind() kind                       { return onSQLite }
func (f file) ready(tx *sql.Tx) sqlitefile.Tx { return f.Prepared(tx) }

func (f file) write(ctx context.Context, fn func(context.Context, session) error) error {
	return f.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return fn(ctx, session{Tx: tx, kind: onSQLite, ready: f.ready(tx)})
	})
}

func (file) fault(err error) string {
	code, ok := sqliteCode(err)
	primary := code & 0xff
	switch {
	case sqlitefile.IsFull(err):
		return diskFull
	case sqlitefile.IsBusy(err):
		return noAnswer
	case ok && (primary == sqlite3.SQLITE_IOERR || primary == sqlite3.SQLITE_CANTOPEN || primary == sqlite3.SQLITE_READONLY):
		return away // Its disk is away or broken.
	}
	return ""
}

func (file) taken(err error) bool {
	code, ok := sqliteCode(err)
	return ok && code == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func sqliteCode(err error) (int, bool) {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code(), true
	}
	return 0, false
}

// ErrServer: the store is on a server, which has tools of its own for it.
var ErrServer = errors.New("the store is in a PostgreSQL database")

// Backup writes a copy of the store's file, as it is at one moment, to a path that is
// not there yet. Others may use the store meanwhile. It returns ErrServer if the store
// is not in a file.
func (s *Store) Backup(ctx context.Context, path string) error {
	f, ok := s.db.(file)
	if !ok {
		return ErrServer
	}
	return s.failed("back up", f.Backup(ctx, path))
}
