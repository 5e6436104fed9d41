package test

import (
	"slices"
	"syscall"
	"time"
)

// fault is what happens to the cells of a row of the matrix.
type fault struct {
	name   string
	do     func(*cell)
	env    []string // Of every process.
	disk   bool     // What is kept lies on small disks.
	clocks bool     // Processes have clocks that can be stepped.
}

func faults() []fault {
	return []fault{
		{name: "web killed", do: func(c *cell) { c.kill(true, false) }},
		{name: "worker killed", do: func(c *cell) { c.kill(false, true) }},
		{name: "both killed", do: func(c *cell) { c.kill(true, true) }},
		{name: "engine stopped", do: func(c *cell) { c.engine.beAway() }},
		{name: "engine restarted", do: func(c *cell) { c.engine.restart() }},
		{
			name: "engine slowed", do: func(c *cell) { c.engine.beSlow() },
			env: []string{"SNIP_SESSION=5s"}, // As it is by default: who is slow must not be taken for dead.
		},
		{name: "worker cut off", do: func(c *cell) { c.engine.cutOff() }},
		{name: "connections ended", do: func(c *cell) { c.engine.endConnections() }},
		{
			name: "disk full", disk: true, do: func(c *cell) { c.engine.fillDisk() },
			env: []string{"SNIP_SPOOL_SEGMENT_BYTES=128kB", "SNIP_SPOOL_BYTES=4MB"},
		},
		{name: "clock stepped", clocks: true, do: (*cell).stepClocks},
		{name: "clients cut off", do: (*cell).cutVisitors},
		{name: "members joining and leaving", do: (*cell).joinAndLeave},
	}
}

// kill kills webs, workers, or one of each at once; that may be all of them.
func (c *cell) kill(web, worker bool) {
	for range c.scale.kills {
		c.crowd.awaitAnswers(50)
		pass(c.t, anyMoment(c.rnd))
		var victims []**process
		if web {
			c.cuts = true
			victims = append(victims, &c.webs[c.rnd.IntN(len(c.webs))])
		}
		if worker {
			victims = append(victims, &c.workers[c.rnd.IntN(len(c.workers))])
		}
		if web && worker && c.rnd.IntN(2) == 0 {
			victims = victims[:0]
			for i := range c.webs {
				victims = append(victims, &c.webs[i])
			}
			for i := range c.workers {
				victims = append(victims, &c.workers[i])
			}
		}
		for _, p := range victims {
			(*p).kill()
		}
		c.crowd.sendTo(slices.DeleteFunc(slices.Clone(c.webs), func(p *process) bool { return p.asked })...)
		c.comeBack(victims...)
	}
}

// cutVisitors lays cables to the webs and severs all connections of visitors again and
// again, whatever is on its way.
func (c *cell) cutVisitors() {
	var cords []*cable
	var addrs []string
	for _, web := range c.webs {
		cord := lay(c.t, "tcp", web.public)
		cords, addrs = append(cords, cord), append(addrs, cord.address)
	}
	c.cuts = true
	c.crowd.sendToAddrs(addrs...)
	for end := time.Now().Add(c.scale.lasts(10 * time.Second)); time.Now().Before(end); {
		pass(c.t, time.Duration(c.rnd.Int64N(int64(40*time.Millisecond))))
		for _, cord := range cords {
			cord.sever()
		}
	}
	c.crowd.sendTo(c.webs...)
	if c.visits.count(cut) == 0 {
		c.t.Error("no request was cut: nothing was tested")
	}
}

// joinAndLeave lets a web and a worker join, and then one of each leave.
func (c *cell) joinAndLeave() {
	for range c.scale.kills {
		web, worker := c.launch("web", c.room("web")), c.launch("worker", c.room("worker"))
		c.webs, c.workers = append(c.webs, web), append(c.workers, worker)
		web.awaitReady()
		worker.awaitReady()
		c.crowd.sendTo(c.webs...)
		c.crowd.awaitAnswers(200)
		pass(c.t, anyMoment(c.rnd))

		i, j := c.rnd.IntN(len(c.webs)), c.rnd.IntN(len(c.workers))
		web, worker = c.webs[i], c.workers[j]
		c.reportDropped()
		c.webs, c.workers = slices.Delete(c.webs, i, i+1), slices.Delete(c.workers, j, j+1)
		c.crowd.sendTo(c.webs...)
		c.crowd.awaitAnswers(50)
		worker.terminate()
		web.stop()
		worker.awaitEnd()
	}
}

// busyWorker returns a worker that has work at this moment.
func (c *cell) busyWorker() *process {
	c.t.Helper()
	counted := func(p *process) float64 { return p.metric("snip_clicks_counted_total") }
	before := map[*process]float64{}
	for _, p := range c.workers {
		before[p] = counted(p)
	}
	var busy []*process
	eventually(c.t, "a worker counts", func() bool {
		c.crowd.awaitAnswers(100)
		busy = slices.DeleteFunc(slices.Clone(c.workers), func(p *process) bool { return counted(p) == before[p] })
		return len(busy) > 0
	})
	return busy[c.rnd.IntN(len(busy))]
}

// othersTakeOver returns once all is counted by those who are left, a while later.
func (c *cell) othersTakeOver() {
	c.t.Helper()
	pass(c.t, c.scale.lasts(20*time.Second))
	c.crowd.sendTo()
	c.awaitCounted()
	c.crowd.sendTo(c.webs...)
}

// signal sends a signal that does not end a process.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	p.mustRun()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s to %s: %v", s, p, err)
	}
}
