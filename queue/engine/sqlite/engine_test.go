package sqlite_test

import (
	"path/filepath"
	"testing"

	"snip/queue"
	"snip/queue/engine/sqlite"
	"snip/queue/queuetest"
)

func TestConformance(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Open {
		path := filepath.Join(t.TempDir(), "log.db")
		return func() (queue.LogEngine, error) {
			return sqlite.Open(t.Context(), sqlite.Config{Path: path})
		}
	})
}
