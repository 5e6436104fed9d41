package sqlitefile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"snip/internal/sqlitefile"
)

const (
	processes = 8
	writes    = 150 // Of each process.
)

// TestMain makes this program one of the writers of TestProcesses.
func TestMain(m *testing.M) {
	path := os.Getenv("SQLITEFILE_TEST_PATH")
	if path == "" {
		os.Exit(m.Run())
	}
	if err := writeNumbers(path, os.Getenv("SQLITEFILE_TEST_FIRST")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeNumbers(path, first string) error {
	n, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	f, err := sqlitefile.Open(context.Background(), sqlitefile.Config{Path: path, Migrate: makeNumbers})
	if err != nil {
		return err
	}
	for i := range writes {
		if err := f.Write(context.Background(), insert(n+i)); err != nil {
			return fmt.Errorf("write %d: %w", i, err)
		}
	}
	return f.Close()
}

// TestProcesses starts writers that make the file together, then write without a
// pause. None may ever be told that the file is busy.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for p := range processes {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), "SQLITEFILE_TEST_PATH="+path, "SQLITEFILE_TEST_FIRST="+strconv.Itoa(p*writes))
		cmd.Stderr = new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a writer: %v: %s", err, cmd.Stderr)
		}
	}
	if got := len(numbers(t, open(t, sqlitefile.Config{Path: path}))); got != processes*writes {
		t.Errorf("%d of %d writes are in the file", got, processes*writes)
	}
}
