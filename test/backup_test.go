package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackupRestored backs up while visitors come, kills everything later, and goes on
// from the backup with the spool that is left: what was counted before is exact, and
// nothing that comes after the restore is skipped, or halts for what is missing.
func TestBackupRestored(t *testing.T) {
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	p := start(t, "", dir)
	crowd := gather(t, vs, rnd, makeLinks(t, p, 5), p)
	crowd.awaitAnswers(500)
	crowd.sendTo()
	caughtUp(t, p)
	before := answeredPerCode(vs.copy())
	crowd.sendTo(p)
	crowd.awaitAnswers(100)

	backup := filepath.Join(t.TempDir(), "backup")
	run := exec.CommandContext(t.Context(), snip, "backup", backup)
	run.Env = environ(dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("snip backup: %v\n%s", err, out)
	}
	counted := readAccounts(t, filepath.Join(backup, "snip.db"))
	for code, n := range before {
		if counted[code].clicks < n {
			t.Errorf("the backup has %d clicks of /%s, want %d or more", counted[code].clicks, code, n)
		}
	}
	crowd.awaitAnswers(500)
	p.kill()

	restore(t, dir, backup)
	p = start(t, "", dir)
	lost := vs.copy()
	crowd.sendTo(p)
	crowd.leaveAfter(500)
	caughtUp(t, p)
	p.stop()
	most, sofar := map[string]int64{}, answeredPerCode(lost)
	for _, v := range vs.all() {
		most[v.code]++ // Answered or cut.
	}
	for code, n := range answeredPerCode(vs) {
		since := n - sofar[code]
		got := readAccounts(t, filepath.Join(dir, "snip.db"))[code].clicks
		if got < counted[code].clicks+since || got > most[code] {
			t.Errorf("/%s has %d clicks, want the %d of the backup and the %d since, and %d at the most",
				code, got, counted[code].clicks, since, most[code])
		}
	}
}

// restore puts the files of a backup in the place of the database's. The spool stays.
func restore(t *testing.T, dir, backup string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".db") {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"snip.db", "log.db"} {
		b, err := os.ReadFile(filepath.Join(backup, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
