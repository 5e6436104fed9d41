package sqlitefile_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"snip/internal/sqlitefile"
)

// TestPreparedStatementsGoOn through what befalls a connection: rollbacks, another
// schema, and statements that are wrong.
func TestPreparedStatementsGoOn(t *testing.T) {
	f := open(t, sqlitefile.Config{Migrate: func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "CREATE TABLE numbers (n INTEGER)")
		return err
	}})
	ctx := t.Context()
	failed := errors.New("failed")
	insert := func(n int, end error) {
		t.Helper()
		err := f.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			p := f.Prepared(tx)
			if _, err := p.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (?1)", n); err != nil {
				return err
			}
			var got int
			if err := p.QueryRowContext(ctx, "SELECT MAX(n) FROM numbers").Scan(&got); err != nil || got != n {
				t.Errorf("after inserting %d: %d, %v", n, got, err)
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Errorf("Write() = %v, want %v", err, end)
		}
	}
	numbers := func() (list string) {
		t.Helper()
		err := f.View(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
			rows, err := tx.QueryContext(ctx, "SELECT n FROM numbers ORDER BY n")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var n string
				if err := rows.Scan(&n); err != nil {
					return err
				}
				list += n
			}
			return rows.Err()
		})
		if err != nil {
			t.Errorf("View() = %v", err)
		}
		return list
	}
	for n := range 3 {
		insert(n, nil)
		insert(9, failed)
	}
	if got := numbers() + numbers(); got != "012012" {
		t.Errorf("numbers are %q, want %q twice", got, "012")
	}
	err := f.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE more (n INTEGER); INSERT INTO more SELECT n FROM numbers; DROP TABLE numbers; ALTER TABLE more RENAME TO numbers")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	insert(3, nil)
	if got := numbers(); got != "0123" {
		t.Errorf("numbers are %q, want %q", got, "0123")
	}
	for range 3 {
		err := f.View(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
			_, err := tx.ExecContext(ctx, "SELECT wrong FROM numbers")
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "wrong") {
			t.Errorf("View() = %v, want an error that names the column", err)
		}
		err = f.View(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM numbers")
			return err
		})
		if err == nil {
			t.Error("View() wrote")
		}
	}
}

// TestManyViews are more than there are connections, with statements of their own.
func TestManyViews(t *testing.T) {
	f := open(t, sqlitefile.Config{Readers: 2})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				err := f.View(t.Context(), func(ctx context.Context, tx sqlitefile.Tx) error {
					var got int
					err := tx.QueryRowContext(ctx, "SELECT ?1 + 1 -- "+strings.Repeat("x", i), i).Scan(&got)
					if err == nil && got != i+1 {
						t.Errorf("%d + 1 = %d", i, got)
					}
					return err
				})
				if err != nil {
					t.Errorf("View() = %v", err)
				}
			}
		})
	}
	all.Wait()
}
