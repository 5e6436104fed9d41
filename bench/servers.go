package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// servers are those that are measured, or that Snip is measured on: private ones,
// started when they are asked for first, unless somebody named others.
type servers struct {
	dir      string // Where private ones keep everything.
	postgres string // URL.
	redis    string // URL.
	started  []*process
}

func (s *servers) stop() {
	for _, p := range s.started {
		p.stop()
	}
}

// startPostgres starts PostgreSQL as it comes, with every commit synced, but for what
// keeps checkpoints out of the measurements. It returns a URL of it.
func (s *servers) startPostgres(ctx context.Context) (string, error) {
	if s.postgres != "" {
		return s.postgres, nil
	}
	dir, err := s.privateDir("postgres")
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	initdb, err := asNobody("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return "", err
	}
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	cmd, err := asNobody("postgres", "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+dir,
		"-c", "max_connections=200", "-c", "shared_buffers=1GB", "-c", "max_wal_size=8GB")
	if err != nil {
		return "", err
	}
	cmd.Dir = dir
	url := "postgres://postgres@/postgres?host=" + dir
	p, err := start(cmd, func() error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		return "", err
	}
	s.started, s.postgres = append(s.started, p), url
	return url, nil
}

// startRedis starts Redis with a file that every push is appended to, synced every
// second: what is closest to Snip's spool. It returns its URL.
func (s *servers) startRedis() (string, error) {
	if s.redis != "" {
		return s.redis, nil
	}
	dir, err := s.privateDir("redis")
	if err != nil {
		return "", err
	}
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	host, port, _ := strings.Cut(addr, ":")
	cmd, err := asNobody("redis-server", "--bind", host, "--port", port, "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return "", err
	}
	p, err := start(cmd, listens(addr))
	if err != nil {
		return "", err
	}
	s.started, s.redis = append(s.started, p), "redis://"+addr
	return s.redis, nil
}

// startNginx starts nginx with a constant redirect, one process for each processor, and
// returns its address.
func (s *servers) startNginx() (string, error) {
	dir, err := s.privateDir("nginx")
	if err != nil {
		return "", err
	}
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`
daemon off;
worker_processes auto;
pid %[1]s/pid;
error_log stderr;
events { worker_connections 1024; }
http {
	access_log off;
	keepalive_requests 1000000000;
	client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
	server {
		listen %[2]s;
		return 307 %[3]s;
	}
}`, dir, addr, target)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return "", err
	}
	cmd, err := asNobody("nginx", "-e", "stderr", "-c", config)
	if err != nil {
		return "", err
	}
	p, err := start(cmd, listens(addr))
	if err != nil {
		return "", err
	}
	s.started = append(s.started, p)
	return addr, nil
}

// privateDir makes a directory of whom servers run as. Its path is short enough for a
// socket.
func (s *servers) privateDir(name string) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := errors.Join(os.Chmod(s.dir, 0o755), os.Mkdir(dir, 0o700)); err != nil {
		return "", err
	}
	if c := nobody(); c != nil {
		return dir, os.Chown(dir, int(c.Uid), int(c.Gid))
	}
	return dir, nil
}

// nobody is whom servers run as, since PostgreSQL refuses root. Nil: as this program.
func nobody() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	const id = 65534
	return &syscall.Credential{Uid: id, Gid: id}
}

// asNobody is a server's command, in a process group of its own: an interrupt of this
// program must not stop the server first.
func asNobody(name string, args ...string) (*exec.Cmd, error) {
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(), Setpgid: true}
	return cmd, nil
}
