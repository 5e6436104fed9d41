package postgres_test

import (
	"fmt"
	"testing"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
	"snip/queue/queuetest"
)

// TestConformance runs the suite over each way in which a server is reached.
func TestConformance(t *testing.T) {
	t.Run("direct", func(t *testing.T) { conform(t, postgrestest.Start(t)) })
	t.Run("simple protocol", func(t *testing.T) {
		conform(t, postgrestest.Start(t)+"&default_query_exec_mode=simple_protocol")
	})
	t.Run("pgbouncer", func(t *testing.T) { conform(t, postgrestest.Pool(t, postgrestest.Start(t))) })
}

// conform gives each case a schema in place of a database, which is made faster.
func conform(t *testing.T, url string) {
	n := 0
	queuetest.Run(t, func(t *testing.T) queuetest.Open {
		n++
		schema := fmt.Sprint("queue_", n)
		return func() (queue.LogEngine, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: url, Schema: schema})
		}
	})
}
