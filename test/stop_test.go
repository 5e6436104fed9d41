package test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWorkerStoppedRedirectsGoOn(t *testing.T) {
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	web, worker := start(t, "web", dir), start(t, "worker", dir)
	codes := makeLinks(t, web, 5)
	gather(t, vs, rnd, codes, web).leaveAfter(200)
	caughtUp(t, web)
	worker.stop()

	key := adminKey(t, dir)
	before := readStats(t, web, key, codes[0])
	gather(t, vs, rnd, codes, web).leaveAfter(1000)
	vs.mustAllBeAnswered(t, slowest)
	if after := readStats(t, web, key, codes[0]); after.Clicks != before.Clicks {
		t.Errorf("without a worker the count went from %d to %d", before.Clicks, after.Clicks)
	}
	if lag := web.metric(`snip_group_lag_messages{group="count"}`); lag == 0 {
		t.Error("nothing tells that the count lags behind")
	}

	worker = start(t, "worker", dir)
	caughtUp(t, web)
	web.stop()
	worker.stop()
	mustBalance(t, dir, vs, 0)
}

// Row L30: one redirect and SIGTERM at once.
func TestRedirectThenStopIsCounted(t *testing.T) {
	dir, vs := t.TempDir(), &visits{}
	var codes []string
	for range 3 {
		p := start(t, "", dir)
		if codes == nil {
			codes = makeLinks(t, p, 1)
		}
		mustRedirect(t, vs, p, codes[0])
		p.stop()
		if b := mustBalance(t, dir, vs, 0); b.links[codes[0]].clicks != vs.count(answered) {
			t.Errorf("%d clicks after %d redirects", b.links[codes[0]].clicks, vs.count(answered))
		}
	}
}

// With web and worker apart the worker may be gone before the web: what it did not
// count, the next one does.
func TestRedirectThenStopOfBothIsCounted(t *testing.T) {
	dir, vs := t.TempDir(), &visits{}
	web, worker := start(t, "web", dir), start(t, "worker", dir)
	codes := makeLinks(t, web, 1)
	mustRedirect(t, vs, web, codes[0])
	web.terminate()
	worker.terminate()
	web.awaitEnd()
	worker.awaitEnd()
	p := start(t, "", dir)
	caughtUp(t, p)
	p.stop()
	mustBalance(t, dir, vs, 0)
}

// Row L30: the visitor is gone as soon as it saw where to go.
func TestVisitorResetsAfterRedirectIsCounted(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "", dir)
	codes := makeLinks(t, p, 1)
	const n = 50
	for range n {
		status, err := (&visitor{}).getAndReset(p.public, "/"+codes[0]+"?utm_campaign=0")
		if err != nil || !strings.HasPrefix(status, "HTTP/1.1 307 ") {
			t.Fatalf("answer %q, %v; want 307", status, err)
		}
	}
	caughtUp(t, p)
	p.stop()
	if got := readBooks(t, dir).links[codes[0]].clicks; got != n {
		t.Errorf("%d clicks after %d redirects", got, n)
	}
}

// What cannot be drained within the limit waits on the disk for the next process.
func TestStopEndsWithinItsLimit(t *testing.T) {
	slow(t)
	p, dir, vs, unlock := stuck(t, "SNIP_DRAIN=500ms")
	p.stop()
	unlock()
	mustCountLater(t, dir, vs)
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	slow(t)
	p, dir, vs, unlock := stuck(t, "SNIP_DRAIN=10m")
	p.terminate()
	eventually(t, "it is stopping", func() bool { return p.log.grep(`"msg":"stopping"`) != nil })
	p.terminate()
	eventually(t, "it has ended", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("%s ended with %v, want by the second SIGTERM", p, p.cmd.ProcessState)
	}
	unlock()
	mustCountLater(t, dir, vs)
}

// stuck returns a process that has clicks to drain and cannot, until unlock.
func stuck(t *testing.T, env ...string) (p *process, dir string, vs *visits, unlock func()) {
	t.Helper()
	dir, vs = t.TempDir(), &visits{}
	p = start(t, "", dir, env...)
	codes := makeLinks(t, p, 1)
	unlock = lockDatabase(t, filepath.Join(dir, "log.db"), false)
	for range 10 {
		mustRedirect(t, vs, p, codes[0])
	}
	return p, dir, vs, unlock
}

func mustCountLater(t *testing.T, dir string, vs *visits) {
	t.Helper()
	p := start(t, "", dir)
	caughtUp(t, p)
	p.stop()
	mustBalance(t, dir, vs, 0)
}
