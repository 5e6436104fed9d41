package test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A clock that is stepped is that of one process, so the machine's is left alone: the
// program is built with another package time, which adds to the wall clock, and not to the
// monotonic one, what stands in a file. The product has no hook for it.

const (
	clockEnv = "SNIP_TEST_CLOCK"

	// nowLine stands in Go's time.Now, and there alone.
	nowLine = "\tsec, nsec, mono := runtimeNow()\n"

	// stepSource is a file beside it.
	stepSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var stepFile = mapStep()

// mapStep maps the file that says by how many seconds the clock is ahead.
func mapStep() *int64 {
	path, ok := syscall.Getenv("` + clockEnv + `")
	if !ok {
		panic("` + clockEnv + ` is not set")
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}

func stepped() int64 { return atomic.LoadInt64(stepFile) }
`
)

// buildStepped builds the program with a clock that can be stepped, in a directory, and
// returns its path.
func buildStepped(dir string) (program string, err error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	_, now, found := strings.Cut(string(text), "\nfunc Now() Time {\n")
	if !found || !strings.HasPrefix(now, nowLine) || strings.Count(string(text), nowLine) != 1 {
		return "", fmt.Errorf("time.Now of this Go does not begin with %q: its clock cannot be stepped this way", nowLine)
	}
	changed, step, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "step.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(source, "time.go"): changed, filepath.Join(source, "step.go"): step,
	}})
	err = errors.Join(err,
		os.WriteFile(changed, []byte(strings.Replace(string(text), nowLine, nowLine+"\tsec += stepped()\n", 1)), 0o600),
		os.WriteFile(step, []byte(stepSource), 0o600),
		os.WriteFile(overlay, list, 0o600))
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "snip")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, "snip/cmd/snip")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

// stepper steps the clock of a process.
type stepper struct {
	t     *testing.T
	path  string
	ahead time.Duration
}

func newStepper(t *testing.T) *stepper {
	t.Helper()
	s := &stepper{t: t, path: filepath.Join(t.TempDir(), "clock")}
	if err := os.WriteFile(s.path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stepper) env() string { return clockEnv + "=" + s.path }

// step changes the file where it is: it is mapped.
func (s *stepper) step(by time.Duration) {
	s.t.Helper()
	s.ahead += by
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(s.ahead/time.Second)), 0); err != nil {
		s.t.Fatal(err)
	}
}

// mustBeSeen fails the test unless a process goes by the stepped clock.
func (s *stepper) mustBeSeen(p *process) {
	s.t.Helper()
	eventually(s.t, p.String()+" goes by its stepped clock", func() bool {
		resp, err := http.Get("http://" + p.metrics + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		says, err := http.ParseTime(resp.Header.Get("Date"))
		return err == nil && (time.Since(says)+s.ahead).Abs() < time.Hour/2
	})
}

// stepClocks steps the clock of each process at a moment of its own: an hour ahead, an hour
// back, another hour back, and ahead again. Meanwhile no two agree.
func (c *cell) stepClocks() {
	// In the end it is an hour ahead, so that the age of what waits is not below zero.
	for _, step := range []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour, time.Hour} {
		all := c.everybody()
		c.rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, p := range all {
			c.rooms[p].clock.step(step)
			pass(c.t, time.Duration(c.rnd.Int64N(int64(c.scale.lasts(4*time.Second)/8))))
		}
		for _, p := range all {
			c.rooms[p].clock.mustBeSeen(p)
		}
		c.crowd.awaitAnswers(200)
	}
}

// mustSpread fails the test unless there are clicks from before, and after, all that
// really happened.
func mustSpread(t *testing.T, l *ledger) {
	t.Helper()
	first, last := l.requests[0].began, l.requests[len(l.requests)-1].began
	var before, after int
	for _, e := range l.books.events {
		if e.at.Before(first.Add(-time.Hour / 2)) {
			before++
		}
		if e.at.After(last.Add(time.Hour / 2)) {
			after++
		}
	}
	t.Logf("%d clicks have times from before the test, %d from after it", before, after)
	if before == 0 || after == 0 {
		t.Errorf("%d clicks have times from before the test, %d from after it: want some of each", before, after)
	}
}
