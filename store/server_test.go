package store_test

import (
	"os"
	"sync"
	"testing"

	"snip/internal/postgrestest"
	"snip/store"
)

// onPostgres tells that the tests of this package keep their stores on a PostgreSQL
// server, instead of in files. Those that are about a file are then left out by whoever
// runs them: see scripts/test.
func onPostgres() bool { return os.Getenv("SNIP_TEST_POSTGRES") != "" }

// databases are those that stand for the paths of files.
var databases sync.Map

// onServer turns a path into a database of the server, the same for the same path.
func onServer(t testing.TB, cfg store.Config) store.Config {
	t.Helper()
	if !onPostgres() || cfg.URL != "" {
		return cfg
	}
	at, there := databases.Load(cfg.Path)
	if !there {
		at = postgrestest.Start(t)
		databases.Store(cfg.Path, at)
	}
	cfg.Path, cfg.URL = "", at.(string)
	return cfg
}
