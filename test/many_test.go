package test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Row Q44: many processes on one directory never see that SQLite is busy.
func TestManyProcessesNeverBusy(t *testing.T) {
	slow(t)
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	all := make([]*process, 8)
	for i := range all {
		mode := "web"
		if i >= 4 {
			mode = "worker"
		}
		all[i] = launch(t, mode, dir) // At once: they also meet while they start.
	}
	for _, p := range all {
		p.awaitReady()
	}
	webs := all[:4]
	crowd := gather(t, vs, rnd, makeLinks(t, webs[0], 20), webs...)
	end := time.Now().Add(time.Duration(kills(t)) * 3 * time.Second) // A minute with SNIP_TORTURE=20.
	for i := 0; time.Now().Before(end); i++ {
		status, _, err := shorten(webs[i%4], "")
		if err != nil || status != http.StatusCreated {
			t.Fatalf("shorten: status %d, %v", status, err)
		}
	}
	crowd.stop()
	vs.mustAllBeAnswered(t, 0)
	caughtUp(t, webs[0])
	for _, p := range all {
		p.stop()
		for _, line := range p.log.grep("SQLITE_BUSY", "database is locked", `"level":"ERROR"`) {
			t.Errorf("%s logged %s", p, line)
		}
	}
	mustBalance(t, dir, vs, 0)
}

// creation is the answer to a request for a link.
type creation struct {
	status int
	code   string
}

// createAtOnce asks for all links at the same time, of one web after the other.
func createAtOnce(t *testing.T, codes []string, webs ...*process) []creation {
	t.Helper()
	got := make([]creation, len(codes))
	var tasks sync.WaitGroup
	for i, code := range codes {
		tasks.Go(func() {
			status, made, err := shorten(webs[i%len(webs)], code)
			if err != nil {
				t.Errorf("shorten %q: %v", code, err)
			}
			got[i] = creation{status, made}
		})
	}
	tasks.Wait()
	return got
}

// Row L12, within a process and between two.
func TestParallelCreatesNeverCollide(t *testing.T) {
	dir := t.TempDir()
	first, second := start(t, "web", dir), start(t, "web", dir)
	codes := map[string]bool{}
	for _, c := range createAtOnce(t, make([]string, 6), first, second) {
		if c.status != http.StatusCreated || c.code == "" || codes[c.code] {
			t.Errorf("status %d, code %q; want 201 and a code of its own", c.status, c.code)
		}
		codes[c.code] = true
	}
	for i := range 10 {
		code := fmt.Sprintf("same-%d", i)
		status := map[int]int{}
		for _, c := range createAtOnce(t, []string{code, code}, first, second) {
			status[c.status]++
		}
		if status[http.StatusCreated] != 1 || status[http.StatusConflict] != 1 {
			t.Errorf("two at once for %s answered %v, want one 201 and one 409", code, status)
		}
	}
}

// Row L43.
func TestHundredsOfCreatesAtOnce(t *testing.T) {
	p := start(t, "", t.TempDir())
	for range 2 {
		for _, c := range createAtOnce(t, make([]string, 320), p) {
			if c.status != http.StatusCreated {
				t.Errorf("status %d, want 201", c.status)
			}
		}
	}
}
