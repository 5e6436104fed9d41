package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine"
)

// TestOpen runs the same program on every engine there is.
func TestOpen(t *testing.T) {
	for name, url := range map[string]func(t *testing.T) string{
		"memory":   func(*testing.T) string { return "memory:" },
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "a b.db") },
		"postgres": func(t *testing.T) string { return postgrestest.Start(t) },
	} {
		t.Run(name, func(t *testing.T) {
			e, err := engine.Open(t.Context(), url(t))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if got := e.Caps().Engine; got != name {
				t.Errorf("the engine is %q, want %q", got, name)
			}
			mail := queue.QueueConfig{Name: "mail"}
			letters, err := queue.NewProducer[string](queue.ProducerConfig{Engine: e, Queue: mail, Type: "letter"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := letters.Push(t.Context(), "dear"); err != nil {
				t.Fatal(err)
			}
			w, err := queue.NewWorker(queue.WorkerConfig{Engine: e, Queues: []queue.QueueConfig{mail}})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			err = queue.Handle(w, "mail", "letter", func(_ context.Context, letter string) error {
				got = letter
				return nil
			}, queue.HandlerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.RunUntilEmpty(t.Context()); err != nil || got != "dear" {
				t.Errorf("handled %q, %v", got, err)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, url := range []string{"", "memory", "memory:x", "sqlite:", "redis://localhost", "mail.db", "postgres://user:secret@[::1"} {
		e, err := engine.Open(t.Context(), url)
		if err == nil || e != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v, %v, want an error without a password", url, e, err)
		}
	}
}
