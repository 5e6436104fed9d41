// Package sqlitefile opens one SQLite file the way Snip's stores and its log need
// it: in WAL mode, synced at every commit, with one writer that commits many
// writes together and a pool of readers beside it.
package sqlitefile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite" // The driver, under the name "sqlite".
)

// ErrClosed: the file was closed.
var ErrClosed = errors.New("sqlite file is closed")

// Config says which file, and how it is used.
type Config struct {
	Path    string
	Readers int           // Connections that read at the same time. Default: 4.
	Busy    time.Duration // How long a statement waits for another process's lock. Default: 5 s.
	Queue   int           // Writes that may wait for the writer. Default: 1024.
	Cache   int           // Bytes of pages that each connection keeps. Default: 8 MiB.

	// Migrate makes the tables, on the writer's connection before anything else.
	// One process at a time is in it. Default: nothing.
	Migrate func(ctx context.Context, db *sql.DB) error

	Logger *slog.Logger // Default: none.
}

// File is an open SQLite file. It is safe for concurrent use.
type File struct {
	readers *sql.DB
	writer  *sql.DB
	log     *slog.Logger

	reading, writing *statements
	present          *presence

	writes chan *write
	owed   time.Duration // Of pauses. The writer's alone.
	done   chan struct{} // Closed when the writer's goroutine has ended.

	mu     sync.RWMutex // Protects closed, and writes from being closed while it is sent to.
	closed bool
}

// Open opens the file, which is made if it is not there. Several processes may do
// so at once: one works, the others wait for it.
func Open(ctx context.Context, cfg Config) (*File, error) {
	if cfg.Path == "" {
		return nil, errors.New("sqlitefile: Path must be set")
	}
	if cfg.Readers < 0 || cfg.Busy < 0 || cfg.Queue < 0 || cfg.Cache < 0 {
		return nil, errors.New("sqlitefile: Readers, Busy, Queue and Cache must not be negative")
	}
	f := &File{
		log:    cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		writes: make(chan *write, cmp.Or(cfg.Queue, 1024)),
		done:   make(chan struct{}),
	}
	opening, err := lock(ctx, cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("sqlitefile: %w", err)
	}
	defer func() { _ = opening.Close() }() // Nothing was written to it that could be lost.
	if err := removeOrphans(cfg.Path); err != nil {
		return nil, fmt.Errorf("sqlitefile: %w", err)
	}
	if f.present, err = enter(cfg.Path); err != nil {
		return nil, fmt.Errorf("sqlitefile: %w", err)
	}
	if f.writer, err = connect(cfg, 1, false); err != nil {
		return nil, errors.Join(err, f.present.leave())
	}
	if f.readers, err = connect(cfg, cmp.Or(cfg.Readers, 4), true); err != nil {
		return nil, errors.Join(err, f.writer.Close(), f.present.leave())
	}
	f.reading, f.writing = newStatements(f.readers), newStatements(f.writer)
	err = f.writer.PingContext(ctx)
	if err == nil && cfg.Migrate != nil {
		err = cfg.Migrate(ctx, f.writer)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlitefile: open %s: %w", cfg.Path, err), f.readers.Close(), f.writer.Close(), f.present.leave())
	}
	go f.write()
	return f, nil
}

// connect sets all that matters on every connection: some of it is not kept in the
// file, and the rest may have been set otherwise by an older program.
func connect(cfg Config, n int, readOnly bool) (*sql.DB, error) {
	busy := cmp.Or(cfg.Busy, 5*time.Second)
	q := url.Values{}
	// The waiting time comes first, for the others may have to wait already.
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busy.Milliseconds(), 10)+")")
	q.Add("_pragma", "journal_mode(wal)")
	q.Add("_pragma", "synchronous(full)")
	q.Add("_pragma", "foreign_keys(on)")
	q.Add("_pragma", "cache_size(-"+strconv.Itoa(cmp.Or(cfg.Cache, 8<<20)>>10)+")") // kB.
	q.Add("_pragma", "temp_store(memory)")
	q.Add("_pragma", "journal_size_limit(67108864)") // A long read makes the log large only once.
	if readOnly {
		q.Add("_pragma", "query_only(on)")
	} else {
		// A transaction that reads first and writes later could not wait for the lock.
		q.Add("_txlock", "immediate")
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: cfg.Path}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("sqlitefile: open %s: %w", cfg.Path, err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// Read returns the pool of readers. Its connections refuse to write. Transactions
// on it are short: a long one keeps the WAL from being reused.
func (f *File) Read() *sql.DB { return f.readers }

// Close waits for the writes that were taken and closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	close(f.writes)
	f.mu.Unlock()
	<-f.done
	return errors.Join(f.readers.Close(), f.writer.Close(), f.present.leave())
}
