package queue_test

import (
	"context"
	"errors"
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
				if !errors.Is(got.err, test.err) || !errors.Is(got.cause, test.cause) {
					t.Errorf("its context ended with %v for %v, want %v for %v", got.err, got.cause, test.err, test.cause)
				}
			})
		})
	}
}

// TestTaskWaitsForNoOther: goroutines run more than one task where they can, but none
// keeps a task that others have a slot for.
func TestTaskWaitsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		const slots, rounds = 4, 20
		var handled letters
		release := make(chan struct{})
		w := d.worker(queue.WorkerConfig{Concurrency: slots}, queue.HandlerConfig{}, func(_ context.Context, letter string) error {
			handled.add(letter)
			if letter == "slow" {
				<-release
			}
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		want := 0
		for slow := range slots {
			for range rounds {
				d.push("a", "b", "c", "d")
				want += 4
			}
			d.push("slow")
			want++
			synctest.Wait()
			eventually(t, 10*time.Second, "all are handled", func() bool { return len(handled.all()) == want })
			if stats := d.stats(); stats.Leased != int64(slow+1) {
				t.Errorf("%d tasks are leased, want %d", stats.Leased, slow+1)
			}
		}
		close(release)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
