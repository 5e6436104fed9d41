// Package store keeps links, what was counted for them, and keys, in a SQLite file or
// in a PostgreSQL database.
//
// Any number of processes on one host may open the same file, and any number on any
// hosts the same database. What a method wrote
// is on disk when it returns. Errors are of type *snip.Error where a person can do
// something about them; snip.Unavailable means that nothing was kept as far as can
// be told, and that the same call may succeed later.
//
// Neither is encrypted. It holds no secret: of keys it has hashes only.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"snip"
	"snip/internal/sqlitefile"
	"snip/queue"
	"snip/queue/outbox"
)

// Config describes a store. Path or URL must be set, and nothing else.
type Config struct {
	// Path is a SQLite file. It is made if it is missing; its directory is not.
	Path string
	// URL is a PostgreSQL database, such as postgres://user:password@host/database. A
	// pooler may stand before it, also one that hands out transactions.
	URL string
	// Connections bounds those to PostgreSQL. Default: 10.
	Connections int
	// OutboxRows bounds what is told to topics "links" and "audit" and is not there yet. At
	// the bound a change is refused with snip.Unavailable. Default: 1,000,000.
	OutboxRows int64
	// Rules say which targets links may have.
	Rules snip.Rules
	// NewCode makes up the codes of links that come without one.
	// Default: snip.RandomCode.
	NewCode func() string
	// Now is the wall clock. Default: time.Now.
	Now func() time.Time
	// Logger is told what needs somebody's attention. Default: nothing is logged.
	Logger *slog.Logger
}

// Store is safe for concurrent use. What it is asked for without a key is done as whoever
// runs the server: everything is seen and allowed.
type Store struct {
	*View
	db      database
	rules   snip.Rules
	newCode func() string
	clock   func() time.Time
	outbox  *outbox.Outbox // Of topic "links".
	audits  *outbox.Outbox // Of topic "audit".
	hashing chan struct{}  // Holds a token for each password that is hashed at this moment.
	uses    *uses
	closed  atomic.Bool
}

var (
	_ snip.Service = (*View)(nil)
	_ snip.Service = (*Store)(nil)
)

// Open opens the store and brings its tables up to date. Several processes may do
// so at once: one works, the others wait for it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if (cfg.Path == "") == (cfg.URL == "") {
		return nil, errors.New("store: one of Path and URL must be set")
	}
	if cfg.Connections < 0 {
		return nil, fmt.Errorf("store: Connections is %d, must not be negative", cfg.Connections)
	}
	if err := cfg.Rules.Check(); err != nil {
		return nil, fmt.Errorf("store: Rules: %w", err)
	}
	s := &Store{rules: cfg.Rules, newCode: cfg.NewCode, clock: cfg.Now, hashing: make(chan struct{}, maxHashing)}
	s.View = s.As(operator())
	var err error
	if s.outbox, err = newOutbox(cfg.OutboxRows); err != nil {
		return nil, fmt.Errorf("store: OutboxRows: %w", err)
	}
	if s.audits, err = newAuditOutbox(cfg.OutboxRows); err != nil {
		return nil, fmt.Errorf("store: OutboxRows: %w", err)
	}
	if s.newCode == nil {
		s.newCode = snip.RandomCode
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if cfg.URL != "" {
		err = s.openServer(ctx, cfg)
	} else {
		err = s.openFile(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	s.uses = newUses(cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), s.writeUses)
	return s, nil
}

func (s *Store) openFile(ctx context.Context, cfg Config) error {
	f, err := sqlitefile.Open(ctx, sqlitefile.Config{Path: cfg.Path, Migrate: migrateFile, Logger: cfg.Logger})
	s.db = file{f}
	return s.failed("open "+cfg.Path, err)
}

// Close waits for what is being written and closes the file. Every call after it
// returns snip.Unavailable.
func (s *Store) Close() error {
	s.uses.close()
	s.closed.Store(true)
	return s.db.Close()
}

// Read returns the connections for reading. What is read through them is the state
// after some write; a read transaction keeps to one such state, and must be short.
func (s *Store) Read() *sql.DB { return s.db.Read() }

// Ping reports whether links can be read.
func (s *Store) Ping(ctx context.Context) error {
	var n int
	return s.failed("ping", s.Read().QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM links LIMIT 1) AS one").Scan(&n))
}

// Write runs fn in a transaction and returns once it is on disk. If fn returns an
// error, nothing of it is kept, and that error is returned; if ctx ends while fn
// runs, it is unknown whether it was kept. fn may share its transaction with others
// that came at the same time, so it should be quick, must not call Write, and must
// not commit or roll back.
func (s *Store) Write(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	return s.failed("write", s.db.write(ctx, func(ctx context.Context, tx session) error { return fn(ctx, tx.Tx) }))
}

// now returns the time as the store can keep it.
func (s *Store) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// failed turns the error of an operation into the one that the caller gets: one
// that says so if the database is busy, full, closed or away, or time ran out.
func (s *Store) failed(operation string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*snip.Error](err); ok {
		return err
	}
	message := s.db.fault(err)
	switch {
	case s.closed.Load():
		message = "The server is stopping. Try again in a moment."
	case message != "":
	case errors.Is(err, queue.ErrFull):
		message = tooMany
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		message = noAnswer
	default:
		return fmt.Errorf("store: %s: %w", operation, err)
	}
	return &snip.Error{Code: snip.Unavailable, Message: message, Cause: fmt.Errorf("store: %s: %w", operation, err)}
}

// What a person is told of a database that does not do what it should.
const (
	diskFull = "The disk of the database is full. Nothing was kept."
	noAnswer = "The database did not answer in time. Try again in a moment."
	away     = "The database cannot be reached. Try again in a moment."
	tooMany  = "Too many changes of links have not reached all servers yet. Nothing was kept. Try again in a moment."
)
