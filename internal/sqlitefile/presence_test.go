package sqlitefile_test

import (
	"path/filepath"
	"testing"

	"snip/internal/sqlitefile"
)

func TestOthersAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	first := open(t, sqlitefile.Config{Path: path})
	if !first.Alone() {
		t.Error("the only one to have the file open is not alone")
	}
	elsewhere := open(t, sqlitefile.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	if !first.Alone() || !elsewhere.Alone() {
		t.Error("not alone beside one that has another file open")
	}
	second := open(t, sqlitefile.Config{Path: path})
	if first.Alone() || second.Alone() {
		t.Error("one of two that have the file open is alone")
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if !first.Alone() {
		t.Error("not alone after the other one has closed the file")
	}
}
