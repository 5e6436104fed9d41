package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// inChunks runs a statement over rows of values, a bounded number at a time, and
// calls scan for each row that it returns. In the statement, %s stands for the rows,
// whose columns SQLite and PostgreSQL both name column1, column2 and so on.
func inChunks(ctx context.Context, tx *sql.Tx, statement string, rows [][]any, scan func(*sql.Rows) error) error {
	// SQLite looks up a parameter by walking over all of them: with more rows the
	// walk costs more than the statements that are saved.
	const most = 32
	for len(rows) > 0 {
		n := min(len(rows), most)
		if err := runChunks(ctx, tx, statement, rows[:len(rows)/n*n], n, scan); err != nil {
			return err
		}
		rows = rows[len(rows)/n*n:]
	}
	return nil
}

// runChunks runs a statement over rows, n at a time.
func runChunks(ctx context.Context, tx *sql.Tx, statement string, rows [][]any, n int, scan func(*sql.Rows) error) error {
	prepared, err := tx.PrepareContext(ctx, fmt.Sprintf(statement, placeholders(n, rows[0])))
	if err != nil {
		return err
	}
	defer prepared.Close()
	args := make([]any, 0, n*len(rows[0]))
	for ; len(rows) > 0; rows = rows[n:] {
		args = args[:0]
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if err := runOnce(ctx, prepared, args, scan); err != nil {
			return err
		}
	}
	return nil
}

func runOnce(ctx context.Context, prepared *sql.Stmt, args []any, scan func(*sql.Rows) error) error {
	if scan == nil {
		_, err := prepared.ExecContext(ctx, args...)
		return err
	}
	got, err := prepared.QueryContext(ctx, args...)
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

// placeholders returns n rows like the one given. The first one tells PostgreSQL the
// types.
func placeholders(n int, like []any) string {
	var b strings.Builder
	i := 0
	for row := range n {
		open := ", ("
		if row == 0 {
			open = "("
		}
		for _, value := range like {
			i++
			if _, isBytes := value.([]byte); row == 0 && !isBytes {
				fmt.Fprintf(&b, "%sCAST($%d AS BIGINT)", open, i)
			} else {
				fmt.Fprintf(&b, "%s$%d", open, i)
			}
			open = ", "
		}
		b.WriteString(")")
	}
	return b.String()
}
