package queuetest

import (
	"context"
	"errors"
	"fmt"

	"snip/queue"
)

func waitsForTasks(e queue.TaskEngine) bool {
	_, ok := e.(queue.QueueWaiter)
	return ok
}

var taskWaitCases = []TaskCase{
	{
		Name:  "WaitingForTasksStartsAtOnce",
		Rule:  "WaitQueue that has seen 0 returns at once, with what to wait for next.",
		needs: waitsForTasks,
		run:   waitingForTasksStartsAtOnce,
	},
	{
		Name:  "WhatIsDueWakes",
		Rule:  "WaitQueue returns when a task is there to be pulled since the call that returned what it has seen: pushed, retried without a delay, released, redriven, replaced, or in a queue that was resumed.",
		needs: waitsForTasks,
		run:   whatIsDueWakes,
	},
	{
		Name:  "WaitingMissesNoTask",
		Rule:  "Who pulls after WaitQueue, finds nothing and waits with what it returned, misses nothing that was due at once.",
		needs: waitsForTasks,
		run:   func(s *taskSuite) { s.pingPong(s.engine, s.engine) },
	},
	{
		Name:  "WaitingForTasksEndsWithItsContext",
		Rule:  "WaitQueue returns when its context ends.",
		needs: waitsForTasks,
		run:   waitingForTasksEndsWithItsContext,
	},
}

func (s *taskSuite) wait(ctx context.Context, seen uint64) uint64 {
	s.Helper()
	now, err := s.engine.(queue.QueueWaiter).WaitQueue(ctx, mail, seen)
	if err != nil {
		s.Errorf("WaitQueue(%d) = %v", seen, err)
	}
	return now
}

func waitingForTasksStartsAtOnce(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if got := s.wait(ctx, 0); got == 0 {
		s.Error("WaitQueue() = 0, which is for who has seen nothing")
	}
	s.push(job("a"))
	s.wait(ctx, 0)
}

// waiting starts to wait. The function it returns wants that to end.
func (s *taskSuite) waiting() (wait func()) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	seen := s.wait(ctx, 0)
	ended := make(chan error, 1)
	go func() {
		now, err := s.engine.(queue.QueueWaiter).WaitQueue(ctx, mail, seen)
		if err == nil && now == seen {
			err = fmt.Errorf("it returned %d, which was seen before", now)
		}
		ended <- err
	}()
	return func() {
		s.Helper()
		defer cancel()
		if err := <-ended; err != nil {
			s.Errorf("WaitQueue() = %v", err)
		}
	}
}

func whatIsDueWakes(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	wakes := func(what string, do func()) {
		s.Helper()
		wait := s.waiting()
		do()
		wait()
		if s.Failed() {
			s.Fatalf("%s wakes nobody", what)
		}
	}
	wakes("a push", func() { s.push(job("a")) })
	wakes("a retry", func() { s.settle(queue.Verdict{Lease: s.pullOne("a").Lease, Kind: queue.Retry}) })
	wakes("a release", func() { s.settle(queue.Verdict{Lease: s.pullOne("a").Lease, Kind: queue.Release}) })
	if controls(s.engine) {
		wakes("replacing", func() { s.replace(job("a")) })
		s.pause()
		wakes("resuming", s.resume)
	}
	if deadLetters(s.engine) {
		s.bury(s.pullOne("a"))
		wakes("redriving", func() { s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, 1)) })
	}
}

// pingPong runs a worker that never polls beside a producer that gives it one task at
// a time: if one is missed, both stand still.
func (s *taskSuite) pingPong(from, to queue.TaskEngine) {
	s.Helper()
	s.declare(queue.QueueConfig{})
	const rounds = 50
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	received := make(chan string)
	go func() {
		defer close(received)
		var seen uint64
		for n := 0; n < rounds; {
			pulled, err := to.Pull(ctx, mail, queue.PullRequest{Types: []string{send}, Max: many, Lease: long})
			if err != nil {
				s.Errorf("Pull() = %v", err)
				return
			}
			for _, l := range pulled.Tasks {
				select {
				case received <- l.ID:
				case <-ctx.Done():
					return
				}
				n++
			}
			if len(pulled.Tasks) > 0 {
				continue
			}
			if seen, err = to.(queue.QueueWaiter).WaitQueue(ctx, mail, seen); err != nil {
				s.Errorf("after %d of %d tasks: WaitQueue() = %v", n, rounds, err)
				return
			}
		}
	}()
	for n := range rounds {
		id := fmt.Sprint(n)
		if _, err := from.Push(ctx, mail, jobs(id)); err != nil {
			s.Errorf("Push() = %v", err)
			cancel()
			break
		}
		if got, ok := <-received; !ok || got != id {
			s.Errorf("task %s came as %q, %t", id, got, ok)
			cancel()
			break
		}
	}
	for range received { // Until the worker has ended.
	}
}

func waitingForTasksEndsWithItsContext(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error)
	go func() {
		seen := uint64(0)
		for {
			var err error
			if seen, err = s.engine.(queue.QueueWaiter).WaitQueue(ctx, mail, seen); err != nil || ctx.Err() != nil {
				ended <- err
				return
			}
		}
	}()
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		s.Errorf("WaitQueue() = %v, want nil or %v", err, context.Canceled)
	}
}
