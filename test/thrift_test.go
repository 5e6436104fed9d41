package test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// residentBytes is the process's memory.
func (p *process) residentBytes() int64 {
	p.t.Helper()
	fields := p.proc("statm")
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// busyTime is the processor time that the process has used.
func (p *process) busyTime() time.Duration {
	p.t.Helper()
	fields := p.proc("stat") // Its second field, the name, has no space.
	var ticks int64
	for _, f := range fields[13:15] { // In user and in kernel mode.
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // Linux tells programs hundredths everywhere.
}

func (p *process) proc(file string) [][]byte {
	p.t.Helper()
	p.mustRun()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file))
	if err != nil {
		p.t.Fatal(err)
	}
	return bytes.Fields(b)
}

// Row L33.
func TestUnknownCodesCostNoMemory(t *testing.T) {
	slow(t)
	p := start(t, "", t.TempDir())
	asked := 0
	ask := func(n int) {
		t.Helper()
		askUnknown(t, p, asked, n)
		asked += n
	}
	ask(5_000)
	before, series := p.residentBytes(), len(p.readMetrics())
	ask(100_000)
	if after := len(p.readMetrics()); after != series {
		t.Errorf("%d series in /metrics, %d before", after, series)
	}
	after := p.residentBytes()
	t.Logf("%d kB before, %d kB after", before>>10, after>>10)
	if after > before+before/10 {
		t.Errorf("100,000 unknown codes took the memory from %d kB to %d kB", before>>10, after>>10)
	}
}

// askUnknown asks for n distinct codes that nobody made.
func askUnknown(t *testing.T, p *process, first, n int) {
	t.Helper()
	var tasks sync.WaitGroup
	for i := range visitors {
		tasks.Go(func() {
			v := &visitor{}
			defer v.close()
			for k := first + i; k < first+n; k += visitors {
				resp, err := v.get(p.public, fmt.Sprintf("/none-%d", k))
				if err != nil || resp.StatusCode != http.StatusNotFound {
					t.Errorf("GET /none-%d: %v, %v; want 404", k, resp, err)
					return
				}
			}
		})
	}
	tasks.Wait()
}

func TestIdleCostsNothing(t *testing.T) {
	slow(t)
	t.Parallel() // It only waits.
	p := start(t, "", t.TempDir())
	vs := &visits{}
	mustRedirect(t, vs, p, makeLinks(t, p, 1)[0])
	caughtUp(t, p)
	const idle = time.Minute
	pass(t, 3*time.Second) // What the start left to do.
	before := p.busyTime()
	pass(t, idle)
	used, memory := p.busyTime()-before, p.residentBytes()
	t.Logf("%s of processor time in %s, %d kB", used, idle, memory>>10)
	if used >= idle/100 {
		t.Errorf("an idle snip used %s of processor time in %s, want less than %s", used, idle, idle/100)
	}
	if memory >= 60<<20 {
		t.Errorf("an idle snip has %d kB of memory, want less than 60 MB", memory>>10)
	}
}
