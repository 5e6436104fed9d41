package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// taskBook tells whether every task was done, and once.
type taskBook struct {
	runs []atomic.Int32 // By number.
	done atomic.Int64
	want int64
	all  chan struct{} // Closed when as many are done as are wanted.
}

func newTaskBook(n int) *taskBook {
	return &taskBook{runs: make([]atomic.Int32, n), want: int64(n), all: make(chan struct{})}
}

func (b *taskBook) events() taskEvents {
	return taskEvents{
		started: func(number int) { b.runs[number].Add(1) },
		done: func() {
			if b.done.Add(1) == b.want {
				close(b.all)
			}
		},
	}
}

// check is for the first n tasks, after the worker has stopped.
func (b *taskBook) check(ctx context.Context, q taskQueue, n int) error {
	for number := range b.runs {
		want := int32(0)
		if number < n {
			want = 1
		}
		if got := b.runs[number].Load(); got != want {
			return fmt.Errorf("task %d of %d was run %d times", number, n, got)
		}
	}
	if done := b.done.Load(); done != int64(n) {
		return fmt.Errorf("%d tasks were done of %d", done, n)
	}
	left, err := q.left(ctx)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d tasks are left that were done", left)
	}
	return err
}

// workOff returns how many of the n tasks that are there a worker does in a second.
func workOff(ctx context.Context, q taskQueue, n int) (float64, error) {
	book := newTaskBook(n)
	working, stop := context.WithTimeout(ctx, passLimit)
	defer stop()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- q.work(working, book.events()) }()
	select {
	case <-book.all:
	case <-working.Done():
	case err := <-ended:
		return 0, errors.Join(errors.New("the worker has stopped by itself"), err)
	}
	took := time.Since(began)
	stop()
	if err := errors.Join(<-ended, ctx.Err()); err != nil {
		return 0, err
	}
	return float64(n) / took.Seconds(), book.check(ctx, q, n)
}
