package queuetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"snip/queue"
)

func exactTasks(e queue.TaskEngine) bool { return e.Caps().ExactTasks }

var taskBoundCases = []TaskCase{
	{
		Name: "AFullQueueRefuses",
		Rule: "At its bound a queue answers a *FullError that says to try again after a second or more, and nothing of the push is added. So does one that blocks or drops the newest: that is done in the producer.",
		run:  aFullQueueRefuses,
	},
	{
		Name: "TheBoundCountsWhatIsToBeDone",
		Rule: "Ready, delayed and leased tasks count towards the bound together; those that are done, kept or not, and dead letters do not.",
		run:  theBoundCountsWhatIsToBeDone,
	},
	{
		Name: "WhatIsSkippedNeedsNoRoom",
		Rule: "A task that is skipped because of its ID needs no room.",
		run:  whatIsSkippedNeedsNoRoom,
	},
	{
		Name: "DropOldestDropsTheLongestDue",
		Rule: "In a queue that drops its oldest, a push takes the place of as many ready tasks as it needs, those that were due first. They are counted, and never tried again.",
		run:  dropOldestDropsTheLongestDue,
	},
	{
		Name: "DropOldestSparesTheOthers",
		Rule: "Leased and delayed tasks are never dropped. Where there are not enough ready ones, the push is refused whole and nothing is dropped.",
		run:  dropOldestSparesTheOthers,
	},
	{
		Name:  "TheBoundOfTasksIsExact",
		Rule:  "Where Caps.ExactTasks is claimed, a queue takes exactly as many tasks as its bound says, however many push at the same time.",
		needs: exactTasks,
		run:   func(s *taskSuite) { s.crowdTheBound(0) },
	},
	{
		Name:  "TheBoundOfTasksIsPassedByLittle",
		Rule:  "Where Caps.ExactTasks is not claimed, a queue is passed by no more than what the others push at the same time.",
		needs: func(e queue.TaskEngine) bool { return !exactTasks(e) },
		run:   func(s *taskSuite) { s.crowdTheBound(pushers * atOnce) },
	},
	{
		Name: "DroppingKeepsTheBound",
		Rule: "A queue that drops its oldest keeps its bound, exactly where Caps.ExactTasks is claimed, however many push at the same time: each task is there or was dropped.",
		run:  droppingKeepsTheBound,
	},
}

// full tells whether a push was refused because its queue is full.
func (s *taskSuite) full(tasks ...queue.Task) bool {
	s.Helper()
	_, err := s.engine.Push(s.Context(), mail, tasks)
	return s.isFull(err)
}

func (s *taskSuite) isFull(err error) bool {
	s.Helper()
	if err == nil {
		return false
	}
	full, ok := errors.AsType[*queue.FullError](err)
	if !ok || !errors.Is(err, queue.ErrFull) {
		s.Fatalf("%v, want nil or a *FullError", err)
	}
	if full.RetryAfter < time.Second || full.Subject == "" {
		s.Errorf("%+v, want a subject and at least a second", full)
	}
	return true
}

// wantFull wants a push to be refused, and to change nothing.
func (s *taskSuite) wantFull(tasks ...queue.Task) {
	s.Helper()
	before := s.stats()
	if !s.full(tasks...) {
		s.Fatalf("Push(%q) was taken into a full queue", names(tasks))
	}
	if after := s.stats(); after != before {
		s.Errorf("a push that was refused changed %+v to %+v", before, after)
	}
}

func aFullQueueRefuses(s *taskSuite) {
	for _, policy := range []queue.Overflow{"", queue.Reject, queue.Block, queue.DropNewest} {
		s.declare(queue.QueueConfig{MaxTasks: 3, Overflow: policy, Remember: -1})
		s.wantFull(jobs("a b c d")...)
		s.push(jobs("a b")...)
		s.wantFull(jobs("c d")...)
		s.push(job("c"))
		s.wantFull(job("d"))
		s.wantFull(delayed("d", long))
		if got := s.stats().Dropped; got != 0 {
			s.Errorf("overflow %q: %d tasks were dropped", policy, got)
		}
		s.done(s.wantPull("a b c")...)
	}
	s.declare(queue.QueueConfig{MaxTasks: 2, Remember: -1})
	s.push(jobs("a b")...)
	s.declare(queue.QueueConfig{MaxTasks: 3})
	s.push(job("c"))
	s.declare(queue.QueueConfig{MaxTasks: 1})
	s.wantFull(job("d"))
	s.wantPull("a b c")
}

func theBoundCountsWhatIsToBeDone(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 4, KeepDone: long})
	s.push(jobs("a b")...)
	got := s.wantPull("a b")
	s.push(job("c"), delayed("d", long))
	s.wantFull(job("e"))
	s.done(got[0])
	s.push(job("e"))
	s.wantFull(job("f"))
	s.bury(got[1])
	s.push(job("f"))
	s.wantFull(job("g"))
	s.settle(queue.Verdict{Lease: s.wantPull("c e f")[0].Lease, Kind: queue.Retry, Delay: long})
	s.wantFull(job("g"))
	s.wantCounts(counts{delayed: 2, leased: 2, dead: 1, kept: 1})
}

