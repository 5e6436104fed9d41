package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience is how long a process may take to start, and to become quiet.
const patience = 30 * time.Second

// process is a program beside this one.
type process struct {
	cmd     *exec.Cmd
	stopped bool
}

// start runs a program until it is ready. What it says on the way is in the error if
// it is not.
func start(cmd *exec.Cmd, ready func() error) (*process, error) {
	var said bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := ready()
		if err == nil {
			return p, nil
		}
		if time.Now().After(deadline) || p.state() == 'Z' {
			p.stop()
			return nil, fmt.Errorf("start %s: %w\n%s", filepath.Base(cmd.Path), err, said.Bytes())
		}
	}
}

// listens is ready once a TCP address takes connections.
func listens(addr string) func() error {
	return func() error {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// stop interrupts the process and waits for it, unless that was done before.
func (p *process) stop() {
	if p.stopped {
		return
	}
	_ = p.cmd.Process.Signal(os.Interrupt) // It may have ended by itself,
	_ = p.cmd.Wait()                       // or by the signal.
	p.stopped = true
}

// state is a letter, 'Z' for a program that has ended.
func (p *process) state() byte {
	fields, err := p.stat()
	if err != nil {
		return 'Z'
	}
	return fields[0][0]
}

// processorTime is what the process has used so far.
func (p *process) processorTime() (time.Duration, error) {
	fields, err := p.stat()
	if err != nil {
		return 0, err
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // As the kernel tells it, on every machine.
	return time.Duration(user+system) * tick, err
}

// stat returns the fields of /proc/PID/stat behind the name, which may hold anything.
func (p *process) stat() ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", p.cmd.Process.Pid, len(fields))
	}
	return fields, nil
}

// memory is what the process has resident, in bytes.
func (p *process) memory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kB, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kB << 10, err
		}
	}
	return 0, errors.New("the program has ended")
}

// quiet waits until processes have nothing to do, so that what one has put off is not
// done while another is measured.
func quiet(all ...*process) error {
	const pause, little = 200 * time.Millisecond, 20 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		before, err := used(all)
		if err != nil {
			return err
		}
		time.Sleep(pause)
		after, err := used(all)
		if err != nil {
			return err
		}
		if after-before <= little {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still at work after %s", patience)
		}
	}
}

func used(all []*process) (sum time.Duration, err error) {
	for _, p := range all {
		one, err := p.processorTime()
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// find looks for a program, also where Debian keeps those of servers.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/sbin/", "/usr/lib/postgresql/*/bin/"} {
		if all, err := filepath.Glob(pattern + name); err == nil && len(all) > 0 {
			return all[len(all)-1], nil // Of the highest version, below 100.
		}
	}
	return "", fmt.Errorf("%s not found: scripts/setup-bench installs it", name)
}
