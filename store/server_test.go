package store_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"snip/store"
)

// serverURL names a variable: the PostgreSQL server on which the tests of this package
// keep their stores, instead of in files.
const serverURL = "SNIP_TEST_POSTGRES"

// onServer turns a path into a database of the server, the same for the same path.
func onServer(t testing.TB, cfg store.Config) store.Config {
	t.Helper()
	server := os.Getenv(serverURL)
	if server == "" || cfg.URL != "" {
		return cfg
	}
	sum := sha256.Sum256([]byte(cfg.Path))
	name := "t" + hex.EncodeToString(sum[:8])
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var there bool
	if err := db.QueryRow("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if !there {
		if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Path, cfg.URL = "", strings.Replace(server, "/postgres", "/"+name, 1)
	return cfg
}

func onPostgres() bool { return os.Getenv(serverURL) != "" }
