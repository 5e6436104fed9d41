// Package sqlite is the engine that needs nothing but a file. Other processes on
// the host may use the same file at the same time.
//
// Mapping: a batch is a row, its messages framed; a table counts what was appended
// to each partition and one remembers the next number of each segment. A task is a
// row, and its framed message one beside it, so that a lease writes little.
// Delivery: as the contracts say. What Append and Push took is synced to disk. Leases
// are measured by the clock of the host's boot: to set the wall clock ends none, and
// after a reboot all are over.
// Ordering: SQLite has one writer at a time, so appends and pushes are ordered as they
// commit.
// Limits: 16 MiB a batch, and a task; 64 MiB a pull, and the task that stands first. The
// bound of a topic counts framed bytes, exactly; that of a queue, tasks, exactly. One
// process commits the writes that wait for it together; between two commits it
// leaves the lock to others.
// Operations: the file, its -wal and its -shm belong together: copy or delete all
// three, or none. A file that was deleted or replaced while it is in use is noticed
// at the next call, which then works on the new one. The file may be one that the
// caller keeps tables of its own in: the engine's begin with "queue_", and it puts the
// file into WAL mode.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// Config describes an engine. Only Path must be set.
type Config struct {
	Path   string           // The file; made if it is not there. Its directory is not.
	Busy   time.Duration    // How long a call waits for other processes. Default: 5 s.
	Now    func() time.Time // The wall clock, by which tasks are due and segments grow old. Default: time.Now.
	Logger *slog.Logger     // Default: none.
}

// Engine implements queue.LogEngine, queue.GroupStore, queue.Waiter, queue.Backlogger,
// queue.TaskEngine, queue.Controls, queue.DeadLetters, queue.QueueWaiter and
// queue.TxPusher. It is safe for concurrent use.
type Engine struct {
	cfg  Config
	boot string // Names this boot of the host, whose clock rosters and leases are written by.

	mu     sync.Mutex // Protects below.
	open   *opened
	closed bool

	waker
}

// opened is a file and what it was when it was opened.
type opened struct {
	*sqlitefile.File
	info os.FileInfo
}

var (
	_ queue.LogEngine   = (*Engine)(nil)
	_ queue.GroupStore  = (*Engine)(nil)
	_ queue.Waiter      = (*Engine)(nil)
	_ queue.Backlogger  = (*Engine)(nil)
	_ queue.TaskEngine  = (*Engine)(nil)
	_ queue.Controls    = (*Engine)(nil)
	_ queue.DeadLetters = (*Engine)(nil)
	_ queue.QueueWaiter = (*Engine)(nil)
	_ queue.TxPusher    = (*Engine)(nil)
)

// segmentMemory is how long the next number of a segment is kept after its last
// append.
const segmentMemory = 30 * 24 * time.Hour

const (
	maxBatchBytes = 16 << 20
	maxTaskBytes  = 16 << 20
)

// Open opens the file.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Path == "" {
		return nil, errors.New("sqlite engine: Path must be set")
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("sqlite engine: which boot this is: %w", err)
	}
	return openIn(ctx, cfg, strings.TrimSpace(string(boot)))
}

// openIn opens the file in a boot of the host.
func openIn(ctx context.Context, cfg Config, boot string) (*Engine, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	e := &Engine{cfg: cfg, boot: boot}
	e.waker.init()
	var err error
	if e.open, err = e.openFile(ctx); err != nil {
		return nil, err
	}
	e.waker.start(e)
	return e, nil
}

func (e *Engine) openFile(ctx context.Context) (*opened, error) {
	f, err := sqlitefile.Open(ctx, sqlitefile.Config{
		Path: e.cfg.Path, Busy: e.cfg.Busy, Migrate: e.migrate, Logger: e.cfg.Logger,
		Cache: 1 << 20, // A log is written once, and mostly read once: it only needs the way to its end.
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite engine: %w", err)
	}
	info, err := os.Stat(e.cfg.Path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite engine: %w", err), f.Close())
	}
	return &opened{File: f, info: info}, nil
}

// Caps says what this engine does.
func (e *Engine) Caps() queue.Caps {
	return queue.Caps{
		Engine:        "sqlite",
		Durability:    queue.DurablePower,
		Sequences:     true,
		SegmentMemory: segmentMemory,
		ExactBound:    true,
		Shared:        true,
		MaxBatchBytes: maxBatchBytes,
		Tasks:         true,
		MaxTaskBytes:  maxTaskBytes,
		ExactTasks:    true,
		SQL:           true,
	}
}

// Close waits for the calls that write and closes the file. Every call after it
// returns queue.ErrClosed.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.waker.stop()
	return e.open.Close()
}

// file returns the open file. One that was deleted or replaced under its name is
// left for the one that stands there now: what was written to it would be lost.
func (e *Engine) file(ctx context.Context) (*opened, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, queue.ErrClosed
	}
	info, err := os.Stat(e.cfg.Path)
	if err == nil && os.SameFile(info, e.open.info) {
		return e.open, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("sqlite engine: %w", err)
	}
	e.cfg.Logger.Error("the log's file was deleted or replaced, going on with the one that is there now", "path", e.cfg.Path)
	next, err := e.openFile(ctx)
	if err != nil {
		return nil, err
	}
	before := e.open
	e.open = next
	return next, before.Close()
}

// write runs do in a transaction of the file, on disk on return.
func (e *Engine) write(ctx context.Context, do func(ctx context.Context, tx sqlitefile.Tx) error) error {
	f, err := e.file(ctx)
	if err != nil {
		return err
	}
	err = f.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return do(ctx, f.Prepared(tx)) })
	if errors.Is(err, sqlitefile.ErrClosed) && e.isClosed() {
		return queue.ErrClosed
	}
	if err != nil {
		return err
	}
	// The write may have waited. In a file without a name it is lost, whatever the
	// commit said.
	info, err := os.Stat(e.cfg.Path)
	if err != nil {
		return fmt.Errorf("sqlite engine: file gone while it was written: %w", err)
	}
	if !os.SameFile(info, f.info) {
		return fmt.Errorf("sqlite engine: %s was replaced while it was written", e.cfg.Path)
	}
	return nil
}

// read runs do in a transaction that sees one state of the file.
func (e *Engine) read(ctx context.Context, do func(ctx context.Context, tx sqlitefile.Tx) error) error {
	f, err := e.file(ctx)
	if err != nil {
		return err
	}
	err = f.View(ctx, do)
	if err != nil && ctx.Err() == nil && e.isClosed() {
		return queue.ErrClosed
	}
	return err
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// uptime is the time since the host was booted, its sleep included. Nobody can set it.
func uptime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, fmt.Errorf("sqlite engine: boot clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// Backup writes a copy of the file, as it is at one moment, to a path that is not there
// yet. Others may use the engine meanwhile. A position of the original after that moment
// is ErrPositionLost in the copy.
func (e *Engine) Backup(ctx context.Context, path string) error {
	f, err := e.file(ctx)
	if err != nil {
		return err
	}
	if err := f.Backup(ctx, path); err != nil {
		return fmt.Errorf("sqlite engine: %w", err)
	}
	return nil
}
