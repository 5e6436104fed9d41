package postgrestest

import (
	"os/exec"
	"testing"
)

// Run runs one of PostgreSQL's client programs, such as pg_dump, as the test itself.
func Run(t testing.TB, name string, args ...string) {
	t.Helper()
	require(t, name)
	if out, err := exec.CommandContext(t.Context(), program(name), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}