func whatIsSkippedNeedsNoRoom(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 3})
	s.push(job("done"))
	s.done(s.pullOne("done"))
	s.push(jobs("a b")...)
	s.skipped(jobs("a b done")...)
	s.offer(jobs("a b c c done")...)
	s.skipped(jobs("a b c a b c")...)
	s.wantFull(jobs("a d")...)
	s.declare(queue.QueueConfig{MaxTasks: 3, Overflow: queue.DropOldest})
	s.skipped(jobs("c b a")...)
	for _, policy := range []queue.Overflow{queue.Reject, queue.DropOldest} {
		// A bound that was lowered changes nothing about it.
		s.declare(queue.QueueConfig{MaxTasks: 1, Overflow: policy})
		s.skipped(jobs("a b c")...)
		s.offer()
		if deadLetters(s.engine) {
			s.wantCount("Redrive", 0)(s.graves().Redrive(s.Context(), mail, nil, many))
		}
	}
	if got := s.stats().Dropped; got != 0 {
		s.Errorf("%d tasks were dropped for tasks that were skipped", got)
	}
	s.wantPull("a b c")
}

func dropOldestDropsTheLongestDue(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 4, Overflow: queue.DropOldest})
	s.push(delayed("b", 40*time.Millisecond), delayed("a", 20*time.Millisecond), delayed("z", long))
	s.ready(2)
	s.push(job("c"))
	s.push(jobs("d e")...)
	s.wantCounts(counts{ready: 3, delayed: 1})
	if got := s.stats().Dropped; got != 2 {
		s.Errorf("Dropped = %d, want 2", got)
	}
	s.wantPull("c d e")

	// What was given back is as old as its return.
	s.declare(queue.QueueConfig{MaxTasks: 7, Overflow: queue.DropOldest})
	s.push(jobs("f g")...)
	s.settle(queue.Verdict{Lease: s.wantPull("f g")[0].Lease, Kind: queue.Release})
	s.push(jobs("h")...)
	s.push(jobs("i")...)
	s.wantPull("h i")
	if got := s.stats().Dropped; got != 3 {
		s.Errorf("Dropped = %d, want 3", got)
	}
	s.wantCounts(counts{delayed: 1, leased: 6})
}

func dropOldestSparesTheOthers(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 4, Overflow: queue.DropOldest})
	s.push(jobs("a")...)
	held := s.pullOne("a")
	s.push(delayed("b", long), job("c"), job("d"))
	s.wantFull(jobs("e f g")...)
	s.push(jobs("e f")...)
	s.wantPull("e f")
	s.wantFull(job("g"))
	s.wantCounts(counts{delayed: 1, leased: 3})
	if got := s.stats().Dropped; got != 2 {
		s.Errorf("Dropped = %d, want 2", got)
	}
	s.done(held)
}

const (
	pushers = 8
	atOnce  = 3
)

// crowdTheBound pushes from many sides until all of them find the queue full.
func (s *taskSuite) crowdTheBound(overshoot int64) {
	const bound = 100 * atOnce
	s.declare(queue.QueueConfig{MaxTasks: bound})
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range pushers {
		wg.Go(func() {
			for range 2 * bound {
				_, err := s.engine.Push(s.Context(), mail, threeJobs())
				if errors.Is(err, queue.ErrFull) {
					return
				}
				if err != nil {
					s.Errorf("Push() = %v", err)
					return
				}
				taken.Add(atOnce)
			}
		})
	}
	wg.Wait()
	if got := taken.Load(); got < bound || got > bound+overshoot {
		s.Errorf("%d tasks were taken, want %d and at most %d more", got, bound, overshoot)
	}
	s.wantCounts(counts{ready: taken.Load()})
	if !s.full(job("")) {
		s.Error("the queue is full, and takes more")
	}
	s.done(s.request(queue.PullRequest{Max: 1, Lease: long}).Tasks...)
	if overshoot == 0 {
		s.push(job(""))
	}
}

// threeJobs are as many as are pushed at once.
func threeJobs() []queue.Task { return []queue.Task{job(""), job(""), job("")} }

func droppingKeepsTheBound(s *taskSuite) {
	const bound, rounds = 40, 30
	s.declare(queue.QueueConfig{MaxTasks: bound, Overflow: queue.DropOldest})
	var wg sync.WaitGroup
	for p := range pushers {
		wg.Go(func() {
			for i := range rounds {
				tasks := threeJobs()
				for n := range tasks {
					tasks[n].ID = fmt.Sprintf("%d-%d-%d", p, i, n)
				}
				if _, err := s.engine.Push(s.Context(), mail, tasks); err != nil {
					s.Errorf("Push() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	stats := s.stats()
	over := int64(pushers * atOnce)
	if exactTasks(s.engine) {
		over = 0
	}
	if stats.Ready < bound || stats.Ready > bound+over {
		s.Errorf("%d tasks are ready, want %d and at most %d more", stats.Ready, bound, over)
	}
	if got, want := stats.Ready+stats.Dropped, int64(pushers*atOnce*rounds); got != want {
		s.Errorf("%d tasks are ready and %d were dropped, together %d, want %d", stats.Ready, stats.Dropped, got, want)
	}
	if got := int64(len(s.pull())); got != stats.Ready {
		s.Errorf("Pull() = %d tasks, want the %d that are ready", got, stats.Ready)
	}
}
