package test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // The driver, under the name "sqlite".
)

// lockEnv makes this binary a process that locks the database it names until its
// standard input ends. lockReadersEnv makes it keep readers out as well, lockPulseEnv
// makes it lock again and again, for that long.
const (
	lockEnv        = "SNIP_TEST_LOCK"
	lockReadersEnv = "SNIP_TEST_LOCK_READERS"
	lockPulseEnv   = "SNIP_TEST_LOCK_PULSE"
)

// lockFor is how long a database is locked.
const lockFor = 10 * time.Second

// slowest is what a redirect may take at most while something else is away.
const slowest = 500 * time.Millisecond

// lockDatabase lets another process lock a database, and returns what ends that.
func lockDatabase(t *testing.T, path string, readersToo bool) (unlock func()) {
	t.Helper()
	if readersToo {
		return lockBy(t, path, lockReadersEnv+"=true")
	}
	return lockBy(t, path)
}

// lockInPulses lets another process lock a database for writers again and again, each
// time for that long, until fast is called.
func lockInPulses(t *testing.T, path string, pulse time.Duration) (fast func()) {
	t.Helper()
	return lockBy(t, path, lockPulseEnv+"="+pulse.String())
}

func lockBy(t *testing.T, path string, env ...string) (unlock func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), lockEnv+"="+path), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	unlock = func() {
		t.Helper()
		if ended {
			return
		}
		ended = true
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("unlock %s: %v", path, err)
		}
	}
	t.Cleanup(unlock)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("lock %s: %q, %v", path, line, err)
	}
	return unlock
}

// lockInChild is the other process. Its result is the exit code.
func lockInChild() int {
	path := os.Getenv(lockEnv)
	var err error
	if pulse := os.Getenv(lockPulseEnv); pulse != "" {
		err = lockInPulsesUntilEOF(path, pulse)
	} else {
		err = lockUntilEOF(path, os.Getenv(lockReadersEnv) != "")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lock", path+":", err)
		return 1
	}
	return 0
}

func lockUntilEOF(path string, readersToo bool) error {
	ctx := context.Background()
	conn, err := connectToFile(ctx, path)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	if readersToo {
		shm, err := lockReaders(path + "-shm")
		if err != nil {
			return err
		}
		defer shm.Close()
	}
	fmt.Println("locked")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return errors.Join(err, conn.Close())
}

func lockInPulsesUntilEOF(path, pulse string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	length, err := time.ParseDuration(pulse)
	if err != nil {
		return err
	}
	conn, err := connectToFile(ctx, path)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // However it ends, it has ended.
		cancel()
	}()
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "BEGIN EXCLUSIVE"); err != nil {
			return err
		}
		if i == 0 {
			fmt.Println("locked")
		}
		await(ctx, length)
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
			return err
		}
		await(ctx, length/2) // Whoever waits looks every 100 ms.
	}
	return conn.Close()
}

func await(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// connectToFile opens the one connection that a process has to a database.
func connectToFile(ctx context.Context, path string) (*sql.Conn, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return nil, err
	}
	return db.Conn(ctx)
}

// lockReaders takes the locks that readers of a write-ahead log share, as a process
// does that recovers it. They are five bytes of the index, from offset 123 on.
func lockReaders(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 123, Len: 5}
	return f, syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &lock)
}

func TestDatabaseLockedRedirectsGoOn(t *testing.T) {
	slow(t)
	for _, test := range []struct {
		name       string
		readersToo bool
	}{{"for writers", false}, {"for readers too", true}} {
		t.Run(test.name, func(t *testing.T) {
			dir, rnd, vs := t.TempDir(), random(t), &visits{}
			p := start(t, "", dir)
			codes := makeLinks(t, p, 20)
			crowd := gather(t, vs, rnd, codes, p)
			for _, code := range codes { // Known is what was seen.
				mustRedirect(t, vs, p, code)
			}
			unlock := lockDatabase(t, filepath.Join(dir, "snip.db"), test.readersToo)
			shortened := make(chan error, 1)
			go func() { shortened <- shortenWhileLocked(p) }()
			pass(t, lockFor)
			unlock()
			if err := <-shortened; err != nil {
				t.Error(err)
			}
			crowd.leaveAfter(100)
			vs.mustAllBeAnswered(t, slowest)
			caughtUp(t, p)
			p.stop()
			mustBalance(t, dir, vs, 0)
		})
	}
}

// What the cache holds is good for a minute. With the database away it is answered
// after that, too.
func TestDatabaseLockedOldLinksRedirect(t *testing.T) {
	slow(t)
	t.Parallel() // It mostly waits.
	dir, vs := t.TempDir(), &visits{}
	p := start(t, "", dir)
	codes := makeLinks(t, p, 3)
	for _, code := range codes {
		mustRedirect(t, vs, p, code)
	}
	pass(t, 61*time.Second)
	unlock := lockDatabase(t, filepath.Join(dir, "snip.db"), true)
	for range 3 {
		for _, code := range codes {
			mustRedirect(t, vs, p, code)
		}
	}
	resp, err := (&visitor{}).get(p.public, "/unseen")
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a code that was never seen answered %s, Retry-After %q; want 503 and a time", resp.Status, resp.Header.Get("Retry-After"))
	}
	unlock()
	vs.mustAllBeAnswered(t, slowest)
	caughtUp(t, p)
	p.stop()
	mustBalance(t, dir, vs, 0)
}

// shortenWhileLocked returns an error unless the link is made or put off with 503.
func shortenWhileLocked(p *process) error {
	resp, err := http.Post("http://"+p.public+"/shorten", "application/json", strings.NewReader(`{"url":"https://example.com/locked"}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusCreated:
		return nil
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return nil
	}
	return fmt.Errorf("POST /shorten answered %s, Retry-After %q while the database was locked; want 201, or 503 with a time",
		resp.Status, resp.Header.Get("Retry-After"))
}
