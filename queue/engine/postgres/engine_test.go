package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
	"snip/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance runs the suite over each way in which a server is reached.
func TestConformance(t *testing.T) {
	t.Run("direct", func(t *testing.T) { conform(t, postgrestest.Start) })
	t.Run("simple protocol", func(t *testing.T) {
		conform(t, func(t testing.TB) string {
			return postgrestest.Start(t) + "&default_query_exec_mode=simple_protocol"
		})
	})
	t.Run("pgbouncer", func(t *testing.T) {
		conform(t, func(t testing.TB) string { return postgrestest.Pool(t, postgrestest.Start(t)) })
	})
}

func conform(t *testing.T, start func(testing.TB) string) {
	queuetest.Run(t, func(t *testing.T) queuetest.Open {
		url := start(t)
		return func() (queue.LogEngine, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: url})
		}
	})
}
