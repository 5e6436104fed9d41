package test

import (
	"path/filepath"
	"testing"
	"time"

	"snip/internal/postgrestest"
)

// cluster is webs and workers that share a PostgreSQL database. Each has a directory
// of its own, as on machines of their own.
type cluster struct {
	t       *testing.T
	server  *postgrestest.Server
	url     string
	webs    []*process
	workers []*process
	dirs    map[*process]string
}

func newCluster(t *testing.T, webs, workers int) *cluster {
	t.Helper()
	c := &cluster{t: t, server: postgrestest.New(t), dirs: map[*process]string{}}
	c.url = c.server.Database(t)
	for range webs {
		c.webs = append(c.webs, c.start("web", t.TempDir(), c.url))
	}
	for range workers {
		c.workers = append(c.workers, c.start("worker", t.TempDir(), c.url))
	}
	return c
}

func (c *cluster) start(mode, dir, url string) *process {
	c.t.Helper()
	p := start(c.t, mode, dir, "DATABASE_URL="+url, "SNIP_SESSION=2s")
	c.dirs[p] = dir
	return p
}

// restart kills a process and starts it again where it was.
func (c *cluster) restart(p **process) {
	c.t.Helper()
	dir, mode := c.dirs[*p], (*p).mode
	(*p).kill()
	*p = c.start(mode, dir, c.url)
}

// mustBalance stops everything, once it is counted, and checks the books.
func (c *cluster) mustBalance(vs *visits) {
	t := c.t
	t.Helper()
	var dropped int64
	for _, web := range c.webs {
		caughtUp(t, web)
		dropped += web.dropped()
	}
	for _, p := range append(c.webs, c.workers...) {
		p.stop()
	}
	b := readServerBooks(t, c.url)
	b.mustBalance(t, vs, dropped)
}

// mustGoOn fails the test if a redirect was answered with anything else, or late: a
// process that is killed is the only reason not to answer.
func (vs *visits) mustGoOn(t *testing.T) {
	t.Helper()
	var slowest time.Duration
	for _, v := range vs.all() {
		if v.outcome == failed {
			t.Errorf("request %d for /%s was answered with something else", v.number, v.code)
		}
		if v.outcome == answered {
			slowest = max(slowest, v.took)
		}
	}
	t.Logf("the slowest redirect took %s", slowest)
	if slowest > 500*time.Millisecond {
		t.Errorf("a redirect took %s, more than 500 ms", slowest)
	}
}

// TestServerThroughPooler: PgBouncer hands out transactions, and nothing of Snip's
// outlives one.
func TestServerThroughPooler(t *testing.T) {
	direct := postgrestest.Start(t)
	pooled := postgrestest.Pool(t, direct)
	rnd, vs := random(t), &visits{}
	c := &cluster{t: t, url: pooled, dirs: map[*process]string{}}
	c.webs = append(c.webs, c.start("web", t.TempDir(), pooled), c.start("web", t.TempDir(), pooled))
	c.workers = append(c.workers, c.start("worker", t.TempDir(), pooled), c.start("worker", t.TempDir(), pooled))
	crowd := gather(t, vs, rnd, makeLinks(t, c.webs[0], 10), c.webs...)
	crowd.awaitAnswers(500)
	c.restart(&c.workers[0])
	crowd.leaveAfter(500)
	c.mustBalance(vs)
	vs.mustGoOn(t)
}

// TestServerDumpRestored restores a dump that was made under load, while the spools
// hold what came since: what was counted before the dump is exact, and nothing that
// comes after the restore is skipped.
func TestServerDumpRestored(t *testing.T) {
	c, rnd, vs := newCluster(t, 2, 1), random(t), &visits{}
	crowd := gather(t, vs, rnd, makeLinks(t, c.webs[0], 5), c.webs...)
	crowd.awaitAnswers(500)
	crowd.sendTo()
	for _, web := range c.webs {
		caughtUp(t, web)
	}
	before := answeredPerCode(vs.copy())
	crowd.sendTo(c.webs...)
	crowd.awaitAnswers(200)
	dump := filepath.Join(t.TempDir(), "snip.dump")
	postgrestest.Run(t, "pg_dump", "--format=custom", "--file="+dump, c.url)
	crowd.awaitAnswers(500)
	crowd.sendTo()
	for _, p := range append(c.webs, c.workers...) {
		p.kill()
	}

	c.url = c.server.Database(t)
	postgrestest.Run(t, "pg_restore", "--dbname="+c.url, dump)
	counted := readServerBooks(t, c.url).links
	lost := answeredPerCode(vs.copy())
	for i := range c.webs {
		c.webs[i] = c.start("web", c.dirs[c.webs[i]], c.url)
	}
	c.workers[0] = c.start("worker", t.TempDir(), c.url)
	crowd.sendTo(c.webs...)
	crowd.leaveAfter(500)
	for _, web := range c.webs {
		caughtUp(t, web)
	}
	most := map[string]int64{}
	for _, v := range vs.all() {
		most[v.code]++ // Answered or cut.
	}
	got := readServerBooks(t, c.url).links
	for code, n := range answeredPerCode(vs) {
		least := max(before[code], counted[code].clicks) + n - lost[code]
		if clicks := got[code].clicks; clicks < least || clicks > most[code] {
			t.Errorf("/%s has %d clicks, want %d of the dump and since, and %d at the most", code, clicks, least, most[code])
		}
	}
}
