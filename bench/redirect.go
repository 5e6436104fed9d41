package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// connections is how many clients ask at the same time.
const connections = 32

// redirect measures a cached link of the real program, clicks noted and counted,
// against a bare handler. Both are processes of their own; this one is the load.
func redirect(ctx context.Context, rounds int, length time.Duration, server string) error {
	if addr := os.Getenv("BENCH_BARE"); addr != "" {
		return bare(ctx, addr)
	}
	dir, err := os.MkdirTemp("", "snip-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return err
	}
	snip, stopSnip, err := startSnip(ctx, dir)
	if err != nil {
		return err
	}
	defer stopSnip()
	if server != "" {
		return redirectOnServer(ctx, rounds, length, dir, snip, server)
	}
	reference, stopBare, err := startBare(ctx)
	if err != nil {
		return err
	}
	defer stopBare()
	return compare(ctx, rounds, length,
		&contestant{name: "snip, cached link, click noted and counted", measure: load(snip + "/bench")},
		&contestant{name: "bare net/http, a constant 307", measure: load(reference + "/bench")})
}

// redirectOnServer measures a program on PostgreSQL beside the one on files.
func redirectOnServer(ctx context.Context, rounds int, length time.Duration, dir, onFiles, server string) (err error) {
	at, drop, err := newDatabase(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	onServer, stop, err := startSnip(ctx, dir, "DATABASE_URL="+at, "SNIP_DATA_DIR="+filepath.Join(dir, "spool"))
	if err != nil {
		return err
	}
	defer stop()
	return compare(ctx, rounds, length,
		&contestant{name: "snip on PostgreSQL", measure: load(onServer + "/bench")},
		&contestant{name: "snip on files", measure: load(onFiles + "/bench")})
}

func build(ctx context.Context, dir string) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "snip"), "./cmd/snip")
	build.Dir = ".." // The product's module: its dependencies are not this one's.
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// startSnip starts the program that was built in a directory.
func startSnip(ctx context.Context, dir string, env ...string) (url string, stop func(), err error) {
	binary := filepath.Join(dir, "snip")
	addr, err := freeAddr()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), "SNIP_DATA_DIR="+filepath.Join(dir, "data"), "SNIP_ADDR="+addr,
		"SNIP_METRICS_ADDR=127.0.0.1:0", "SNIP_LOG_LEVEL=error")
	cmd.Env = append(cmd.Env, env...)
	if stop, err = start(cmd, addr); err != nil {
		return "", nil, err
	}
	body, err := json.Marshal(map[string]string{"url": "https://example.com/", "code": "bench"})
	if err != nil {
		return "", nil, err
	}
	resp, err := http.Post("http://"+addr+"/shorten", "application/json", bytes.NewReader(body))
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			err = errors.New("shorten: " + resp.Status)
		}
	}
	return "http://" + addr, stop, err
}

func startBare(ctx context.Context) (url string, stop func(), err error) {
	addr, err := freeAddr()
	if err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "redirect")
	cmd.Env = append(os.Environ(), "BENCH_BARE="+addr)
	stop, err = start(cmd, addr)
	return "http://" + addr, stop, err
}

// bare is the reference: the least that net/http can do.
func bare(ctx context.Context, addr string) error {
	server := &http.Server{Addr: addr, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://example.com/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serving ends, and says so.
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// start runs a server until it takes connections.
func start(cmd *exec.Cmd, addr string) (stop func(), err error) {
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt) // It may have ended by itself.
		_ = cmd.Wait()
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return stop, conn.Close()
		}
		if time.Now().After(deadline) {
			stop()
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// load asks for a URL on connections that are kept open. It writes requests and
// reads answers by hand: an HTTP client would cost more than the servers do.
func load(url string) func(context.Context, time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (float64, error) {
		ctx, cancel := context.WithTimeout(ctx, length)
		defer cancel()
		var answered atomic.Int64
		var failed atomic.Pointer[error]
		began := time.Now()
		var wg sync.WaitGroup
		for range connections {
			wg.Go(func() {
				if err := ask(ctx, url, &answered); err != nil {
					failed.Store(&err)
				}
			})
		}
		wg.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return float64(answered.Load()) / time.Since(began).Seconds(), nil
	}
}

func ask(ctx context.Context, url string, answered *atomic.Int64) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0")
	var raw bytes.Buffer
	if err := req.Write(&raw); err != nil {
		return err
	}
	conn, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for ctx.Err() == nil {
		if _, err := conn.Write(raw.Bytes()); err != nil {
			return err
		}
		if err := answer(r); err != nil {
			return err
		}
		answered.Add(1)
	}
	return nil
}

// answer reads a 307 without a body.
func answer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 307")) {
		return fmt.Errorf("answered %q", line)
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			return nil
		}
	}
}
