package main

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"snip/internal/postgrestest"
	"snip/queue/engine/sqlite"
	"snip/store"
)

// makeStores makes what a Snip makes that is started on a directory, and stops.
func makeStores(t *testing.T, dir string) {
	t.Helper()
	links, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "snip.db")})
	if err != nil {
		t.Fatal(err)
	}
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(links.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
}

// spoil runs a statement on a file, as no Snip does.
func spoil(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// files are the names in a directory with what may change of them.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.ModTime().String()
	}
	return all
}

func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	makeStores(t, dir)
	snipDB, logDB := filepath.Join(dir, "snip.db"), filepath.Join(dir, "log.db")
	before := files(t, dir)
	found := checked(t, dir)
	wantFinding(t, found, "database", fine, "tables up to date")
	wantFinding(t, found, "topics", fine, "tables up to date")
	wantFinding(t, found, "clock", fine, "no other one")
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the check changed files: %s", diff)
	}

	spoil(t, snipDB, "DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)")
	wantFinding(t, checked(t, dir), "database", warning, "Snip brings them to")
	spoil(t, snipDB, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, TRUE)")
	wantFinding(t, checked(t, dir), "database", wrong, "this program knows")
	spoil(t, logDB, "UPDATE queue_version SET version = 99")
	wantFinding(t, checked(t, dir), "topics", wrong, "this program knows")
	for _, file := range []string{snipDB, logDB} {
		if err := os.WriteFile(file, make([]byte, 8192), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found = checked(t, dir)
	wantFinding(t, found, "database", wrong, "not a database")
	wantFinding(t, found, "topics", wrong, "not a database")
	wantFinding(t, found, "clock", warning, "cannot be asked")
}

// TestCheckFilesInUse: a Snip may run meanwhile.
func TestCheckFilesInUse(t *testing.T) {
	dir := t.TempDir()
	links, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "snip.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer links.Close()
	err = links.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		wantFinding(t, checked(t, dir), "database", fine, "tables up to date")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckServerDatabase(t *testing.T) {
	server, dir := postgrestest.New(t), t.TempDir()
	url := "DATABASE_URL=" + server.Database(t)
	for range 2 { // The first check made nothing.
		found := checked(t, dir, url)
		wantFinding(t, found, "database", fine, "without tables yet")
		wantFinding(t, found, "topics", fine, "without tables yet")
		wantFinding(t, found, "clock", fine, "apart")
	}
	s, err := openPlace(t.Context(), nil, url[len("DATABASE_URL="):])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	found := checked(t, dir, url)
	wantFinding(t, found, "database", fine, "PostgreSQL ")
	wantFinding(t, found, "database", fine, "tables up to date")
	wantFinding(t, found, "topics", fine, "tables up to date")
	wantFinding(t, checked(t, dir, url+"&default_transaction_isolation=serializable"), "topics", wrong, "read committed")
	wantFinding(t, checked(t, dir, url+"&user=nobody"), "database", wrong, "nobody")

	server.Stop(t)
	found = checked(t, dir, url)
	wantFinding(t, found, "database", wrong, "cannot be reached")
	wantFinding(t, found, "topics", wrong, "")
	wantFinding(t, found, "clock", warning, "cannot be asked")
}

func TestCheckClock(t *testing.T) {
	now := time.Now()
	for apart, want := range map[time.Duration]string{
		0: fine, time.Second: fine, -time.Second: fine, 5 * time.Second: warning, -5 * time.Second: warning, 2 * time.Minute: wrong, -2 * time.Minute: wrong,
	} {
		if f := judgeClock(now.Add(apart), nil, now, now.Add(time.Millisecond)); f.State != want {
			t.Errorf("%s apart: %+v, want %s", apart, f, want)
		}
	}
}

func TestCheckCountries(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "countries.mmdb")
	variable := "SNIP_COUNTRY_DB=" + name
	wantFinding(t, checked(t, dir), "countries", fine, "no database is set")
	wantFinding(t, checked(t, dir, variable), "countries", wrong, "no such file")
	if err := os.WriteFile(name, []byte("no countries"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, checked(t, dir, variable), "countries", wrong, name)
	for age, want := range map[time.Duration]string{24 * time.Hour: fine, 400 * 24 * time.Hour: warning} {
		w, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Test-Country", RecordSize: 24, BuildEpoch: time.Now().Add(-age).Unix()})
		if err != nil {
			t.Fatal(err)
		}
		_, network, err := net.ParseCIDR("1.1.1.0/24")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Insert(network, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String("AU")}}); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.WriteTo(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		wantFinding(t, checked(t, dir, variable), "countries", want, "Test-Country")
	}
}
