package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RedriveAll puts back all the dead letters that are there now, the longest dead first,
// at most so many a second, and returns how many. Those that die meanwhile are left. It
// waits where the queue is full. After an error it can be called again.
func RedriveAll(ctx context.Context, e TaskEngine, queue string, perSecond int) (int, error) {
	letters, ok := e.(DeadLetters)
	if !ok {
		return 0, fmt.Errorf("redrive queue %q: engine %s keeps no dead letters to be seen: %w", queue, e.Caps().Engine, ErrUnsupported)
	}
	if perSecond < 1 {
		return 0, fmt.Errorf("redrive queue %q: perSecond is %d, must be at least 1", queue, perSecond)
	}
	stats, err := e.QueueStats(ctx, queue)
	if err != nil {
		return 0, fmt.Errorf("redrive queue %q: %w", queue, err)
	}
	step := min(max(perSecond/10, 1), 1000)
	interval := time.Duration(step) * time.Second / time.Duration(perSecond)
	var after int64
	redriven := 0
	for left := stats.Dead; left > 0; {
		page, err := letters.ListDead(ctx, queue, after, min(step, int(left)))
		if err != nil {
			return redriven, fmt.Errorf("redrive queue %q: %w", queue, err)
		}
		if len(page) == 0 {
			break
		}
		numbers := make([]int64, len(page))
		for i, l := range page {
			numbers[i] = l.Number
		}
		n, err := letters.Redrive(ctx, queue, numbers, len(numbers))
		if err != nil && !errors.Is(err, ErrFull) {
			return redriven, fmt.Errorf("redrive queue %q: %w", queue, err)
		}
		if err == nil {
			after = numbers[len(numbers)-1]
			left -= int64(len(numbers))
			redriven += n
		}
		if err := pause(ctx, interval); err != nil {
			return redriven, fmt.Errorf("redrive queue %q: %w", queue, err)
		}
	}
	return redriven, nil
}
