package store_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"snip"
	"snip/internal/postgrestest"
	"snip/store"
)

// A process that is cut off within a transaction keeps nobody waiting, and its commit, when
// it comes at last, is refused.
func TestWriteCutOffIsEndedByTheServer(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{URL: postgrestest.Start(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	link := create(t, s, snip.NewLink{})
	count := func(ctx context.Context, tx *sql.Tx) error {
		return s.CountClicks(ctx, tx, 0, clicks(1, snip.Click{Link: link.ID, At: time.Now()}))
	}

	err = s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if err := count(ctx, tx); err != nil {
			return err
		}
		// As it is, but for the time.
		_, err := tx.ExecContext(ctx, `
			SELECT set_config(name, '100', true) FROM pg_settings
			WHERE name = 'idle_in_transaction_session_timeout' AND setting <> '0'`)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return s.Write(ctx, count) // It waits for the link that is locked here.
	})
	if e, ok := errors.AsType[*snip.Error](err); !ok || e.Code != snip.Unavailable {
		t.Errorf("Write() of what the server ended = %v, want that it is not available", err)
	}
	got, err := s.Link(t.Context(), at(link.Code))
	if err != nil || got.Clicks != 1 {
		t.Errorf("the link has %d clicks, %v; want 1, of the write that was not cut off", got.Clicks, err)
	}
}
