package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
)

// later are statements at the end of a transaction: nothing in it depends on them but
// whether it is committed. To a server they go together, since each answer of one takes
// as long to come as the statement takes to run.
type later struct {
	session
	tail *pgx.Batch // Nil: they are run at once.
}

// later returns what runs statements at the end of the transaction.
func (s session) later() later { return later{s, s.tail} }

// ExecContext runs a statement. Its result is not known before the end.
func (l later) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if l.tail == nil {
		return l.session.ExecContext(ctx, query, args...)
	}
	l.tail.Queue(query, args...)
	return notYet{}, nil
}

// refuse makes the transaction fail with an error if a query finds anything.
func (l later) refuse(ctx context.Context, found error, query string, args ...any) error {
	if l.tail != nil {
		l.tail.Queue(query, args...).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			if rows.Next() {
				return found
			}
			return rows.Err()
		})
		return nil
	}
	var one int
	err := l.QueryRowContext(ctx, query, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = found
	}
	return err
}

// notYet is the result of a statement that was not run yet.
type notYet struct{}

var errNotYet = errors.New("the statement is run at the end of the transaction")

func (notYet) LastInsertId() (int64, error) { return 0, errNotYet }
func (notYet) RowsAffected() (int64, error) { return 0, errNotYet }
