package test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"snip/internal/postgrestest"
)

// TestCopyGoesOnExactly moves from files to a server and back, each time with clicks
// that were not shipped or not counted yet: number by number, each is counted once.
func TestCopyGoesOnExactly(t *testing.T) {
	url := postgrestest.Start(t)
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	p := start(t, "web", dir)
	codes := makeLinks(t, p, 10)
	worker := start(t, "worker", dir)
	follow := func(n int64, p *process) {
		crowd := gather(t, vs, rnd, codes, p)
		crowd.leaveAfter(n)
	}
	follow(500, p)
	worker.stop()
	follow(300, p) // What nobody counts yet.
	p.kill()       // It may leave clicks in the spool.

	copyAll(t, dir, url)
	p = start(t, "", dir, "DATABASE_URL="+url)
	follow(500, p)
	caughtUp(t, p)
	p.stop()
	readServerBooks(t, url).mustBalance(t, vs, 0)

	back := filepath.Join(t.TempDir(), "back")
	copyAll(t, url, back)
	copyAll(t, url, back) // Again: nothing is there twice.
	p = start(t, "", back)
	follow(500, p)
	caughtUp(t, p)
	p.stop()
	mustBalance(t, back, vs, 0)
}

func copyAll(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), snip, "copy", "--from", from, "--to", to)
	cmd.Env = environ(t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("snip copy: %v\n%s", err, out)
	}
}
