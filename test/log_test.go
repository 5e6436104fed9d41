package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was counted stays counted, whatever becomes of the log.

func TestLogDeletedNothingNewIsSkipped(t *testing.T) {
	dir, rnd := t.TempDir(), random(t)
	before := &visits{}
	p := start(t, "", dir)
	codes := makeLinks(t, p, 5)
	gather(t, before, rnd, codes, p).leaveAfter(500)
	caughtUp(t, p)
	p.stop()
	counted := mustBalance(t, dir, before, 0)

	removeLog(t, dir)
	after := &visits{}
	p = start(t, "", dir)
	gather(t, after, rnd, codes, p).leaveAfter(500)
	caughtUp(t, p)
	p.stop()
	b := readBooks(t, dir)
	for code, a := range counted.links {
		b.links[code] = b.links[code].since(a)
	}
	b.mustBalance(t, after, 0)
}

// A log that comes from a backup holds what was counted before, and lacks the rest.
func TestLogRestoredNothingIsDoubled(t *testing.T) {
	dir, rnd := t.TempDir(), random(t)
	first := &visits{}
	p := start(t, "", dir)
	codes := makeLinks(t, p, 5)
	gather(t, first, rnd, codes, p).leaveAfter(500)
	caughtUp(t, p)
	p.stop()
	backup := t.TempDir()
	copyLog(t, backup, dir)

	second := &visits{}
	p = start(t, "", dir)
	gather(t, second, rnd, codes, p).leaveAfter(500)
	caughtUp(t, p)
	p.stop()

	removeLog(t, dir)
	copyLog(t, dir, backup)
	third := &visits{}
	third.last.Store(first.last.Load())
	p = start(t, "", dir)
	gather(t, third, rnd, codes, p).leaveAfter(500)
	caughtUp(t, p)
	p.stop()

	// The links have all three, the log has the first and the third.
	b := readBooks(t, dir)
	for code, n := range answeredPerCode(second) {
		b.links[code] = b.links[code].since(account{clicks: n, human: n, totalClicks: n, totalHuman: n})
	}
	first.list = append(first.list, third.list...)
	b.mustBalance(t, first, 0)
}

// answeredPerCode returns how many requests were answered.
func answeredPerCode(vs *visits) map[string]int64 {
	n := map[string]int64{}
	for _, v := range vs.all() {
		if v.outcome == answered {
			n[v.code]++
		}
	}
	return n
}

// logFiles returns the names of the log's files: the database, and what SQLite may
// have beside it.
func logFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "log.db") {
			names = append(names, e.Name())
		}
	}
	return names
}

func removeLog(t *testing.T, dir string) {
	t.Helper()
	for _, name := range logFiles(t, dir) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func copyLog(t *testing.T, to, from string) {
	t.Helper()
	for _, name := range logFiles(t, from) {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
