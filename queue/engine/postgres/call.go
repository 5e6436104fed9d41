package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"snip/queue"
)

// callLimit ends a statement and its repetitions, the wait for a connection included.
const callLimit = 30 * time.Second

// attempts is how often a statement is tried that lost against others.
const attempts = 10

// collect runs a statement, which is a transaction of its own, and returns its rows.
func collect[T any](ctx context.Context, e *Engine, row pgx.RowToFunc[T], sql string, args ...any) (all []T, err error) {
	err = e.try(ctx, func(ctx context.Context) error {
		rows, err := e.pool.Query(ctx, e.statement(sql), append([]any{e.mode}, args...)...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, row)
		return err
	})
	return all, err
}

// change runs a statement that shall change one row, and returns none if it did not.
func (e *Engine) change(ctx context.Context, none error, sql string, args ...any) error {
	return e.try(ctx, func(ctx context.Context) error {
		tag, err := e.pool.Exec(ctx, e.statement(sql), append([]any{e.mode}, args...)...)
		if err == nil && tag.RowsAffected() != 1 {
			return none
		}
		return err
	})
}

// try runs do again as long as the server certainly did nothing of it. After any
// other error the outcome is the caller's to find out.
func (e *Engine) try(ctx context.Context, do func(context.Context) error) error {
	if e.closed.Load() {
		return queue.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var err error
	for n := range attempts {
		if err = do(ctx); err == nil || !undone(err) {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Duration(n+1) * 5 * time.Millisecond)):
		}
	}
	if err != nil && e.closed.Load() {
		return queue.ErrClosed
	}
	return err
}

// Codes of errors: appendix A of PostgreSQL's manual.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

// undone: the server broke the transaction off to let another one go on, or never
// heard of it because the connection had been lost before.
func undone(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == serializationFailure || e.Code == deadlockDetected
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false // It is tried again when its caller calls again.
	}
	return pgconn.SafeToRetry(err)
}
