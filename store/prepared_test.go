package store_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"snip"
	"snip/internal/postgrestest"
	"snip/store"
)

// TestStatementsStayPreparedWithoutPooler: through a pooler that hands out transactions
// nothing may stay at a connection, which is somebody else's next.
func TestStatementsStayPreparedWithoutPooler(t *testing.T) {
	direct := postgrestest.Start(t)
	for name, c := range map[string]struct {
		url  string
		stay bool
	}{
		"direct":               {direct, true},
		"through a pooler":     {postgrestest.Pool(t, direct), false},
		"as the address wants": {direct + "&default_query_exec_mode=exec", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{URL: c.url})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			for range 20 {
				if _, _, err := s.CreateLink(t.Context(), snip.NewLink{Settings: snip.Settings{Target: "https://example.com/"}}); err != nil {
					t.Fatal(err)
				}
			}
			var prepared int
			// Where statements stay, this one does, too.
			if err := s.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_prepared_statements`).Scan(&prepared); err != nil {
				t.Fatal(err)
			}
			if (prepared > 0) != c.stay {
				t.Errorf("%d statements are prepared", prepared)
			}
		})
	}
}

// TestConnectionsThatDiedAreReplaced: whoever comes right after a server ended all of
// them does not pay for it.
func TestConnectionsThatDiedAreReplaced(t *testing.T) {
	url := postgrestest.Start(t)
	s, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	create := func() error {
		_, _, err := s.CreateLink(t.Context(), snip.NewLink{Settings: snip.Settings{Target: "https://example.com/"}})
		return err
	}
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			if err := create(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND datname = current_database()`)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := create(); err != nil {
			t.Errorf("a link after it: %v", err)
		}
	}
}
