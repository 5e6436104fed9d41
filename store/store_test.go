package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"snip"
	"snip/store"
)

// childPath names the file that a child process opens, see TestOpenByProcesses.
const childPath = "SNIP_STORE_TEST_OPEN"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := openAndMakeKey(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func openAndMakeKey(path string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{Path: path})
	if err != nil {
		return err
	}
	secret, made, err := s.FirstAdminKey(ctx)
	if made {
		fmt.Println(secret)
	}
	return errors.Join(err, s.Close())
}

// open opens a store in a file of its own, or where cfg says. The same tests run on a
// PostgreSQL server: see server_test.go.
func open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "snip.db")
	}
	cfg = onServer(t, cfg)
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func create(t testing.TB, s *store.Store, n snip.NewLink) snip.Link {
	t.Helper()
	if n.Target == "" {
		n.Target = "https://example.com/"
	}
	l, _, err := s.CreateLink(t.Context(), n)
	if err != nil {
		t.Fatalf("CreateLink(%+v): %v", n, err)
	}
	return l
}

// leadsTo are the settings of a link of the plainest kind.
func leadsTo(target string) snip.Settings { return snip.Settings{Target: target} }

// at names a link on the instance's own domain.
func at(code string) snip.Ref { return snip.Ref{Code: code} }

// same fails the test unless two things are the same.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// findLink finds a link that must be there.
func findLink(t testing.TB, s snip.Links, code string) snip.Link {
	t.Helper()
	l, err := s.Link(t.Context(), at(code))
	if err != nil {
		t.Fatalf("Link(%q): %v", code, err)
	}
	return l
}

func wantCode(t testing.TB, err error, code snip.Code, field string) {
	t.Helper()
	if e, ok := errors.AsType[*snip.Error](err); !ok || e.Code != code || e.Field != field {
		t.Errorf("err = %v, want %s with field %q", err, code, field)
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	for name, cfg := range map[string]store.Config{
		"Path":    {},
		"Rules":   {Path: "x", Rules: snip.Rules{Schemes: []string{"javascript"}}},
		"missing": {Path: filepath.Join(t.TempDir(), "missing", "snip.db")},
	} {
		s, err := store.Open(t.Context(), cfg)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Open(%+v) = %v, want an error that names %s", cfg, err, name)
		}
	}
}

func TestOpenAgainKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	first := open(t, store.Config{Path: path})
	want := create(t, first, snip.NewLink{Code: "kept"})
	same(t, "Link", want, findLink(t, open(t, store.Config{Path: path}), "kept"))
}

func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if _, _, err := s.CreateLink(t.Context(), snip.NewLink{Code: fmt.Sprint("code", i), Settings: leadsTo("https://example.com")}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	page, err := open(t, store.Config{Path: path}).ListLinks(t.Context(), snip.LinkQuery{Limit: 10})
	if err != nil || len(page.Links) != 4 {
		t.Errorf("%d links, %v, want 4", len(page.Links), err)
	}
}

func TestOpenByProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	const processes = 3
	var secrets sync.Map
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), childPath+"="+path)
			var complaints strings.Builder
			child.Stderr = &complaints
			out, err := child.Output()
			if err != nil {
				t.Errorf("child: %v: %s", err, &complaints)
			}
			if secret := strings.TrimSpace(string(out)); secret != "" {
				secrets.Store(secret, true)
			}
		})
	}
	wg.Wait()
	s := open(t, store.Config{Path: path})
	n := 0
	for secret := range secrets.Range {
		n++
		if k, err := s.CheckKey(t.Context(), secret.(string)); err != nil || !k.May(snip.ScopeAdmin) {
			t.Errorf("CheckKey = %+v, %v, want an admin key", k, err)
		}
	}
	if n != 1 {
		t.Errorf("%d of %d processes made the first key, want 1", n, processes)
	}
}

// lock lets another connection hold the file until release is called.
func lock(t *testing.T, path string, statements ...string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return func() {
		if err := db.Close(); err != nil {
			t.Errorf("unlock: %v", err)
		}
	}
}

func TestLockedForWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	s := open(t, store.Config{Path: path})
	want := create(t, s, snip.NewLink{Code: "known"})
	release := lock(t, path, `BEGIN IMMEDIATE`)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := s.CreateLink(ctx, snip.NewLink{Code: "new", Settings: leadsTo("https://example.com")})
	wantCode(t, err, snip.Unavailable, "")
	same(t, "Link while another process writes", want, findLink(t, s, "known"))
	stats(t, s, "known")

	release()
	create(t, s, snip.NewLink{Code: "new2"})
}

// TestOpenWhileLocked is parallel because it waits for as long as a lock is waited
// for.
func TestOpenWhileLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "snip.db")
	if err := open(t, store.Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	release := lock(t, path, `PRAGMA locking_mode = EXCLUSIVE`, `BEGIN EXCLUSIVE`)
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err == nil {
		s.Close()
	}
	wantCode(t, err, snip.Unavailable, "")
	release()
	create(t, open(t, store.Config{Path: path}), snip.NewLink{})
}

func TestCanceledCall(t *testing.T) {
	s := open(t, store.Config{})
	create(t, s, snip.NewLink{Code: "known"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range calls(ctx, s) {
		if snip.CodeOf(err) != snip.Unavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want unavailable for context canceled", name, err)
		}
	}
}

func TestClosed(t *testing.T) {
	s := open(t, store.Config{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range calls(t.Context(), s) {
		if snip.CodeOf(err) != snip.Unavailable {
			t.Errorf("%s = %v, want unavailable", name, err)
		}
	}
}

// calls returns the error of each call to a store.
func calls(ctx context.Context, s *store.Store) map[string]error {
	errs := map[string]error{}
	_, _, errs["CreateLink"] = s.CreateLink(ctx, snip.NewLink{Settings: leadsTo("https://example.com")})
	_, errs["Link"] = s.Link(ctx, at("known"))
	_, errs["ListLinks"] = s.ListLinks(ctx, snip.LinkQuery{Limit: 1})
	title := "new"
	_, errs["EditLink"] = s.EditLink(ctx, at("known"), snip.LinkEdit{Title: &title})
	errs["DeleteLink"] = s.DeleteLink(ctx, at("known"), 0)
	_, errs["ChangeLinks"] = s.ChangeLinks(ctx, snip.Bulk{Action: snip.BulkArchive, Links: []snip.Ref{at("known")}})
	_, errs["Tags"] = s.Tags(ctx)
	_, errs["Route"] = s.Route(ctx, "", "known")
	day := snip.Range{From: snip.DateOf(noon), To: snip.DateOf(noon)}
	_, errs["Stats"] = s.Stats(ctx, snip.StatsQuery{Range: day})
	_, errs["Popular"] = s.Popular(ctx, day, 1)
	_, errs["UnknownCodes"] = s.UnknownCodes(ctx, day, 1)
	_, errs["CheckKey"] = s.CheckKey(ctx, "x")
	_, _, errs["CreateKey"] = s.CreateKey(ctx, snip.NewKey{Label: "x", Scopes: []snip.Scope{snip.ScopeAdmin}})
	_, _, errs["FirstAdminKey"] = s.FirstAdminKey(ctx)
	errs["Write"] = s.Write(ctx, func(context.Context, *sql.Tx) error { return nil })
	return errs
}

func TestDiskFull(t *testing.T) {
	s := open(t, store.Config{})
	limit := func(pages int) {
		err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	create(t, s, snip.NewLink{Code: "known"})
	limit(1) // As many as there are.
	long := snip.NewLink{Code: "long", Settings: leadsTo("https://example.com/" + strings.Repeat("x", 60_000))}
	_, _, err := s.CreateLink(t.Context(), long)
	wantCode(t, err, snip.Unavailable, "")
	if _, err := s.Link(t.Context(), at("known")); err != nil {
		t.Errorf("Link = %v with a full disk", err)
	}
	limit(1 << 30)
	create(t, s, long)
}

func TestWriteReturnsTheCallersError(t *testing.T) {
	s := open(t, store.Config{})
	create(t, s, snip.NewLink{Code: "known"})
	mine := errors.New("mine")
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE links SET title = 'changed'`); err != nil {
			return err
		}
		return mine
	})
	if !errors.Is(err, mine) {
		t.Errorf("Write = %v, want %v", err, mine)
	}
	if l, err := s.Link(t.Context(), at("known")); err != nil || l.Title != "" {
		t.Errorf("Link = %+v, %v, want it unchanged", l, err)
	}
}
