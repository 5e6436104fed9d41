package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"snip/queue/inbox"
)

// TestOnce: an ID is first once, if its transaction is committed.
func TestOnce(t *testing.T) {
	db := open(t)
	if _, err := db.ExecContext(t.Context(), inbox.OnceSchema); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	once := inbox.Once{Window: time.Hour, Now: func() time.Time { return now }}
	want := func(id string, want bool, end error) {
		t.Helper()
		err := in(t, db, func(ctx context.Context, tx *sql.Tx) error {
			got, err := once.First(ctx, tx, id)
			if err != nil || got != want {
				t.Errorf("First(%q) = %t, %v, want %t", id, got, err, want)
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	forget := func(limit int, want int64) {
		t.Helper()
		err := in(t, db, func(ctx context.Context, tx *sql.Tx) error {
			n, err := once.Forget(ctx, tx, limit)
			if n != want {
				t.Errorf("%d are forgotten, want %d", n, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	want("a", true, errRollBack)
	want("a", true, nil)
	want("a", false, nil)
	want("b", true, nil)
	now = now.Add(time.Hour)
	forget(10, 0)
	want("a", false, nil)
	now = now.Add(time.Second)
	forget(1, 1)
	forget(10, 1)
	want("a", true, nil)
}
