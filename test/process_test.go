package test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a snip, or what stands before it, that runs or ran.
type process struct {
	t     *testing.T
	mode  string
	cmd   *exec.Cmd
	log   *logbook
	ended chan struct{} // Closed when it has ended and its log is complete.

	public  string // Address for visitors; empty for a worker.
	metrics string

	asked bool // stop or kill was called: its end is no surprise.
}

// start runs snip on a data directory and returns when it is ready. The mode is
// web, worker, or empty for both in one process. env adds to the environment.
func start(t *testing.T, mode, dir string, env ...string) *process {
	t.Helper()
	p := launch(t, mode, dir, env...)
	p.awaitReady()
	return p
}

// launch is start without the wait. The process ends with the test at the latest.
func launch(t *testing.T, mode, dir string, env ...string) *process {
	t.Helper()
	return launchProgram(t, snip, mode, dir, env...)
}

// launchProgram is launch for a snip that was built in another way.
func launchProgram(t *testing.T, program, mode, dir string, env ...string) *process {
	t.Helper()
	p := &process{t: t, mode: mode, log: &logbook{}, ended: make(chan struct{})}
	var args []string
	if mode != "" {
		args = []string{mode}
	}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env = append(environ(dir), env...)
	p.begin()
	return p
}

// begin starts the command.
func (p *process) begin() {
	p.t.Helper()
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// It must not outlive a test that panics or runs into its limit.
	p.cmd.SysProcAttr.Pdeathsig = cmp.Or(p.cmd.SysProcAttr.Pdeathsig, syscall.SIGKILL)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // How it ended stands in its state.
	}()
	p.t.Cleanup(p.clear)
}

// environ is the environment of a snip on a data directory, nothing of this
// process's own settings in it.
func environ(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"SNIP_DATA_DIR=" + dir, "SNIP_ADDR=127.0.0.1:0", "SNIP_METRICS_ADDR=127.0.0.1:0",
		"SNIP_LOG_FORMAT=json",
	}
}

func (p *process) String() string {
	return fmt.Sprintf("%s %s (%d)", filepath.Base(p.cmd.Path), p.mode, p.cmd.Process.Pid)
}

func (p *process) awaitReady() {
	p.t.Helper()
	p.metrics = p.awaitAddress("metrics")
	eventually(p.t, p.String()+" is ready", func() bool {
		p.mustRun()
		resp, err := http.Get("http://" + p.metrics + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if p.mode != "worker" {
		p.public = p.awaitAddress("public")
	}
}

func (p *process) awaitAddress(listener string) (addr string) {
	p.t.Helper()
	eventually(p.t, p.String()+" listens for "+listener, func() bool {
		p.mustRun()
		e, ok := p.log.find(func(e entry) bool { return e["msg"] == "listening" && e["listener"] == listener })
		if ok {
			addr, _ = e["addr"].(string)
		}
		return ok
	})
	return addr
}

func (p *process) mustRun() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("%s ended by itself: %v", p, p.cmd.ProcessState)
	default:
	}
}

// kill is kill -9.
func (p *process) kill() {
	p.t.Helper()
	p.mustRun()
	p.asked = true
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatalf("kill %s: %v", p, err)
	}
	<-p.ended
}

// terminate asks the process to stop and returns at once.
func (p *process) terminate() {
	p.t.Helper()
	p.mustRun()
	p.asked = true
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("stop %s: %v", p, err)
	}
}

// stop ends the process as an operator does, and fails the test if it does not end
// well.
func (p *process) stop() {
	p.t.Helper()
	p.terminate()
	p.awaitEnd()
}

func (p *process) awaitEnd() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s did not end within %s of SIGTERM", p, patience)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s ended with %v after SIGTERM, want exit code 0", p, p.cmd.ProcessState)
	}
}

// clear ends what still runs, and shows the log of a test that failed.
func (p *process) clear() {
	select {
	case <-p.ended:
		if !p.asked {
			p.t.Errorf("%s ended by itself: %v", p, p.cmd.ProcessState)
		}
	default:
		_ = p.cmd.Process.Kill() // It may end at this moment.
		<-p.ended
	}
	if p.t.Failed() {
		p.t.Logf("log of %s:\n%s", p, p.log.tail(40))
	}
}

// entry is a line of a log.
type entry map[string]any

// logbook keeps what a process writes. It is safe for concurrent use.
type logbook struct {
	mu   sync.Mutex // Protects text.
	text []byte
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

// lines returns the finished ones.
func (l *logbook) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := bytes.LastIndexByte(l.text, '\n')
	if end < 0 {
		return nil
	}
	return strings.Split(string(l.text[:end]), "\n")
}

// find returns the first entry that is looked for.
func (l *logbook) find(wanted func(entry) bool) (entry, bool) {
	for _, line := range l.lines() {
		var e entry
		if json.Unmarshal([]byte(line), &e) == nil && wanted(e) {
			return e, true
		}
	}
	return nil, false
}

// grep returns the lines that contain one of the texts, whatever the case.
func (l *logbook) grep(texts ...string) (found []string) {
	for _, line := range l.lines() {
		for _, text := range texts {
			if strings.Contains(strings.ToLower(line), strings.ToLower(text)) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}

func (l *logbook) tail(n int) string {
	lines := l.lines()
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
