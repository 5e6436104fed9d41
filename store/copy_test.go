package store_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

// TestCopy: the copy answers every question as the original does, gives out no ID that
// was ever given out, and is the same when it is made twice.
func TestCopy(t *testing.T) {
	t.Run("same kind", func(t *testing.T) { copyOne(t, open(t, store.Config{}), open(t, store.Config{})) })
	if onPostgres() {
		t.Run("file to server", func(t *testing.T) { copyOne(t, openFile(t), open(t, store.Config{})) })
		t.Run("server to file", func(t *testing.T) { copyOne(t, open(t, store.Config{}), openFile(t)) })
	}
}

func openFile(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "snip.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func copyOne(t *testing.T, from, to *store.Store) {
	t.Helper()
	a, b := everything(t, from, "a"), create(t, from, snip.NewLink{Code: "b", Settings: snip.Settings{ExpiresAt: noon.AddDate(10, 0, 0)}})
	last := create(t, from, snip.NewLink{Code: "last"})
	count(t, from, someClicks(2000, a, b, last)...)
	if err := from.DeleteLink(t.Context(), at("last"), 0); err != nil {
		t.Fatal(err)
	}
	_, secret, err := from.CreateKey(t.Context(), snip.NewKey{Label: "mine", Scopes: []snip.Scope{snip.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.Salts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := from.AddUnknownCodes(t.Context(), []snip.UnknownHits{{Slot: noon, Code: "x", Hits: 3}, {Slot: noon, Hits: 2}}); err != nil {
		t.Fatal(err)
	}
	given := begin(t, from)
	countIn(t, from, given, someClicks(10, a)...) // A rebuild that was broken off is not copied.

	domain(t, from, "go.example", true)
	key := makeKey(t, from, snip.NewKey{Label: "mine alone", OwnLinks: true})
	mine, _, err := from.As(key).CreateLink(t.Context(), snip.NewLink{
		Domain: "go.example", Code: "Mine", IdempotencyKey: "once", Settings: leadsTo("https://example.com/mine"),
	})
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		rows := map[string]int64{}
		if err := store.Copy(t.Context(), to, from, func(table string, n int64) { rows[table] = n }); err != nil {
			t.Fatal(err)
		}
		if rows["links"] != 3 || rows["rollups"] == 0 || rows["salts"] != 2 {
			t.Errorf("copied %v", rows)
		}
	}
	if diff := cmp.Diff(look(t, from, noon.Location(), snip.StepHour, "a", "b"), look(t, to, noon.Location(), snip.StepHour, "a", "b"), sameZone); diff != "" {
		t.Error(diff)
	}
	for _, search := range []string{"", "tü", "example note"} {
		q := snip.LinkQuery{Search: search, Limit: 10, Archived: snip.ArchivedAll}
		same(t, "links found by "+search, list(t, from, q), list(t, to, q))
	}
	again, made, err := to.As(key).CreateLink(t.Context(), snip.NewLink{
		Domain: "go.example", Code: "Mine", IdempotencyKey: "once", Settings: leadsTo("https://example.com/mine"),
	})
	if err != nil || !made {
		t.Errorf("CreateLink asked again = %v, %v, want the link that is there", made, err)
	}
	same(t, "the link that was asked for again", mine, again)
	if r, err := to.Route(t.Context(), "go.example", "mINE"); err != nil || r.Link != mine.ID {
		t.Errorf("Route = %+v, %v, want link %d", r, err, mine.ID)
	}
	if _, err := to.CheckKey(t.Context(), secret); err != nil {
		t.Errorf("CheckKey = %v in the copy", err)
	}
	day := snip.Range{From: snip.DateOf(noon), To: snip.DateOf(noon)}
	if u, err := to.UnknownCodes(t.Context(), day, 10); err != nil || u.Hits != 5 || u.Other != 2 {
		t.Errorf("UnknownCodes = %+v, %v, want 5 hits, 2 of others", u, err)
	}
	if next := create(t, to, snip.NewLink{Code: "next"}); next.ID <= last.ID {
		t.Errorf("the next link has the ID %d, and the last one had %d", next.ID, last.ID)
	}

	// What is there already and was not copied is no copy.
	if err := store.Copy(t.Context(), to, from, func(string, int64) {}); err == nil {
		t.Error("Copy to a store with a link of its own = nil, want an error")
	}
}

// TestCopyHasEveryTable: a table that a migration adds must be copied, too.
func TestCopyHasEveryTable(t *testing.T) {
	from := open(t, store.Config{})
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'
		AND name NOT LIKE 'link_search%'` // The index of link_words.
	if onPostgres() {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'goose_%'`
	}
	rows, err := from.Read().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		there[name] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	copied := map[string]bool{}
	to := open(t, store.Config{Path: filepath.Join(t.TempDir(), "copy.db")})
	if err := store.Copy(t.Context(), to, from, func(table string, _ int64) { copied[table] = true }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, copied); diff != "" {
		t.Error(diff)
	}
}
