package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/sqlite"
	"snip/queue/queuetest"
)

func TestMain(m *testing.M) {
	queuetest.LogAppender(openStore)
	queuetest.TaskProcess(openTaskStore)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) { queuetest.Run(t, newStore) }

func TestTasks(t *testing.T) { queuetest.RunTasks(t, newTaskStore) }

func TestModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(r, what) }
		m := queuetest.NewLogModel(r, newStore(t), memory.New(), choose)
		r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { m.Step() }})
	})
}

func TestTaskModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(r, what) }
		m := queuetest.NewTaskModel(r, newTaskStore(t), memory.New(), choose)
		r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { m.Step() }})
	})
}

func TestProcesses(t *testing.T) {
	queuetest.LogProcesses(t, filepath.Join(t.TempDir(), "log.db"), openStore)
}

func TestTaskProcesses(t *testing.T) {
	queuetest.TaskProcesses(t, filepath.Join(t.TempDir(), "app.db"), openTaskStore)
}

func openTaskStore(ctx context.Context, path string) (queue.TaskEngine, error) {
	return sqlite.Open(ctx, sqlite.Config{Path: path})
}

func openStore(ctx context.Context, path string) (queue.LogEngine, error) {
	return sqlite.Open(ctx, sqlite.Config{Path: path})
}

func newStore(t *testing.T) queuetest.Open {
	path := filepath.Join(t.TempDir(), "log.db")
	return func() (queue.LogEngine, error) { return openStore(t.Context(), path) }
}

func newTaskStore(t *testing.T) queuetest.TaskStore {
	path := filepath.Join(t.TempDir(), "app.db")
	return queuetest.TaskStore{
		Open: func() (queue.TaskEngine, error) { return sqlite.Open(t.Context(), sqlite.Config{Path: path}) },
		// As a caller opens a database of its own.
		OpenDB: func() (*sql.DB, error) { return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)") },
	}
}
