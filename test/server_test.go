package test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// TestServerCountsExactly puts three webs and three workers through what happens to
// programs on a network, one thing after the other under load.
func TestServerCountsExactly(t *testing.T) {
	slow(t)
	c, rnd, vs := newCluster(t, 3, 2), random(t), &visits{}
	// The third worker is connected by a cable.
	at, err := pgx.ParseConfig(c.url)
	if err != nil {
		t.Fatal(err)
	}
	network, socket := serverAddress(at)
	cord := lay(t, network, socket)
	host, port, err := net.SplitHostPort(cord.address)
	if err != nil {
		t.Fatal(err)
	}
	far := c.start("worker", t.TempDir(), (&url.URL{
		Scheme: "postgres", User: url.User(at.User), Host: net.JoinHostPort(host, port), Path: "/" + at.Database, RawQuery: "sslmode=disable",
	}).String())
	c.workers = append(c.workers, far)

	codes := makeLinks(t, c.webs[0], 20)
	for _, web := range c.webs { // Each has seen each link: then it needs nobody to redirect.
		for _, code := range codes {
			mustRedirect(t, vs, web, code)
		}
	}
	// Somebody else has a transaction open all the time.
	held, err := pgx.Connect(t.Context(), c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close(context.WithoutCancel(t.Context())) }() // The server may have cut it off.
	if _, err := held.Exec(t.Context(), "BEGIN; SELECT pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}

	crowd := gather(t, vs, rnd, codes, c.webs...)
	step := func(what string, do func()) {
		t.Helper()
		crowd.awaitAnswers(200)
		t.Logf("%d answered, then: %s", vs.count(answered), what)
		do()
	}
	step("a web is killed", func() {
		crowd.sendTo(c.webs[1:]...)
		c.restart(&c.webs[0])
		crowd.sendTo(c.webs...)
	})
	step("a worker is killed", func() { c.restart(&c.workers[0]) })
	step("a worker is cut off for longer than its session", func() {
		cord.cut()
		pass(t, 20*time.Second)
		cord.mend()
	})
	step("a worker joins, and leaves", func() {
		joined := c.start("worker", t.TempDir(), c.url)
		crowd.awaitAnswers(200)
		joined.stop()
	})
	step("every connection is ended once a second", func() {
		for range 10 {
			c.endConnections()
			pass(t, time.Second)
		}
	})
	step("the server is restarted", func() {
		c.server.Stop(t)
		pass(t, 2*time.Second)
		c.server.Start(t)
	})
	step("the server is killed", func() {
		c.server.Kill(t)
		c.server.Start(t)
	})
	step("a web and a worker are killed", func() {
		crowd.sendTo(c.webs[:2]...)
		c.restart(&c.webs[2])
		c.restart(&c.workers[1])
		crowd.sendTo(c.webs...)
	})
	crowd.leaveAfter(500)
	c.mustBalance(vs)
	vs.mustGoOn(t)
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

// endConnections ends all but its own.
func (c *cluster) endConnections() {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = conn.Exec(c.t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
	if err := errors.Join(err, conn.Close(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// serverAddress is where a server listens.
func serverAddress(at *pgx.ConnConfig) (network, address string) {
	if filepath.IsAbs(at.Host) {
		return "unix", filepath.Join(at.Host, ".s.PGSQL.5432")
	}
	return "tcp", at.Host
}
