package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is where every link leads, and every reference.
const target = "https://example.com/"

// instance is a running Snip: one process, or a web and a worker.
type instance struct {
	address   string
	processes []*process
	environ   []string
	program   string
}

// place is where an instance keeps everything.
type place struct {
	dir string // Of its files, or of its spool.
	url string // Of its database. Empty: it is in files.
}

func (p place) environ() []string {
	return append(os.Environ(), "SNIP_DATA_DIR="+p.dir, "DATABASE_URL="+p.url, "SNIP_LOG_LEVEL=error", "SNIP_METRICS_ADDR=127.0.0.1:0")
}

// build makes the program, once.
func (b *bench) build(ctx context.Context) (path string, err error) {
	path = filepath.Join(b.dir, "snip")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/snip")
	build.Dir = ".." // The product's module: its dependencies are not this one's.
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

// startSnip starts the program: all of it in one process if no parts are named, else a
// process for each of "web" and "worker". It has a link with the code "bench", and
// stops at the end of the benchmark.
func (b *bench) startSnip(ctx context.Context, at place, parts ...string) (*instance, error) {
	program, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	return b.startProgram(program, at, parts...)
}

// startProgram is startSnip for a program that is there.
func (b *bench) startProgram(program string, at place, parts ...string) (*instance, error) {
	address, err := freeAddr()
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		parts = []string{""}
	}
	s := &instance{address: address, environ: append(at.environ(), "SNIP_ADDR="+address), program: program}
	for _, part := range parts {
		cmd := exec.Command(program, strings.Fields(part)...)
		cmd.Env = s.environ
		ready := listens(address)
		if part == "worker" {
			ready = func() error { return nil } // It counts when it counts.
		}
		p, err := start(cmd, ready)
		if err != nil {
			return nil, err
		}
		b.atEnd(func() error { p.stop(); return nil })
		s.processes = append(s.processes, p)
	}
	return s, s.shorten("bench")
}

// shorten makes a link, unless there is one with the code.
func (s *instance) shorten(code string) error {
	body, err := json.Marshal(map[string]string{"url": target, "code": code})
	if err != nil {
		return err
	}
	resp, err := http.Post("http://"+s.address+"/shorten", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusConflict {
		return errors.New("shorten: " + resp.Status)
	}
	return nil
}

// newKey makes a key, as an operator does.
func (s *instance) newKey(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, s.program, "key", "new", "--admin")
	cmd.Env = s.environ
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// memory is what all processes have resident, in bytes.
func (s *instance) memory() (sum int64, err error) {
	for _, p := range s.processes {
		one, err := p.memory()
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}

// newPlace makes an empty one for an instance, on a server where that is asked for. It
// is removed at the end of the benchmark.
func (b *bench) newPlace(ctx context.Context, onServer bool) (at place, err error) {
	if at.dir, err = os.MkdirTemp(b.dir, "data"); err != nil {
		return place{}, err
	}
	b.atEnd(func() error { return os.RemoveAll(at.dir) })
	if !onServer {
		return at, nil
	}
	server, err := b.startPostgres(ctx)
	if err != nil {
		return place{}, err
	}
	var drop func() error
	if at.url, drop, err = newDatabase(ctx, server); err != nil {
		return place{}, err
	}
	b.atEnd(drop)
	return at, nil
}
