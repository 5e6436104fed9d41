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
// standard input ends. lockReadersEnv makes it keep readers out as well.
const (
	lockEnv        = "SNIP_TEST_LOCK"
	lockReadersEnv = "SNIP_TEST_LOCK_READERS"
)

// lockFor is how long a database is locked.
const lockFor = 10 * time.Second

// slowest is what a redirect may take at most while something else is away.
const slowest = 500 * time.Millisecond

// lockDatabase lets another process lock a database, and returns what ends that.
func lockDatabase(t *testing.T, path string, readersToo bool) (unlock func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockEnv+"="+path)
	if readersToo {
		cmd.Env = append(cmd.Env, lockReadersEnv+"=true")
	}
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
	if err := lockUntilEOF(path, os.Getenv(lockReadersEnv) != ""); err != nil {
		fmt.Fprintln(os.Stderr, "lock", path+":", err)
		return 1
	}
	return 0
}

func lockUntilEOF(path string, readersToo bool) error {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
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

// The log is the broker: clicks wait in the spool until it is back.
func TestLogLockedRedirectsGoOn(t *testing.T) {
	slow(t)
	dir, rnd, vs := t.TempDir(), random(t), &visits{}
	web := start(t, "web", dir)
	worker := start(t, "worker", dir)
	codes := makeLinks(t, web, 5)
	for _, code := range codes {
		mustRedirect(t, vs, web, code)
	}
	unlock := lockDatabase(t, filepath.Join(dir, "log.db"), false)
	crowd := gather(t, vs, rnd, codes, web)
	crowd.awaitAnswers(1000)
	pass(t, lockFor)
	crowd.stop()
	unlock()
	vs.mustAllBeAnswered(t, slowest)
	caughtUp(t, web)
	web.stop()
	worker.stop()
	mustBalance(t, dir, vs, 0)
}
