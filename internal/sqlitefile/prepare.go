package sqlitefile

import (
	"context"
	"database/sql"
	"sync"
)

// Tx is a transaction, for functions that need not know whose it is. A *sql.Tx is one.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Prepared returns the transaction that Write passed to its function, as one whose
// statements stay prepared from their second use on: to parse a small statement takes
// longer than to run it. It is for statements of which there are few: texts that are
// made anew each time are run on tx itself.
func (f *File) Prepared(tx *sql.Tx) Tx { return preparedTx{tx, f.writing} }

// View runs do in a transaction that only reads, and sees one state of the file. Its
// statements stay prepared, as those of Prepared do.
func (f *File) View(ctx context.Context, do func(ctx context.Context, tx Tx) error) error {
	f.reading.prepare(ctx)
	tx, err := f.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() // It only read.
	return do(ctx, preparedTx{tx, f.reading})
}

// QueryRowContext reads one row, as Read().QueryRowContext does, by a statement that stays
// prepared as those of Prepared do.
func (f *File) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	f.reading.prepare(ctx)
	if stmt := f.reading.find(query); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return f.readers.QueryRowContext(ctx, query, args...)
}

// maxPrepared bounds what a mistake costs.
const maxPrepared = 300

// statements are those of one pool.
type statements struct {
	db *sql.DB

	mu       sync.Mutex // Protects below.
	prepared map[string]*sql.Stmt
	wanted   map[string]bool // Used, and not prepared yet.
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, prepared: map[string]*sql.Stmt{}, wanted: map[string]bool{}}
}

// find returns nil for a statement that is not prepared.
func (s *statements) find(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	stmt := s.prepared[query]
	if stmt == nil && len(s.prepared)+len(s.wanted) < maxPrepared {
		s.wanted[query] = true
	}
	return stmt
}

// prepare prepares what was used since the last call. It is not done at the first use,
// within a transaction: what is prepared there lives no longer.
func (s *statements) prepare(ctx context.Context) {
	for query := range s.take() {
		// One that cannot be prepared is run without, and says there what is wrong.
		if stmt, err := s.db.PrepareContext(ctx, query); err == nil {
			s.mu.Lock()
			s.prepared[query] = stmt
			s.mu.Unlock()
		}
	}
}

// take returns the statements that are wanted, and makes them the caller's: to prepare
// one may mean to wait for a connection, whose user wants to find others.
func (s *statements) take() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wanted) == 0 {
		return nil // This one stays in use.
	}
	taken := s.wanted
	s.wanted = map[string]bool{}
	return taken
}

// preparedTx is a transaction that uses statements. They end with their pool.
type preparedTx struct {
	tx *sql.Tx
	*statements
}

func (p preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := p.find(query); stmt != nil {
		return p.tx.StmtContext(ctx, stmt).ExecContext(ctx, args...)
	}
	return p.tx.ExecContext(ctx, query, args...)
}

func (p preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := p.find(query); stmt != nil {
		return p.tx.StmtContext(ctx, stmt).QueryContext(ctx, args...)
	}
	return p.tx.QueryContext(ctx, query, args...)
}

func (p preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := p.find(query); stmt != nil {
		return p.tx.StmtContext(ctx, stmt).QueryRowContext(ctx, args...)
	}
	return p.tx.QueryRowContext(ctx, query, args...)
}
