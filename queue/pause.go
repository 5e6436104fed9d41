package queue

import (
	"context"
	"math/rand/v2"
	"time"
)

// pause waits, or returns ctx's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// jitter returns between half of d and d, so that many who wait do not meet.
func jitter(d time.Duration) time.Duration {
	if d < 2 {
		return d
	}
	return d/2 + rand.N(d/2)
}

// backoff gives growing pauses from min to max, with jitter. The zero count is
// the first failure.
func backoff(failures int, min, max time.Duration) time.Duration {
	d := max
	if failures < 30 && min<<failures < max {
		d = min << failures
	}
	return jitter(d)
}

// defaultPoll is how often to look without a wake-up.
func defaultPoll(e LogEngine) time.Duration {
	if _, ok := e.(Waiter); ok {
		return 5 * time.Second
	}
	return time.Second
}

// awaitMore returns when a topic may have grown since the call that returned seen, at
// the latest after the poll interval, or when ctx ends.
func awaitMore(ctx context.Context, e LogEngine, topic string, seen uint64, poll time.Duration) uint64 {
	ctx, cancel := context.WithTimeout(ctx, jitter(poll))
	defer cancel()
	w, ok := e.(Waiter)
	if !ok {
		<-ctx.Done()
		return seen
	}
	now, err := w.Wait(ctx, topic, seen)
	if err != nil {
		<-ctx.Done() // Waiting is a hint: without it, polling remains.
		return seen
	}
	return now
}
