package store

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"snip"
	"snip/internal/postgrestest"
)

// TestOlderTablesAreBroughtUpToDate: links and keys of a store from before links could be
// managed are there afterwards, and are found.
func TestOlderTablesAreBroughtUpToDate(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		cfg := Config{Path: filepath.Join(t.TempDir(), "snip.db")}
		files, err := fs.Sub(schema, "schema")
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", cfg.Path)
		if err != nil {
			t.Fatal(err)
		}
		makeOlderTables(t, db, goose.DialectSQLite3, files)
		checkUpToDate(t, cfg)
	})
	t.Run("server", func(t *testing.T) {
		cfg := Config{URL: postgrestest.Start(t)}
		migrations, err := serverMigrations()
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("pgx", cfg.URL)
		if err != nil {
			t.Fatal(err)
		}
		makeOlderTables(t, db, goose.DialectPostgres, nil, goose.WithGoMigrations(migrations...))
		checkUpToDate(t, cfg)
	})
}

// filledTwice is more than is made searchable at once.
const filledTwice = filledAtOnce + 5

func makeOlderTables(t *testing.T, db *sql.DB, dialect goose.Dialect, files fs.FS, options ...goose.ProviderOption) {
	t.Helper()
	defer db.Close()
	p, err := goose.NewProvider(dialect, db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO links (domain, code, clicks, human_clicks, expires_at, created_at, updated_at, title, url)
			VALUES ('', 'Old', 3, 2, 5, 1, 2, 'Überschrift', 'https://example.com/Pfad')`,
		`INSERT INTO links (domain, code, created_at, updated_at, title, url)
			WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1005)
			SELECT '', 'code-' || i, 1, 1, '', 'https://example.com/' || i FROM n`,
		`INSERT INTO keys (hash, label, admin, created_at) VALUES ('a', 'first', TRUE, 1), ('b', 'second', FALSE, 1)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func checkUpToDate(t *testing.T, cfg Config) {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Link(t.Context(), snip.Ref{Code: "Old"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Version != 1 || l.Owner != 0 || l.Status != 307 || l.Clicks != 3 || l.HumanClicks != 2 || l.ExpiresAt.UnixMicro() != 5 || !l.StartsAt.IsZero() {
		t.Errorf("Link = %+v", l)
	}
	for search, want := range map[string]int{"übersch pfad old": 1, "1005": 1, "code": filledTwice - 1, "example": filledTwice, "none": 0} {
		page, err := s.ListLinks(t.Context(), snip.LinkQuery{Search: search, Limit: snip.MaxPage})
		if got := len(page.Links); err != nil || got != min(want, snip.MaxPage) {
			t.Errorf("%d links are found by %q, %v; want %d", got, search, err, want)
		}
	}
	keys, err := s.ListKeys(t.Context())
	if err != nil || len(keys) != 2 {
		t.Fatalf("ListKeys = %+v, %v, want two", keys, err)
	}
	if !keys[1].May(snip.ScopeAdmin) || keys[0].May(snip.ScopeAdmin) || !keys[0].May(snip.ScopeWrite) || !keys[0].May(snip.ScopeRead) {
		t.Errorf("the keys have the scopes %v and %v, want those of read and write, and admin", keys[0].Scopes, keys[1].Scopes)
	}
	if _, _, err := s.CreateLink(t.Context(), snip.NewLink{Settings: snip.Settings{Target: "https://example.com/"}}); err != nil {
		t.Error(err)
	}
}
