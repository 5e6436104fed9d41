package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	bestPerSecond    = 15_000 // Tasks of a backlog for each second of a measurement, at the best settings,
	defaultPerSecond = 1500   // and at those that come by themselves.
	riverOnFiles     = 1500   // The same where River is on SQLite.
	taskBatch        = 1000   // Tasks that are pushed at once.
)

// taskQueue is a queue of tasks that do nothing but hold a number.
type taskQueue interface {
	// push pushes a task for each number: in one call, and by the call for one if it is.
	push(ctx context.Context, numbers ...int) error

	// pushFast is push for a library that has a faster one, which tells less.
	pushFast(ctx context.Context, numbers ...int) error

	// work runs a worker until ctx ends and it has stopped.
	work(ctx context.Context, on taskEvents) error

	// left counts the tasks that are there and not done.
	left(ctx context.Context) (int, error)

	close() error
}

// taskEvents are told what happens, by many goroutines.
type taskEvents struct {
	started func(number int) // In the handler.
	done    func()           // Once the queue knows it.
}

// taskLibrary opens queues in empty places.
type taskLibrary struct {
	name string
	open func(ctx context.Context, at place, s settings) (taskQueue, error)
}

// settings are those of a library.
type settings int

const (
	byDefault settings = iota
	atBest
)

