package postgres_test

import (
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"pgregory.net/rapid"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/postgres"
	"snip/queue/queuetest"
)

// TestTasks runs the suite of task queues over each way in which a server is reached.
func TestTasks(t *testing.T) {
	t.Run("direct", func(t *testing.T) { queuetest.RunTasks(t, newTaskStores(postgrestest.Start(t))) })
	t.Run("simple protocol", func(t *testing.T) {
		notShort(t)
		queuetest.RunTasks(t, newTaskStores(postgrestest.Start(t)+"&default_query_exec_mode=simple_protocol"))
	})
	t.Run("pgbouncer", func(t *testing.T) {
		notShort(t)
		queuetest.RunTasks(t, newTaskStores(postgrestest.Pool(t, postgrestest.Start(t))))
	})
}

// notShort marks what go test -short leaves out.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: left out with -short")
	}
}

func TestTaskModel(t *testing.T) {
	newStore := newTaskStores(postgrestest.Start(t))
	rapid.Check(t, func(r *rapid.T) {
		choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(r, what) }
		m := queuetest.NewTaskModel(r, newStore(t), memory.New(), choose)
		r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { m.Step() }})
	})
}

// newTaskStores gives each test a schema, as newStores does.
func newTaskStores(url string) func(t *testing.T) queuetest.TaskStore {
	n := 0
	return func(t *testing.T) queuetest.TaskStore {
		n++
		schema := fmt.Sprint("queue_", n)
		return queuetest.TaskStore{
			Open: func() (queue.TaskEngine, error) {
				return postgres.Open(t.Context(), postgres.Config{URL: url, Schema: schema})
			},
			// Through a pooler a driver must not prepare statements.
			OpenDB: func() (*sql.DB, error) { return sql.Open("pgx", url+"&default_query_exec_mode=exec") },
		}
	}
}
