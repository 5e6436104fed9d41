package test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/internal/postgrestest"
)

// server is PostgreSQL, to which each process is connected by a cable of its own, as from
// a machine of its own.
type server struct {
	*cell
	server *postgrestest.Server
	url    string
	disk   string   // The server's; small, if the fault needs it.
	spools []string // Small disks of webs, likewise.
}

// setUpServer starts the server that the cells share, but for those that break it.
func setUpServer(t *testing.T) func(*cell) engine {
	shared := postgrestest.New(t)
	return func(c *cell) engine {
		s := &server{cell: c, server: shared}
		if c.fault.disk {
			s.disk = smallDisk(c.t, 160)
			s.server = postgrestest.NewIn(c.t, s.disk)
		}
		s.url = s.server.Database(c.t)
		s.holdTransaction()
		return s
	}
}

// holdTransaction: in every cell somebody else has a transaction open all the time, or
// until the server ends.
func (s *server) holdTransaction() {
	s.t.Helper()
	held := s.connect()
	s.t.Cleanup(func() { _ = held.Close(context.WithoutCancel(s.t.Context())) }) // It may have been ended.
	if _, err := held.Exec(s.t.Context(), "BEGIN; SELECT pg_current_xact_id()"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) connect() *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

func (s *server) version() string {
	conn := s.connect()
	var version string
	err := conn.QueryRow(s.t.Context(), "SHOW server_version").Scan(&version)
	if err := errors.Join(err, conn.Close(s.t.Context())); err != nil {
		s.t.Fatal(err)
	}
	version, _, _ = strings.Cut(version, " ") // Who built it follows.
	return "PostgreSQL " + version
}

func (s *server) room(mode string) room {
	s.t.Helper()
	at, err := pgx.ParseConfig(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	cord := lay(s.t, "unix", socket(at))
	address := url.URL{Scheme: "postgres", User: url.User(at.User), Host: cord.address, Path: "/" + at.Database, RawQuery: "sslmode=disable"}
	r := room{dir: s.t.TempDir(), cord: cord, env: []string{"DATABASE_URL=" + address.String()}}
	if mode == "web" && s.fault.disk {
		r.dir = smallDisk(s.t, 16)
		s.spools = append(s.spools, r.dir)
	}
	return r
}

func socket(at *pgx.ConnConfig) string { return at.Host + "/.s.PGSQL.5432" }

func (s *server) beAway() {
	s.server.Stop(s.t)
	start := sync.OnceFunc(func() { s.server.Start(s.t) })
	s.t.Cleanup(start) // The next cell needs it, if this one should end here.
	pass(s.t, s.scale.lasts(30*time.Second))
	start()
}

// restart stops the server well, and kills it.
func (s *server) restart() {
	for i := range max(2, s.scale.kills) {
		s.crowd.awaitAnswers(50)
		pass(s.t, anyMoment(s.rnd))
		if i%2 == 0 {
			s.server.Stop(s.t)
		} else {
			s.server.Kill(s.t)
		}
		s.server.Start(s.t)
	}
}

// beSlow delays each answer of the server.
func (s *server) beSlow() {
	set := func(delay time.Duration) {
		for _, p := range s.everybody() {
			s.rooms[p].cord.slow(delay)
		}
	}
	set(500 * time.Millisecond)
	pass(s.t, s.scale.lasts(20*time.Second))
	set(0)
}

// cutOff cuts a worker's cable when it commits, and neither end is told. The server has
// what is to be committed, locked for the worker, and waits for its word.
func (s *server) cutOff() {
	const refusal = "terminating connection due to idle-in-transaction timeout"
	before := strings.Count(s.server.Log(s.t), refusal)
	worker := s.busyWorker()
	cord := s.rooms[worker].cord
	cord.cutAt("commit\x00")
	eventually(s.t, worker.String()+" commits", cord.hasBeenCut)
	s.othersTakeOver()
	cord.mend()
	if strings.Count(s.server.Log(s.t), refusal) == before {
		s.t.Error("the late commit was not refused: nothing was tested")
	}
}

func (s *server) endConnections() {
	for end := time.Now().Add(s.scale.lasts(10 * time.Second)); time.Now().Before(end); {
		conn := s.connect()
		_, err := conn.Exec(s.t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
		if err := errors.Join(err, conn.Close(s.t.Context())); err != nil {
			s.t.Fatal(err)
		}
		pass(s.t, time.Duration(s.rnd.Int64N(int64(time.Second))))
	}
}

// fillDisk takes the server's space first, and then also that of a web, whose spool has to
// drop clicks then.
func (s *server) fillDisk() {
	free := fill(s.t, s.disk)
	eventually(s.t, "the server lacks space", func() bool {
		return strings.Contains(s.server.Log(s.t), "No space left on device")
	})
	pass(s.t, s.scale.lasts(10*time.Second))
	s.fillSpool(s.spools[s.rnd.IntN(len(s.spools))])
	free()
	// It may have given up, and if not it has to be well after that, too.
	s.server.Kill(s.t)
	s.server.Start(s.t)
}

func (s *server) books() books { return readServerBooks(s.t, s.url) }
