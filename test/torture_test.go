package test

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestTorture is a matrix: each engine goes through each fault, under load from numbered
// requests to two webs, whose clicks two workers count. Each cell ends with the books: no
// click is missing and none is counted twice. docs/proof.md explains it and has the table.
func TestTorture(t *testing.T) {
	slow(t)
	m := &matrix{seed: seed(t), scale: readScale(t)}
	dir := t.TempDir()
	m.stepped = sync.OnceValues(func() (string, error) { return buildStepped(dir) })
	t.Cleanup(func() { m.table.show(t, m.seed) })
	for _, kind := range engines() {
		t.Run(kind.name, func(t *testing.T) {
			open := kind.setUp(t)
			for _, f := range faults() {
				t.Run(f.name, func(t *testing.T) { m.torture(t, kind, open, f) })
			}
		})
	}
	t.Run("checker", m.checkTheChecker)
}

// engine is where a cell keeps its clicks, and how it is made to fail. What is called away,
// slow or cut off is so for at least as long as a fault of the cell lasts.
type engine interface {
	version() string

	// room makes what a new process runs in: the webs' and workers' own machine, where
	// the engine lets them have one.
	room(mode string) room
	// beAway makes it answer nobody.
	beAway()
	// restart ends it and starts it again, a few times.
	restart()
	// beSlow makes whoever waits for it wait for half a second, each time.
	beSlow()
	// cutOff takes a worker away from it, in the middle of its work, until others have done
	// that. Then the worker is back and commits, and must be refused.
	cutOff()
	// endConnections ends what its clients keep open, again and again.
	endConnections()
	// fillDisk takes the space of all that is kept.
	fillDisk()

	books() books
}

// engineKind is an engine as the matrix lists it. Another one joins by a line in engines.
type engineKind struct {
	name  string
	setUp func(t *testing.T) (open func(*cell) engine)
	apart map[string]string // Faults that do not apply to it, and why.
}

func engines() []engineKind {
	return []engineKind{
		{
			name:  "files",
			setUp: func(*testing.T) func(*cell) engine { return openFiles },
			apart: map[string]string{"connections ended": "there is no server, so nobody is connected to one"},
		},
		{name: "PostgreSQL", setUp: setUpServer},
	}
}

// matrix is what the cells have in common. They run one after the other.
type matrix struct {
	seed    uint64
	scale   scale
	stepped func() (string, error) // The path of a snip whose clock can be stepped.
	table   table
	example *ledger // Of a cell that went well.
}

// scale says how much of a fault there is.
type scale struct {
	long  bool
	kills int
}

func readScale(t *testing.T) scale {
	t.Helper()
	if os.Getenv("SNIP_TORTURE") == "" {
		return scale{kills: 1}
	}
	return scale{long: true, kills: max(1, kills(t)/2)}
}

// lasts returns how long a fault lasts that lasts so long in the long form.
func (s scale) lasts(long time.Duration) time.Duration {
	if s.long {
		return long
	}
	return 2 * time.Second
}

func (m *matrix) torture(t *testing.T, kind engineKind, open func(*cell) engine, f fault) {
	r := row{engine: kind.name, fault: f.name, apart: kind.apart[f.name]}
	if r.apart != "" {
		m.table.add(r)
		t.Logf("does not apply: %s", r.apart)
		return
	}
	// A cell that runs alone makes the choices that it makes among the others.
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind.name + "/" + f.name)) // Never fails.
	c := &cell{
		t: t, rnd: rand.New(rand.NewPCG(m.seed, h.Sum64())), scale: m.scale, fault: f,
		visits: &visits{}, rooms: map[*process]room{}, dropped: map[string]int64{}, program: snip,
	}
	if f.clocks {
		var err error
		if c.program, err = m.stepped(); err != nil {
			t.Fatalf("build snip with another clock: %v", err)
		}
	}
	defer func() {
		r.failed = t.Failed()
		m.table.add(r)
	}()
	c.open(open)
	r.version = c.engine.version()
	f.do(c)
	r.caughtUp = c.catchUp()
	l := c.close()
	r.reckoning = l.reckon()
	l.mustBalance(t)
	if f.clocks {
		mustSpread(t, l)
	}
	c.mustGoOn(r.reckoning)
	if l.dropped == 0 && !t.Failed() {
		m.example = l
	}
}

