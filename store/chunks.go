package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// inChunks runs a statement over rows of numbers, a bounded number at a time, and calls
// scan for each row that it returns. In the statement, %s stands for the rows, whose
// columns SQLite and PostgreSQL both name column1, column2 and so on.
func inChunks(ctx context.Context, tx session, statement string, rows [][]any, scan func(*sql.Rows) error) error {
	return chunked(ctx, tx, statement, "CAST($%d AS BIGINT)", rows, scan)
}

// insertChunks runs an INSERT in the same way. In it, %s stands for the rows after
// VALUES, which may hold anything.
func insertChunks(ctx context.Context, tx session, statement string, rows [][]any) error {
	return chunked(ctx, tx, statement, "$%d", rows, nil)
}

// chunked takes as many rows at once as is a power of two, so that there are few
// statements to prepare. The values of the first row are written as first says.
func chunked(ctx context.Context, tx session, statement, first string, rows [][]any, scan func(*sql.Rows) error) error {
	// SQLite looks up a parameter by walking over all of them: with more rows the
	// walk costs more than the statements that are saved. A server is far away.
	most := 32
	if tx.kind == onPostgres {
		most = 1024
	}
	for n := most; n > 0; n /= 2 {
		if len(rows) < n {
			continue
		}
		now := len(rows) / n * n
		text := fmt.Sprintf(statement, placeholders(n, len(rows[0]), first))
		if err := runChunks(ctx, tx, text, rows[:now], n, scan); err != nil {
			return err
		}
		rows = rows[now:]
	}
	return nil
}

// runChunks runs a statement over rows, n at a time.
func runChunks(ctx context.Context, tx session, text string, rows [][]any, n int, scan func(*sql.Rows) error) error {
	run := func(args []any) error { return runOnce(ctx, unprepared{tx, text}, args, scan) }
	if tx.kind == onSQLite {
		// On a server, a statement that is prepared belongs to a connection, which a
		// pooler gives to others.
		prepared, err := tx.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer prepared.Close()
		run = func(args []any) error { return runOnce(ctx, prepared, args, scan) }
	}
	args := make([]any, 0, n*len(rows[0]))
	for ; len(rows) > 0; rows = rows[n:] {
		args = args[:0]
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if err := run(args); err != nil {
			return err
		}
	}
	return nil
}

// unprepared is a statement that is sent as text each time.
type unprepared struct {
	session
	text string
}

func (u unprepared) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	return u.session.ExecContext(ctx, u.text, args...)
}

func (u unprepared) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	return u.session.QueryContext(ctx, u.text, args...)
}

func runOnce(ctx context.Context, statement interface {
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
}, args []any, scan func(*sql.Rows) error,
) error {
	if scan == nil {
		_, err := statement.ExecContext(ctx, args...)
		return err
	}
	got, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer got.Close()
	for got.Next() {
		if err := scan(got); err != nil {
			return err
		}
	}
	return got.Err()
}

// placeholders returns rows of placeholders. The first row is where a server finds out
// the types.
func placeholders(rows, columns int, first string) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		format := "$%d"
		if i < columns {
			format = first
		}
		fmt.Fprintf(&b, format, i+1)
	}
	b.WriteString(")")
	return b.String()
}
