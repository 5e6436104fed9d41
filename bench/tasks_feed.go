package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// fed is how many tasks may wait while more are pushed.
const fed = 20 * taskBatch

// feeding is a worker that tasks are pushed for all the time.
type feeding struct {
	queue  taskQueue
	book   *taskBook
	pushed atomic.Int64
	stop   context.CancelFunc
	ended  chan error // Of pushing and of working.
}

// feed starts one, for at most so many tasks.
func feed(ctx context.Context, q taskQueue, most int) *feeding {
	ctx, stop := context.WithCancel(ctx)
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	f := &feeding{queue: q, book: newTaskBook(most), stop: stop, ended: make(chan error, 2)}
	worked := make(chan error, 1)
	go func() { worked <- q.work(working, f.book.events()) }()
	go func() {
		err := f.push(ctx, most)
		for deadline := time.Now().Add(passLimit); err == nil && f.book.done.Load() < f.pushed.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				err = errors.New("the worker does not come to an end")
			}
		}
		stopWorking()
		f.ended <- errors.Join(err, <-worked)
	}()
	return f
}

// push pushes until ctx ends or all is pushed.
func (f *feeding) push(ctx context.Context, most int) error {
	for ctx.Err() == nil && f.pushed.Load() < int64(most) {
		first := int(f.pushed.Load())
		if first-int(f.book.done.Load()) >= fed {
			time.Sleep(time.Millisecond)
			continue
		}
		n := min(taskBatch, most-first)
		if err := f.queue.push(context.WithoutCancel(ctx), numbersFrom(first, n)...); err != nil {
			return err
		}
		f.pushed.Add(int64(n))
	}
	return nil
}

// rate is how many tasks a second are done for a while.
func (f *feeding) rate(ctx context.Context, length time.Duration) (float64, error) {
	before, began := f.book.done.Load(), time.Now()
	select {
	case <-time.After(length):
	case <-ctx.Done():
		return 0, ctx.Err()
	case err := <-f.ended:
		f.ended <- err
		return 0, errors.Join(errors.New("it has ended by itself"), err)
	}
	return float64(f.book.done.Load()-before) / time.Since(began).Seconds(), nil
}

// end stops pushing, waits for what was pushed, and checks that it was done once.
func (f *feeding) end(ctx context.Context) error {
	f.stop()
	return f.wait(ctx)
}

// wait is end for one that was told how many there are.
func (f *feeding) wait(ctx context.Context) error {
	defer f.stop()
	if err := <-f.ended; err != nil {
		return err
	}
	return f.book.check(ctx, f.queue, int(f.pushed.Load()))
}