// cell is one fault that happens to one engine.
type cell struct {
	t      *testing.T
	rnd    *rand.Rand
	scale  scale
	fault  fault
	engine engine

	visits *visits
	codes  []string
	crowd  *crowd
	cuts   bool // Requests may end without an answer: a web is ended, or they are cut on purpose.

	program string
	webs    []*process
	workers []*process
	rooms   map[*process]room
	dropped map[string]int64 // As the webs report it, by directory.
}

// room is what a process runs in. It outlives the process.
type room struct {
	dir   string
	env   []string
	cord  *cable // To the engine, where there is one.
	clock *stepper
}

// pace is how often each visitor makes a request, at most: two cores have more to do.
const pace = 4 * time.Millisecond

// open starts everything, and lets the crowd in.
func (c *cell) open(open func(*cell) engine) {
	c.t.Helper()
	c.engine = open(c)
	c.webs = []*process{c.launch("web", c.room("web")), c.launch("web", c.room("web"))}
	c.workers = []*process{c.launch("worker", c.room("worker")), c.launch("worker", c.room("worker"))}
	for _, p := range c.everybody() {
		p.awaitReady()
	}
	c.codes = makeLinks(c.t, c.webs[0], 20)
	for _, web := range c.webs { // Each has seen each link: then it needs nobody to redirect.
		for _, code := range c.codes {
			mustRedirect(c.t, c.visits, web, code)
		}
	}
	c.crowd = gatherAt(c.t, pace, c.visits, c.rnd, c.codes, c.webs...)
	c.crowd.awaitAnswers(100)
}

func (c *cell) room(mode string) room {
	r := c.engine.room(mode)
	if c.fault.clocks {
		r.clock = newStepper(c.t)
		r.env = append(r.env, r.clock.env())
	}
	return r
}

func (c *cell) launch(mode string, r room) *process {
	c.t.Helper()
	env := slices.Concat([]string{"SNIP_SESSION=1s"}, r.env, c.fault.env)
	p := launchProgram(c.t, c.program, mode, r.dir, env...)
	c.rooms[p] = r
	return p
}

func (c *cell) everybody() []*process { return slices.Concat(c.webs, c.workers) }

// comeBack starts processes that ended where they were, and sends the crowd to all webs.
func (c *cell) comeBack(ended ...**process) {
	c.t.Helper()
	for _, p := range ended {
		*p = c.launch((*p).mode, c.rooms[*p])
	}
	for _, p := range ended {
		(*p).awaitReady()
	}
	c.crowd.sendTo(c.webs...)
}

// catchUp ends the load soon, and returns how long after the fault all was counted.
func (c *cell) catchUp() time.Duration {
	c.t.Helper()
	began := time.Now()
	c.crowd.leaveAfter(100)
	c.awaitCounted()
	return time.Since(began)
}

func (c *cell) awaitCounted() {
	c.t.Helper()
	for _, web := range c.webs {
		caughtUp(c.t, web)
	}
}

// reportDropped returns how many clicks the webs say were dropped.
func (c *cell) reportDropped() (all int64) {
	c.t.Helper()
	for _, web := range c.webs {
		// Processes that share a directory share the counter.
		c.dropped[c.rooms[web].dir] = web.dropped()
	}
	for _, n := range c.dropped {
		all += n
	}
	return all
}

// close stops everything and reads the books.
func (c *cell) close() *ledger {
	c.t.Helper()
	dropped := c.reportDropped()
	for _, p := range c.everybody() {
		p.stop()
	}
	return &ledger{c.visits.all(), c.engine.books(), dropped}
}

// mustGoOn fails the test unless every redirect was answered, and soon. Those that a fault
// is meant to cut are apart.
func (c *cell) mustGoOn(got reckoning) {
	c.t.Helper()
	if got.failed > 0 {
		c.t.Errorf("%d redirects of known links failed", got.failed)
	}
	if lost := got.cut + got.refused; lost > 0 && !c.cuts {
		c.t.Errorf("%d requests were cut and %d refused, and no web was ended", got.cut, got.refused)
	}
	if got.slowest > slowest {
		c.t.Errorf("a redirect took %s, more than %s", got.slowest, slowest)
	}
}