// tasks measures how many tasks are worked and pushed in a second, beside River on the
// same kind of database. A backlog is pushed before, and the worker that works it off
// is measured from its start until the queue knows of the last task.
func tasks(ctx context.Context, b *bench) (rows []row, err error) {
	for _, part := range []func(context.Context) ([]row, error){b.tasksInMemory, b.tasksOnFiles, b.tasksWorked, b.tasksPushed} {
		more, err := part(ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) tasksWorked(ctx context.Context) ([]row, error) {
	snip, river := snipOnServer(), riverOnServer()
	best := &contestant{name: "tasks worked, PostgreSQL, best settings", measure: b.workTasks(snip, true, atBest, bestPerSecond)}
	bestRiver := &contestant{name: river.name + ", best settings", measure: b.workTasks(river, true, atBest, bestPerSecond)}
	usual := &contestant{name: "tasks worked, PostgreSQL, default settings", measure: b.workTasks(snip, true, byDefault, defaultPerSecond)}
	usualRiver := &contestant{name: river.name + ", default settings", measure: b.workTasks(river, true, byDefault, defaultPerSecond)}
	err := inTurns(ctx, b.rounds, b.length, best, bestRiver, usual, usualRiver)
	if err != nil {
		return nil, err
	}
	return []row{best.beside(bestRiver, "/s", ratioAtLeast(2)), usual.beside(usualRiver, "/s", ratioAtLeast(2))}, nil
}

func (b *bench) tasksPushed(ctx context.Context) ([]row, error) {
	snip, river := snipOnServer(), riverOnServer()
	one := &contestant{name: "tasks pushed one by one, PostgreSQL", measure: b.pushTasks(snip, true, taskQueue.push, 1, 1)}
	oneRiver := &contestant{name: river.name + ", Insert", measure: b.pushTasks(river, true, taskQueue.push, 1, 1)}
	many := &contestant{name: "tasks pushed one by one by 16 at the same time, PostgreSQL", measure: b.pushTasks(snip, true, taskQueue.push, 1, 16)}
	manyRiver := &contestant{name: river.name + ", Insert", measure: b.pushTasks(river, true, taskQueue.push, 1, 16)}
	batch := &contestant{name: "tasks pushed in batches of 1,000, PostgreSQL", measure: b.pushTasks(snip, true, taskQueue.push, taskBatch, 1)}
	batchRiver := &contestant{name: river.name + ", InsertMany", measure: b.pushTasks(river, true, taskQueue.push, taskBatch, 1)}
	fastRiver := &contestant{name: river.name + ", InsertManyFast", measure: b.pushTasks(river, true, taskQueue.pushFast, taskBatch, 1)}
	err := inTurns(ctx, b.rounds, b.length, one, oneRiver, many, manyRiver, batch, batchRiver, fastRiver)
	if err != nil {
		return nil, err
	}
	return []row{
		one.beside(oneRiver, "/s", ratioAtLeast(1)), many.beside(manyRiver, "/s", ratioAtLeast(1)),
		batch.beside(batchRiver, "/s", ratioAtLeast(1)), batch.beside(fastRiver, "/s", ratioAtLeast(1)),
	}, nil
}

func (b *bench) tasksOnFiles(ctx context.Context) ([]row, error) {
	snip, river := snipOnFiles(), riverOnSQLite()
	best := &contestant{name: "tasks worked, SQLite, best settings", measure: b.workTasks(snip, false, atBest, bestPerSecond)}
	bestRiver := &contestant{name: river.name + ", best settings", measure: b.workTasks(river, false, atBest, riverOnFiles)}
	usual := &contestant{name: "tasks worked, SQLite, default settings", measure: b.workTasks(snip, false, byDefault, defaultPerSecond)}
	usualRiver := &contestant{name: river.name + ", default settings", measure: b.workTasks(river, false, byDefault, riverOnFiles)}
	one := &contestant{name: "tasks pushed one by one, SQLite", measure: b.pushTasks(snip, false, taskQueue.push, 1, 1)}
	oneRiver := &contestant{name: river.name + ", Insert", measure: b.pushTasks(river, false, taskQueue.push, 1, 1)}
	batch := &contestant{name: "tasks pushed in batches of 1,000, SQLite", measure: b.pushTasks(snip, false, taskQueue.push, taskBatch, 1)}
	batchRiver := &contestant{name: river.name + ", InsertMany", measure: b.pushTasks(river, false, taskQueue.push, taskBatch, 1)}
	err := inTurns(ctx, b.rounds, b.length, best, bestRiver, usual, usualRiver, one, oneRiver, batch, batchRiver)
	if err != nil {
		return nil, err
	}
	return []row{
		best.beside(bestRiver, "/s", ratioAtLeast(5)), usual.beside(usualRiver, "/s", bar{}),
		one.beside(oneRiver, "/s", bar{}), batch.beside(batchRiver, "/s", bar{}),
	}, nil
}

// tasksInMemory tells what the worker takes by itself.
func (b *bench) tasksInMemory(ctx context.Context) ([]row, error) {
	one := &contestant{name: "tasks worked, in memory, best settings", measure: b.workTasks(snipInMemory(), false, atBest, 10*bestPerSecond)}
	err := inTurns(ctx, b.rounds, b.length, one)
	return []row{one.beside(nil, "/s", bar{})}, err
}

// openTasks opens an empty queue. The place goes with the benchmark, or at cleanUp.
func (b *bench) openTasks(ctx context.Context, library taskLibrary, onServer bool, s settings) (taskQueue, place, error) {
	at, err := b.newPlace(ctx, onServer)
	if err != nil {
		return nil, at, err
	}
	q, err := library.open(ctx, at, s)
	if err != nil {
		return nil, at, fmt.Errorf("%s: %w", library.name, err)
	}
	b.atEnd(q.close)
	return q, at, nil
}

// workTasks takes as long as the backlog does.
func (b *bench) workTasks(library taskLibrary, onServer bool, s settings, perSecond int) func(context.Context, time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (rate float64, err error) {
		defer func() { err = errors.Join(err, b.cleanUp()) }()
		q, at, err := b.openTasks(ctx, library, onServer, s)
		if err != nil {
			return 0, err
		}
		n := int(length.Seconds() * float64(perSecond))
		if err := pushBacklog(ctx, q, at, n); err != nil {
			return 0, err
		}
		return workOff(ctx, q, n)
	}
}

// pushBacklog pushes tasks with the numbers below n, and has the server look after its
// tables as it would have by now.
func pushBacklog(ctx context.Context, q taskQueue, at place, n int) error {
	for first := 0; first < n; first += taskBatch {
		if err := q.push(ctx, numbersFrom(first, min(taskBatch, n-first))...); err != nil {
			return err
		}
	}
	if at.url == "" {
		return nil
	}
	return vacuum(ctx, at.url)
}

func numbersFrom(first, n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = first + i
	}
	return numbers
}

// pushTasks has some goroutines push, each so many tasks at once.
func (b *bench) pushTasks(library taskLibrary, onServer bool, push func(taskQueue, context.Context, ...int) error, batch, pushers int) func(context.Context, time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (rate float64, err error) {
		defer func() { err = errors.Join(err, b.cleanUp()) }()
		q, _, err := b.openTasks(ctx, library, onServer, atBest)
		if err != nil {
			return 0, err
		}
		if err := push(q, ctx, 0); err != nil { // What comes with the first one is not measured.
			return 0, err
		}
		pushed, errs := make([]int, pushers), make([]error, pushers)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range pushers {
			wg.Go(func() {
				for errs[i] == nil && time.Since(began) < length {
					errs[i] = push(q, ctx, numbersFrom(pushed[i], batch)...)
					pushed[i] += batch
				}
			})
		}
		wg.Wait()
		took := time.Since(began)
		if err := errors.Join(errs...); err != nil {
			return 0, err
		}
		want := 1
		for _, n := range pushed {
			want += n
		}
		left, err := q.left(ctx)
		if err == nil && left != want {
			err = fmt.Errorf("%d tasks were pushed, %d are there", want, left)
		}
		return float64(want-1) / took.Seconds(), err
	}
}
