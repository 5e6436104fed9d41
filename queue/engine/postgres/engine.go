// Package postgres is the engine for a PostgreSQL server, tested with version 15, which
// any number of processes on any number of machines use at the same time.
//
// Mapping: a batch is a row, its messages framed. What a partition has grown to is
// read from its last row; a segment's next number, too. A task is a row.
// Delivery: as the contracts say. What Append, Push and Settle took is synced to the
// server's disk, whatever synchronous_commit says; a lease is not, so after a power cut
// its task comes again. Each is one statement, so a client that stalls or is cut off
// holds no lock. Only an ID that was pushed in a transaction of the caller's is neither
// taken nor free until that ends: others that push it wait.
// Ordering: an append locks its partition until it is committed, so that positions
// grow in commit order. Transactions of others hold nothing up and are not waited for.
// Pulls pass over the tasks that another call is at.
// Limits: 16 MiB a batch, and a task. The bound of a topic counts framed bytes;
// partitions that are appended to at the same moment may pass it by a batch each. Tasks
// are counted now and then, so others may push past a queue's bound for a second.
// Operations: the tables are in a schema of their own, named queue by default, which
// the first Open makes. PgBouncer in transaction mode may stand in between, and the
// simple protocol will do: what outlives a transaction, prepared statements and the
// LISTEN of a connection beside the pool, is used only in sessions that no pooler
// shares. Without LISTEN processes look several times a second for what others append.
// Rosters are kept on the server's clock. A failover to a standby that lags loses what
// it lags; segments are then sent again from where it stands. Space of what was trimmed
// or done is used again after autovacuum, which a transaction that stays open holds up.
// As long as there is one, and much is done meanwhile, a task whose lease ended is found
// later than within a second: looking for it takes a twentieth of the time at most.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"snip/queue"
)

// Config describes an engine. Either URL or Pool must be set.
type Config struct {
	URL    string           // Such as postgres://user:password@host/database?pool_max_conns=4.
	Pool   *pgxpool.Pool    // A pool that the caller closes, after the engine.
	Schema string           // Of the engine's tables: a-z, 0-9 and '_'. Default: queue.
	Now    func() time.Time // For the age of segments, and to refuse deadlines that are over. Default: time.Now.
	Logger *slog.Logger     // Default: none.
}

// Engine implements queue.LogEngine, queue.GroupStore, queue.Waiter, queue.Backlogger,
// queue.TaskEngine, queue.Controls, queue.DeadLetters, queue.TxPusher and
// queue.QueueWaiter. It is safe for concurrent use.
type Engine struct {
	cfg    Config
	pool   *pgxpool.Pool
	schema string            // Quoted.
	mode   pgx.QueryExecMode // Of every statement.
	closed atomic.Bool

	tasks, dead tallies
	floors      floors

	waker
	hints   hints
	sweeper sweeper
	end     context.CancelFunc // Ends the goroutines below.
	wg      sync.WaitGroup
}

var (
	_ queue.LogEngine   = (*Engine)(nil)
	_ queue.GroupStore  = (*Engine)(nil)
	_ queue.Waiter      = (*Engine)(nil)
	_ queue.Backlogger  = (*Engine)(nil)
	_ queue.TaskEngine  = (*Engine)(nil)
	_ queue.Controls    = (*Engine)(nil)
	_ queue.DeadLetters = (*Engine)(nil)
	_ queue.TxPusher    = (*Engine)(nil)
	_ queue.QueueWaiter = (*Engine)(nil)
)

// segmentDays is for how many days the next number of a segment is kept after its
// entries were trimmed.
const segmentDays = 30

const maxBatchBytes = 16 << 20

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Open connects to the server and makes the tables if they are not there. It returns
// an error if the server cannot be reached; later outages are errors of the calls.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if (cfg.URL == "") == (cfg.Pool == nil) {
		return nil, errors.New("postgres engine: either URL or Pool must be set")
	}
	cfg.Schema = cmp.Or(cfg.Schema, "queue")
	if !schemaName.MatchString(cfg.Schema) {
		return nil, fmt.Errorf("postgres engine: Schema %q must be 1 to 63 of a-z, 0-9 and '_', no digit first", cfg.Schema)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))

	e := &Engine{cfg: cfg, pool: cfg.Pool, schema: pgx.Identifier{cfg.Schema}.Sanitize()}
	if e.pool == nil {
		pool, err := connect(ctx, cfg.URL)
		if err != nil {
			return nil, fmt.Errorf("postgres engine: %w", err)
		}
		e.pool = pool
	}
	e.mode = execMode(e.pool.Config().ConnConfig, false)
	if err := e.migrate(ctx); err != nil {
		e.closePool()
		return nil, fmt.Errorf("postgres engine: %w", err)
	}
	e.start()
	return e, nil
}

// connectLimit is how long a connection may take to come about.
const connectLimit = 5 * time.Second

func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("URL: %w", hideURL(err))
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectLimit)
	return pgxpool.NewWithConfig(ctx, config)
}

// hideURL leaves the password out of the error that quotes it.
func hideURL(err error) error {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return errors.New("not one such as postgres://user:password@host/database")
}

// execMode is how statements are executed. Only in a session of its own the engine
// prepares them: a pooler would give it to somebody else.
func execMode(config *pgx.ConnConfig, own bool) pgx.QueryExecMode {
	switch mode := config.DefaultQueryExecMode; {
	case mode == pgx.QueryExecModeSimpleProtocol || mode == pgx.QueryExecModeExec:
		return mode
	case own && mode == pgx.QueryExecModeCacheStatement && config.StatementCacheCapacity > 0:
		return mode
	case config.DescriptionCacheCapacity > 0:
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeExec
}

// ownSession tells whether a connection has a session of the server to itself. A
// pooler gives its clients process numbers of its own making.
func ownSession(ctx context.Context, conn *pgx.Conn, mode pgx.QueryExecMode) (bool, error) {
	var pid uint32
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", mode).Scan(&pid)
	return pid == conn.PgConn().PID(), err
}

// Caps says what this engine does.
func (e *Engine) Caps() queue.Caps {
	return queue.Caps{
		Engine:         "postgres",
		Durability:     queue.DurablePower,
		Sequences:      true,
		SegmentMemory:  segmentDays * 24 * time.Hour,
		Overshoot:      "one batch for each other partition of the topic",
		Shared:         true,
		MaxBatchBytes:  maxBatchBytes,
		Tasks:          true,
		MaxTaskBytes:   maxTaskBytes,
		TasksOvershoot: "what other processes push within a second, or within twenty times as long as the server takes to count the queue, and what was pushed in transactions that are open",
		SQL:            true,
	}
}

// Close waits for the engine's goroutines and, if the pool is its own, for the calls
// that run. Every call after it returns queue.ErrClosed.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.end()
	e.wg.Wait()
	e.waker.wakeAll() // Who waits finds the engine closed.
	e.closePool()
	return nil
}

func (e *Engine) closePool() {
	if e.cfg.Pool == nil {
		e.pool.Close()
	}
}

// statement puts the engine's schema in the place of the one that statements name.
func (e *Engine) statement(sql string) string {
	if e.cfg.Schema == "queue" {
		return sql
	}
	return strings.ReplaceAll(sql, "queue.", e.schema+".")
}
