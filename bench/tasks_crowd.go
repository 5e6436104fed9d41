package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snip/queue"
)

// crowdBatch is how many tasks are pushed and buried at once.
const crowdBatch = 5000

// tasksInCrowd measures whether tasks are worked as fast where many others are delayed, and
// many are dead.
func tasksInCrowd(ctx context.Context, b *bench) (rows []row, err error) {
	for _, onServer := range []bool{false, true} {
		where, library := "SQLite", snipOnFiles()
		if onServer {
			where, library = "PostgreSQL", snipOnServer()
		}
		empty, err := b.crowded(ctx, library, onServer, 0)
		if err != nil {
			return rows, err
		}
		full, err := b.crowded(ctx, library, onServer, b.tasks)
		if err != nil {
			return rows, err
		}
		with := &contestant{name: fmt.Sprintf("tasks worked beside %s delayed and as many dead, %s", thousands(fmt.Sprint(b.tasks)), where), measure: full}
		without := &contestant{name: "beside none", measure: empty}
		if err := inTurns(ctx, b.rounds, b.length, with, without); err != nil {
			return rows, err
		}
		rows = append(rows, with.beside(without, "/s", ratioAtLeast(0.9)))
		if err := b.cleanUp(); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// crowded prepares a queue, which works off one backlog after the other.
func (b *bench) crowded(ctx context.Context, library taskLibrary, onServer bool, n int) (func(context.Context, time.Duration) (float64, error), error) {
	opened, at, err := b.openTasks(ctx, library, onServer, atBest)
	if err != nil {
		return nil, err
	}
	q, ok := opened.(*snipQueue)
	if !ok {
		return nil, errors.New("only Snip's queue is crowded")
	}
	if err := q.producer.Declare(ctx); err != nil {
		return nil, err
	}
	for first := 0; first < n; first += crowdBatch {
		if err := q.addCrowd(ctx, min(crowdBatch, n-first)); err != nil {
			return nil, err
		}
	}
	stats, err := q.engine.QueueStats(ctx, tasksQueue.Name)
	if err == nil && (stats.Delayed != int64(n) || stats.Dead != int64(n)) {
		err = fmt.Errorf("%d tasks are delayed and %d dead, %d should be", stats.Delayed, stats.Dead, n)
	}
	return func(ctx context.Context, length time.Duration) (float64, error) {
		n := int(length.Seconds() * bestPerSecond)
		if err := pushBacklog(ctx, q, at, n); err != nil {
			return 0, err
		}
		return workOff(ctx, q, n)
	}, err
}

// addCrowd adds tasks that are delayed, and as many that are dead.
func (q *snipQueue) addCrowd(ctx context.Context, n int) error {
	var delayed, dead []queue.Task
	for i := range n {
		t, err := q.producer.Task(snipTask{i}, queue.Task{})
		if err != nil {
			return err
		}
		dead = append(dead, t)
		t.Delay = 24*time.Hour + time.Duration(i)*time.Second
		delayed = append(delayed, t)
	}
	for _, tasks := range [][]queue.Task{delayed, dead} {
		if _, err := q.producer.PushTasks(ctx, tasks...); err != nil {
			return err
		}
	}
	for buried := 0; buried < n; {
		pulled, err := q.engine.Pull(ctx, tasksQueue.Name, queue.PullRequest{Types: []string{"number"}, Max: n, Lease: time.Minute})
		if err != nil {
			return err
		}
		verdicts := make([]queue.Verdict, len(pulled.Tasks))
		for i, t := range pulled.Tasks {
			verdicts[i] = queue.Verdict{Lease: t.Lease, Kind: queue.Bury, Reason: queue.ReasonFailed, Error: "it is to be dead"}
		}
		results, err := q.engine.Settle(ctx, tasksQueue.Name, verdicts)
		if err := errors.Join(append(results, err)...); err != nil {
			return err
		}
		if buried += len(verdicts); len(verdicts) == 0 {
			return errors.New("tasks that were pushed are not there")
		}
	}
	return nil
}
