package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"snip/internal/sqlitefile"
)

// server is a store in a PostgreSQL database.
type server struct{ db *sql.DB }

// connectLimit is how long a connection may take to come about.
const connectLimit = 5 * time.Second

// connect opens a pool of connections. Where a pooler stands in between it asks for no
// state that outlives a transaction; what the URL says about how statements are executed
// goes first.
func connect(ctx context.Context, url string, connections int) (*server, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("URL: %w", hideURL(err))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	if !strings.Contains(url, "default_query_exec_mode") {
		if config.DefaultQueryExecMode, err = execMode(ctx, config); err != nil {
			return nil, err
		}
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return &server{db}, nil
}

// execMode is how statements are executed: prepared once and then run, or each anew if a
// pooler stands in between, since what is prepared belongs to one connection, and a pooler
// gives that to others. It is one if the process that the server says it answers with is
// not the one that was told when the connection began: a pooler tells a number of its own
// there, for requests to cancel.
func execMode(ctx context.Context, config *pgx.ConnConfig) (mode pgx.QueryExecMode, err error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var answers uint32
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&answers); err != nil {
		return 0, err
	}
	if answers != conn.PgConn().PID() {
		return pgx.QueryExecModeExec, nil
	}
	return pgx.QueryExecModeCacheStatement, nil
}

// openServer opens a store on a server that can be reached, and brings its tables up
// to date.
func (s *Store) openServer(ctx context.Context, cfg Config) error {
	s.db = &server{} // It knows what errors mean.
	p, err := connect(ctx, cfg.URL, cmp.Or(cfg.Connections, 10))
	if err != nil {
		return s.failed("open the database", err)
	}
	s.db = p
	if err := migrateServer(ctx, p.db); err != nil {
		return s.failed("open the database", errors.Join(err, p.db.Close()))
	}
	return nil
}

// hideURL leaves the password out of the error that quotes it.
func hideURL(err error) error {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return errors.New("not a PostgreSQL URL such as postgres://user:password@host/database")
}

func (p *server) Read() *sql.DB { return p.db }
func (p *server) Close() error  { return p.db.Close() }
func (p *server) kind() kind    { return onPostgres }

func (p *server) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.db.QueryRowContext(ctx, query, args...)
}

// ready leaves it to the driver, which knows whether a pooler stands between.
func (p *server) ready(tx *sql.Tx) sqlitefile.Tx { return tx }

// attempts is how often a transaction is tried that lost against others.
const attempts = 10

// limitIdle ends a transaction whose process is not heard of for a while, between two of
// its statements or before its commit. One that was cut off would else keep its locks, and
// all others waiting for them, until the network finds out: after two hours, by default.
const limitIdle = "SET LOCAL idle_in_transaction_session_timeout = '5s'"

// write tries a transaction again that the server broke off to let another one go on.
// If the connection is lost while it is committed, the outcome is unknown.
func (p *server) write(ctx context.Context, fn func(context.Context, session) error) error {
	var err error
	for range attempts {
		if err = p.once(ctx, fn); !lostAgainstOthers(err) {
			return err
		}
	}
	return err
}

func (p *server) once(ctx context.Context, fn func(context.Context, session) error) error {
	conn, tx, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()  // Gives it back to the pool.
	defer tx.Rollback() // Does nothing once it is committed.
	if _, err := tx.ExecContext(ctx, limitIdle); err != nil {
		return err
	}
	s := session{Tx: tx, kind: onPostgres, tail: &pgx.Batch{}}
	if err := fn(ctx, s); err != nil {
		return err
	}
	if err := sendTail(ctx, conn, s.tail); err != nil {
		return err
	}
	return tx.Commit()
}

// begin passes over connections that died in the pool, as the pool itself does for those
// who leave to it which one they get.
func (p *server) begin(ctx context.Context) (conn *sql.Conn, tx *sql.Tx, err error) {
	for range attempts {
		if conn, err = p.db.Conn(ctx); err != nil {
			return nil, nil, err
		}
		if tx, err = conn.BeginTx(ctx, nil); err == nil {
			return conn, tx, nil
		}
		_ = conn.Close() // Nothing was done on it.
		if !errors.Is(err, driver.ErrBadConn) {
			return nil, nil, err
		}
	}
	return nil, nil, err
}

// sendTail runs what was left for the end of the transaction that is open.
func sendTail(ctx context.Context, conn *sql.Conn, tail *pgx.Batch) error {
	if tail.Len() == 0 {
		return nil
	}
	return conn.Raw(func(c any) error {
		return c.(*stdlib.Conn).Conn().SendBatch(ctx, tail).Close()
	})
}

// Codes of errors: appendix A of PostgreSQL's manual.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	uniqueViolation      = "23505"
	queryCanceled        = "57014"
	lockNotAvailable     = "55P03"
	idleTooLong          = "25P03"
)

func lostAgainstOthers(err error) bool {
	code := postgresCode(err)
	return code == serializationFailure || code == deadlockDetected
}

func (*server) taken(err error) bool { return postgresCode(err) == uniqueViolation }

func (*server) fault(err error) string {
	code := postgresCode(err)
	switch {
	case strings.HasPrefix(code, "53"): // Insufficient resources.
		if code == "53100" {
			return diskFull
		}
		return noAnswer
	case code == queryCanceled, code == lockNotAvailable, code == idleTooLong, lostAgainstOthers(err):
		return noAnswer
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), code == "25006": // Gone, stopping, or a standby.
		return away
	case code != "":
		return ""
	}
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if connect || network || errors.Is(err, driver.ErrBadConn) || pgconn.Timeout(err) || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "unexpected EOF") {
		return away
	}
	return ""
}

func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
