package postgres

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// PushTx is Push in the caller's transaction, with any database/sql driver of
// PostgreSQL. Until the transaction ends, others that push one of its IDs wait for it.
func (e *Engine) PushTx(ctx context.Context, tx *sql.Tx, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	return e.pushIn(ctx, func(ctx context.Context, sql string, args []any, into ...any) error {
		for i, arg := range args {
			args[i] = arrayText(arg)
		}
		return tx.QueryRowContext(ctx, e.statement(sql), args...).Scan(into...)
	}, name, tasks)
}

// PushPgx is PushTx for a transaction of pgx.
func (e *Engine) PushPgx(ctx context.Context, tx pgx.Tx, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	return e.pushIn(ctx, func(ctx context.Context, sql string, args []any, into ...any) error {
		return tx.QueryRow(ctx, e.statement(sql), args...).Scan(into...)
	}, name, tasks)
}

func (e *Engine) pushIn(ctx context.Context, row oneRow, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	if e.closed.Load() {
		return nil, queue.ErrClosed
	}
	results, err := e.push(ctx, row, name, tasks)
	if err != nil {
		return nil, fmt.Errorf("push to queue %q in a transaction: %w", name, queueError(err))
	}
	return results, nil
}

// Wake tells workers, of this process and others, that there may be more in a queue.
func (e *Engine) Wake(_ context.Context, name string) { e.grewQueue(name) }

// arrayText writes an array as PostgreSQL reads it, since drivers have no common way to
// pass one.
func arrayText(arg any) any {
	switch all := arg.(type) {
	case []int32:
		return writeArray(len(all), func(i int) string { return strconv.Itoa(int(all[i])) })
	case []*int64:
		if all == nil {
			return nil
		}
		return writeArray(len(all), func(i int) string {
			if all[i] == nil {
				return "NULL"
			}
			return strconv.FormatInt(*all[i], 10)
		})
	case []string:
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
		return writeArray(len(all), func(i int) string { return `"` + quote.Replace(all[i]) + `"` })
	case [][]byte:
		return writeArray(len(all), func(i int) string { return `"\\x` + hex.EncodeToString(all[i]) + `"` })
	}
	return arg
}

func writeArray(n int, element func(i int) string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	b.WriteByte('}')
	return b.String()
}
