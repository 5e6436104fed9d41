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
