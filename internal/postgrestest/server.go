// Package postgrestest starts PostgreSQL for tests: privately, on a socket in a
// directory of its own, without a password.
//
// [Start] gives a test an empty database on a server that all tests of the binary
// share. [New] gives it a server of its own, to be stopped and killed. [Pool] puts
// PgBouncer in front of a database. What is not installed skips the test, and fails
// it where CI is true; scripts/setup-test installs it.
package postgrestest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience is how long a server may take to start or to stop.
const patience = 30 * time.Second

// shared is the server of this test binary, started when it is asked for first. It is
// the one thing here that is global: tests have nothing in common but their process.
var shared = sync.OnceValues(func() (*Server, error) {
	dir, err := newDirectory("/tmp")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, settings: []string{
		// Its tests ask what the engine does, not what the disk does: those that do have a
		// server of their own.
		"fsync=off", "full_page_writes=off",
		"max_connections=200", "shared_buffers=64MB", "autovacuum_naptime=1s", "autovacuum_vacuum_cost_delay=0",
	}}
	if err := s.create(); err != nil {
		return nil, err
	}
	// Nothing tells a package of the last test's end, so a shell waits for the
	// process's: then the pipe breaks that it reads from.
	return s, s.endWithProcess()
})

// Start returns the URL of a new database, on a server that does not sync and that
// stops when the test binary ends.
func Start(t testing.TB) string {
	t.Helper()
	require(t, "postgres", "initdb")
	s, err := shared()
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return s.Database(t)
}

// Server is a PostgreSQL server.
type Server struct {
	dir      string
	log      string   // The path of what it says. Default: in dir.
	initdb   []string // Options beside the usual ones.
	settings []string
	cmd      *exec.Cmd // Nil while it is stopped.
}

// New starts a server as it would be used, with what must survive a crash synced to
// disk. It is stopped at the test's end.
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	require(t, "postgres", "initdb")
	dir, err := newDirectory("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	return open(t, &Server{dir: dir, settings: settings})
}

// NewIn is New with all that the server has in a directory of the caller's, which
// other users can get to and whose path is short, but for what [Server.Log] returns. It
// needs little space: it writes its log ahead in files of 1 MB.
func NewIn(t testing.TB, parent string, settings ...string) *Server {
	t.Helper()
	require(t, "postgres", "initdb")
	dir, err := newDirectory(parent)
	if err != nil {
		t.Fatal(err)
	}
	settings = append([]string{"min_wal_size=2MB", "max_wal_size=16MB"}, settings...)
	return open(t, &Server{dir: dir, log: filepath.Join(t.TempDir(), "log"), initdb: []string{"--wal-segsize=1"}, settings: settings})
}

func open(t testing.TB, s *Server) *Server {
	t.Helper()
	s.settings = append([]string{"max_connections=200", "shared_buffers=64MB"}, s.settings...)
	t.Cleanup(func() {
		s.Kill(t)
		if err := os.RemoveAll(s.dir); err != nil {
			t.Errorf("remove the server's directory: %v", err)
		}
	})
	if err := s.create(); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return s
}

func (s *Server) said() string { return cmp.Or(s.log, filepath.Join(s.dir, "log")) }

// Log returns what the server has written to its log.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.said())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Database makes a database and returns its URL. It goes with the server.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := s.admin(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	return s.url(name)
}

func (s *Server) url(database string) string {
	return "postgres://postgres@/" + database + "?host=" + s.dir
}

func (s *Server) admin(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Stop ends the server as an operator does who does not wait for clients: SIGINT.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.stop(t, syscall.SIGINT)
}

// Kill ends the server with SIGKILL, and waits until its other processes noticed. It
// does nothing if it is stopped.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.stop(t, syscall.SIGKILL)
}

func (s *Server) stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Errorf("stop PostgreSQL: %v", err)
	}
	// Killed by a signal, or not: what counts is that it is gone.
	_ = s.cmd.Wait()
	s.cmd = nil
	for deadline := time.Now().Add(patience); s.anyProcess(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("processes of a PostgreSQL that was stopped are left")
		}
	}
}

// anyProcess tells whether one is left: they all work in the data directory.
func (s *Server) anyProcess() bool {
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	return err == nil && slices.ContainsFunc(all, func(cwd string) bool {
		at, err := os.Readlink(cwd)
		return err == nil && at == filepath.Join(s.dir, "data") // An error: gone, or not ours.
	})
}

// Start starts the server that was stopped or killed, and returns once it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
}

func (s *Server) create() error {
	args := []string{"-D", filepath.Join(s.dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	cmd := command("initdb", append(args, s.initdb...)...)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.start()
}

func (s *Server) start() error {
	log, err := os.OpenFile(s.said(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", filepath.Join(s.dir, "data"), "-c", "listen_addresses=", "-c", "unix_socket_directories=" + s.dir}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := command("postgres", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.SysProcAttr.Setpgid = true // So that an interrupt of the test does not stop it first.
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := s.admin(context.Background(), "SELECT 1")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			said, readErr := os.ReadFile(s.said())
			return errors.Join(fmt.Errorf("it does not answer: %w\n%s", err, said), readErr)
		}
	}
}

// endWithProcess leaves a shell behind that ends the server after this process,
// however that ends. What it kills is a child of this process, which never waits for
// it, so the number is nobody else's as long as the process lives, and the file says
// so afterwards.
func (s *Server) endWithProcess() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	pid := strconv.Itoa(s.cmd.Process.Pid)
	cmd := exec.Command("sh", "-c", `
		read -r _
		if [ "$(head -n 1 "$2/data/postmaster.pid")" = "$1" ]; then kill -INT "$1"; fi
		while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
		rm -rf "$2"`, "sh", pid, s.dir)
	cmd.Stdin = read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Kept open by this process alone, to its end: not even its garbage is collected.
	_, err = syscall.Dup(int(write.Fd()))
	return errors.Join(err, write.Close())
}

// newDirectory makes one whose path is short enough for a socket, owned by whom the
// servers run as.
func newDirectory(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "snip-postgres")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	if c := credential(); c != nil {
		err = os.Chown(dir, int(c.Uid), int(c.Gid))
	}
	return dir, err
}

// credential is whom servers run as, since PostgreSQL refuses root. Nil: as the test.
func credential() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	const nobody = 65534
	return &syscall.Credential{Uid: nobody, Gid: nobody}
}

func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(name), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential()}
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// program finds one of PostgreSQL's, which Debian keeps out of the PATH. It is empty
// if there is none.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(all) == 0 {
		if path := "/usr/sbin/" + name; exists(path) {
			return path
		}
		return ""
	}
	return all[len(all)-1] // Of the highest version, below 100.
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func require(t testing.TB, programs ...string) {
	t.Helper()
	var missing []string
	for _, name := range programs {
		if program(name) == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	why := strings.Join(missing, ", ") + " not found: scripts/setup-test installs what the tests need"
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
