package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pool starts PgBouncer in transaction mode in front of a database and returns the
// URL at which it stands in for the server. It has few sessions with the server, so
// that clients get another one's all the time. It is stopped at the test's end.
func Pool(t testing.TB, url string) string {
	t.Helper()
	require(t, "pgbouncer")
	dir, err := newDirectory("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	server, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	// Where both have a socket in a directory, its name tells them apart by the port.
	text := fmt.Sprintf(`
[databases]
%[1]s = host=%[2]s port=%[3]d dbname=%[1]s user=%[4]s
[pgbouncer]
listen_addr =
unix_socket_dir = %[5]s
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
logfile = %[5]s/log
`, server.Database, server.Host, server.Port, server.User, dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := command("pgbouncer", "-q", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Errorf("stop PgBouncer: %v", err)
		}
		_ = cmd.Wait() // By its signal.
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove PgBouncer's directory: %v", err)
		}
	})
	pooled := fmt.Sprintf("postgres://%s@/%s?host=%s&port=6432", server.User, server.Database, dir)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := ping(t.Context(), pooled)
		if err == nil {
			return pooled
		}
		if time.Now().After(deadline) {
			said, readErr := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatal(errors.Join(fmt.Errorf("PgBouncer does not answer: %w\n%s", err, said), readErr))
		}
	}
}

func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}
