package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
)

// TestRedriveAll: all that were dead before come back, at the rate, and no more.
func TestRedriveAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		const n = 50
		for range n {
			d.push("a")
		}
		// What dies again must not be put back for ever.
		d.run(d.worker(queue.WorkerConfig{Concurrency: 100}, queue.HandlerConfig{Attempts: 1}, func(context.Context, string) error { return errors.New("no") }))
		eventually(t, time.Minute, "all are dead", func() bool { return d.stats().Dead == n })
		began := time.Now()
		got, err := queue.RedriveAll(t.Context(), d.engine, "mail", 10)
		if err != nil || got != n {
			t.Errorf("RedriveAll() = %d, %v, want %d", got, err, n)
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it took %s", took)
		}
		eventually(t, time.Minute, "all are dead again", func() bool { return len(d.outcomes()) == 2*n })
		if _, err := queue.RedriveAll(t.Context(), d.engine, "mail", 0); err == nil || !strings.Contains(err.Error(), "perSecond") {
			t.Errorf("RedriveAll() at no rate = %v", err)
		}
		if _, err := queue.RedriveAll(t.Context(), d.engine, "parcels", 1); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("RedriveAll() of no queue = %v", err)
		}
	})
}
