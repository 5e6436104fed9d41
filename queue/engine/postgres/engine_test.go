package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/postgres"
	"snip/queue/queuetest"
)

func TestMain(m *testing.M) {
	queuetest.LogAppender(openStore)
	queuetest.TaskProcess(openTaskStore)
	goleak.VerifyTestMain(m)
}

// TestConformance runs the suite over each way in which a server is reached.
func TestConformance(t *testing.T) {
	t.Run("direct", func(t *testing.T) { queuetest.Run(t, newStores(postgrestest.Start(t))) })
	t.Run("simple protocol", func(t *testing.T) {
		queuetest.Run(t, newStores(postgrestest.Start(t)+"&default_query_exec_mode=simple_protocol"))
	})
	t.Run("pgbouncer", func(t *testing.T) {
		queuetest.Run(t, newStores(postgrestest.Pool(t, postgrestest.Start(t))))
	})
}

func TestModel(t *testing.T) {
	newStore := newStores(postgrestest.Start(t))
	rapid.Check(t, func(r *rapid.T) {
		choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(r, what) }
		m := queuetest.NewLogModel(r, newStore(t), memory.New(), choose)
		r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { m.Step() }})
	})
}

func TestProcesses(t *testing.T) {
	queuetest.LogProcesses(t, postgrestest.Start(t), openStore)
}

func TestTaskProcesses(t *testing.T) {
	queuetest.TaskProcesses(t, postgrestest.Start(t), openTaskStore)
}

func openTaskStore(ctx context.Context, url string) (queue.TaskEngine, error) {
	return postgres.Open(ctx, postgres.Config{URL: url})
}

func openStore(ctx context.Context, url string) (queue.LogEngine, error) {
	return postgres.Open(ctx, postgres.Config{URL: url})
}

// newStores gives each test a schema in place of a database, which is made faster.
func newStores(url string) func(t *testing.T) queuetest.Open {
	n := 0
	return func(t *testing.T) queuetest.Open {
		n++
		schema := fmt.Sprint("queue_", n)
		return func() (queue.LogEngine, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: url, Schema: schema})
		}
	}
}
