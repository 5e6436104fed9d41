package postgres_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

// TestSpaceOfTasksIsUsedAgain pushes and works off tasks in turn, a third of them with an
// ID that is remembered for a while, with nothing to clear up after it but the engine and
// the server's own autovacuum.
func TestSpaceOfTasksIsUsedAgain(t *testing.T) {
	notShort(t)
	tasks, rounds := 30_000, 5
	if os.Getenv("SNIP_TORTURE") != "" {
		tasks, rounds = 1_000_000, 10
	}
	url := postgrestest.New(t, "fsync=off", "autovacuum_naptime=1s").Database(t)
	// One session, which reports all it did at the same time.
	e := open(t, postgres.Config{URL: url + "&pool_max_conns=1"})
	mustDeclareQueue(t, e, queue.QueueConfig{MaxTasks: 2_000_000, Remember: 100 * time.Millisecond})
	watch := dial(t, url)
	var body [100]byte
	var sizes []int64
	for round := range rounds {
		began := time.Now()
		for n := range tasks / 1000 {
			batch := make([]queue.Task, 1000)
			for i := range batch {
				batch[i].Type, batch[i].Body = "send", body[:]
				if i%3 == 0 {
					batch[i].ID = fmt.Sprintf("%d-%d-%d", round, n, i)
				}
			}
			mustPush(t, e, batch...)
		}
		pushed := time.Since(began)
		for done := 0; done < tasks; {
			all := mustPull(t, e, 1000, time.Hour)
			mustSettle(t, e, queue.Done, all...)
			done += len(all)
		}
		t.Logf("%d tasks pushed in %s, done in %s", tasks, pushed, time.Since(began)-pushed)
		cleared(t, e, watch, int64((round+1)*tasks))
		sizes = append(sizes, size(t, watch, "queue.tasks"))
	}
	t.Logf("sizes %d", sizes)
	// The server gives pages at the end back when it can, so sizes go down, too.
	if first, last := max(sizes[0], sizes[1]), sizes[rounds-1]; last > first+first/2 {
		t.Errorf("the table and its indexes had %d bytes in two rounds and have %d after %d", first, last, rounds)
	}
}

// cleared waits until all is forgotten and its space is free.
func cleared(t *testing.T, e *postgres.Engine, watch *pgx.Conn, pushed int64) {
	t.Helper()
	for deadline := time.Now().Add(4 * patience); ; time.Sleep(50 * time.Millisecond) {
		// The session reports with its next transaction, or after ten seconds; what is to be
		// forgotten is looked for after a push or a settle.
		mustSettle(t, e, queue.Done)
		var yes bool
		err := watch.QueryRow(t.Context(), `
			SELECT n_tup_ins >= $1 AND n_tup_ins = n_tup_del AND n_dead_tup < 10000
			FROM pg_stat_all_tables WHERE relid = 'queue.tasks'::regclass`, pushed).Scan(&yes)
		if err != nil {
			t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("what was done is not vacuumed")
		}
	}
}

// TestALeaseStaysInItsPage: a pull and an extension make no entry in an index.
func TestALeaseStaysInItsPage(t *testing.T) {
	url := postgrestest.Start(t)
	e := open(t, postgres.Config{URL: url})
	mustDeclareQueue(t, e, queue.QueueConfig{})
	for range 5 {
		tasks := make([]queue.Task, 100)
		for i := range tasks {
			tasks[i].Type = "send"
		}
		mustPush(t, e, tasks...)
	}
	leased := mustPull(t, e, 500, time.Hour)
	mustSettle(t, e, queue.Extend, leased[:100]...)
	if err := e.Close(); err != nil { // Sessions report what they did when they end.
		t.Fatal(err)
	}
	watch := dial(t, url)
	const of = "FROM pg_stat_all_tables WHERE relid = 'queue.tasks'::regclass"
	until(t, watch, "the updates are reported", "SELECT n_tup_upd >= 600 "+of)
	if n := mustExec(t, watch, "SELECT (n_tup_upd - n_tup_hot_upd)::text "+of); n != "0" {
		t.Errorf("%s of 600 updates changed indexes", n)
	}
}
