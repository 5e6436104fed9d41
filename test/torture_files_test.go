package test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// files is SQLite: a directory that all processes share. What a server does is done to
// its files.
type files struct {
	*cell
	dir  string
	disk string // Small, if the fault needs it.
}

func openFiles(c *cell) engine {
	f := &files{cell: c, dir: c.t.TempDir()}
	if c.fault.disk {
		f.disk = smallDisk(c.t, 64)
		f.dir = filepath.Join(f.disk, "data")
	}
	return f
}

func (f *files) version() string {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(f.t.Context(), "SELECT sqlite_version()").Scan(&version); err != nil {
		f.t.Fatal(err)
	}
	return "SQLite " + version
}

func (f *files) room(string) room { return room{dir: f.dir} }

func (f *files) links() string { return filepath.Join(f.dir, "snip.db") }
func (f *files) log() string   { return filepath.Join(f.dir, "log.db") }

// beAway: another process has both files for itself, and readers are kept out as well.
func (f *files) beAway() {
	unlockLinks := lockDatabase(f.t, f.links(), true)
	unlockLog := lockDatabase(f.t, f.log(), true)
	pass(f.t, f.scale.lasts(30*time.Second))
	unlockLog()
	unlockLinks()
}

// restart: the engine is part of every process, so all of them stop, and start again.
func (f *files) restart() {
	f.cuts = true // Of connections that a stopped web keeps no longer.
	for range f.scale.kills {
		f.crowd.awaitAnswers(50)
		pass(f.t, anyMoment(f.rnd))
		var all []**process
		for i := range f.webs {
			all = append(all, &f.webs[i])
		}
		for i := range f.workers {
			all = append(all, &f.workers[i])
		}
		f.rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, p := range all {
			(*p).terminate()
		}
		f.crowd.sendTo()
		for _, p := range all {
			(*p).awaitEnd()
		}
		f.comeBack(all...)
	}
}

// beSlow: another process takes the writers' locks for half a second, again and again.
func (f *files) beSlow() {
	fastLinks := lockInPulses(f.t, f.links(), 500*time.Millisecond)
	fastLog := lockInPulses(f.t, f.log(), 500*time.Millisecond)
	pass(f.t, f.scale.lasts(20*time.Second))
	fastLinks()
	fastLog()
}

// cutOff: a worker is suspended while it waits to write what it has read, for longer than
// its session. When it goes on, somebody else has counted that.
func (f *files) cutOff() {
	const refusal = "another owner moved the position"
	for range 10 {
		worker := f.busyWorker()
		before := len(worker.log.grep(refusal))
		unlock := lockDatabase(f.t, f.links(), false)
		f.crowd.awaitAnswers(200)
		pass(f.t, time.Second) // By now it has read them.
		f.suspend(worker)
		unlock()
		f.othersTakeOver()
		worker.signal(syscall.SIGCONT)
		f.crowd.awaitAnswers(400)
		if len(worker.log.grep(refusal)) > before {
			return
		}
		f.t.Logf("%s had nothing to commit when it was suspended", worker)
	}
	f.t.Error("no late commit was refused: nothing was tested")
}

// suspend stops a process in its tracks, but not while it writes to a file: until it goes
// on nobody else could. (Then all waits, and nothing is shown about late commits.)
func (f *files) suspend(p *process) {
	f.t.Helper()
	eventually(f.t, p.String()+" is suspended", func() bool {
		p.signal(syscall.SIGSTOP)
		eventually(f.t, p.String()+" stands still", func() bool { return state(p) == "T" })
		if !f.writes(p) {
			return true
		}
		p.signal(syscall.SIGCONT)
		return false
	})
}

// state returns what /proc says that a process does.
func state(p *process) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	// The name before it, in brackets, may contain anything.
	_, rest, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')'):]), " ")
	return rest[:1]
}

// writes tells whether a process holds the lock of writers, byte 120 of the index of a
// write-ahead log.
func (f *files) writes(p *process) bool {
	f.t.Helper()
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		// 1: POSIX  ADVISORY  WRITE 4711 fe:00:12345 120 120
		w := strings.Fields(line)
		if len(w) == 8 && w[1] == "POSIX" && w[3] == "WRITE" && w[4] == fmt.Sprint(p.cmd.Process.Pid) && w[6] == "120" {
			return true
		}
	}
	return false
}

func (f *files) endConnections() {
	f.t.Fatal("there are none")
}

// fillDisk: everything is on one small disk.
func (f *files) fillDisk() {
	f.fillSpool(f.disk)
}

func (f *files) books() books { return readBooks(f.t, f.dir) }

// fillSpool takes all space of a disk until webs drop clicks, and some time more, and
// returns once they drop no more.
func (c *cell) fillSpool(disk string) {
	c.t.Helper()
	free := fill(c.t, disk)
	before := c.reportDropped()
	eventually(c.t, "clicks are dropped", func() bool { return c.reportDropped() > before+100 })
	pass(c.t, c.scale.lasts(10*time.Second))
	free()
	eventually(c.t, "nothing is dropped any more", func() bool {
		now := c.reportDropped()
		c.crowd.awaitAnswers(200)
		return c.reportDropped() == now
	})
}
