package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
)

// TestHandlerContext: it has the deadline of the run, knows the task wherever it is
// passed on to, and tells the limit of the run from the worker's end.
func TestHandlerContext(t *testing.T) {
	type seen struct {
		left       time.Duration
		id         string
		err, cause error
		childEnded bool
	}
	for name, test := range map[string]struct {
		stopAfter time.Duration
		err       error
		cause     error
	}{
		"limit": {time.Hour, context.DeadlineExceeded, queue.ErrRunLimit},
		"stop":  {time.Second, context.Canceled, queue.ErrStopping},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.push("a")
				handled := make(chan seen, 1)
				w := d.worker(queue.WorkerConfig{Drain: -1}, queue.HandlerConfig{Limit: 3 * time.Second, Attempts: 1}, func(ctx context.Context, _ string) error {
					deadline, _ := ctx.Deadline()
					child, cancel := context.WithTimeout(context.WithValue(ctx, t, t), time.Hour)
					defer cancel()
					s := seen{left: time.Until(deadline), id: queue.TaskFrom(child).ID}
					<-child.Done()
					s.err, s.cause, s.childEnded = ctx.Err(), context.Cause(child), child.Err() != nil
					handled <- s
					return ctx.Err()
				})
				ctx, stop := context.WithTimeout(t.Context(), test.stopAfter)
				defer stop()
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }()
				got := <-handled
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got.left != 3*time.Second || got.id == "" || !got.childEnded {
					t.Errorf("the handler saw %+v", got)
				}
				if got.err != test.err || got.cause != test.cause {
					t.Errorf("its context ended with %v for %v, want %v for %v", got.err, got.cause, test.err, test.cause)
				}
			})
		})
	}
}

// TestGoroutinesServeAgain: what has run a task runs the next, after a handler that did
// not return, too, and all are gone with the worker.
func TestGoroutinesServeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		const rounds = 20
		var handled letters
		release := make(chan struct{})
		w := d.worker(queue.WorkerConfig{Concurrency: 3}, queue.HandlerConfig{Limit: time.Second, Attempts: 1}, func(_ context.Context, letter string) error {
			handled.add(letter)
			if letter == "stuck" {
				<-release
			}
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		d.push("stuck")
		for range rounds {
			d.push("a", "b", "c", "d")
			synctest.Wait()
		}
		eventually(t, time.Minute, "all are handled", func() bool { return len(handled.all()) == 1+4*rounds })
		close(release)
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err) // The bubble ends with its goroutines, or the test fails.
		}
	})
}
