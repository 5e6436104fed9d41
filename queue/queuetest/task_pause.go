package queuetest

import (
	"time"

	"snip/queue"
)

var taskPauseCases = []TaskCase{
	{
		Name:  "APausedQueueGivesNothing",
		Rule:  "A paused queue gives nothing to pulls, until it is resumed. Pausing or resuming again changes nothing, nor does declaring the queue again.",
		needs: controls,
		run:   aPausedQueueGivesNothing,
	},
	{
		Name:  "APausedQueueTakesVerdicts",
		Rule:  "While a queue is paused pushes are taken, leases go on and end, and verdicts are carried out.",
		needs: controls,
		run:   aPausedQueueTakesVerdicts,
	},
}

func (s *taskSuite) pause() {
	s.Helper()
	if err := s.controls().Pause(s.Context(), mail); err != nil {
		s.Fatalf("Pause() = %v", err)
	}
}

func (s *taskSuite) resume() {
	s.Helper()
	if err := s.controls().Resume(s.Context(), mail); err != nil {
		s.Fatalf("Resume() = %v", err)
	}
}

func aPausedQueueGivesNothing(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b")...)
	lost := s.lose("a b")
	s.push(job("c"))
	for range 2 {
		s.pause()
		s.declare(queue.QueueConfig{})
		s.wantAlone(queue.PullRequest{Max: many, AloneFrom: 1}, "", false)
		if !s.stats().Paused {
			s.Error("QueueStats() does not say that the queue is paused")
		}
	}
	s.done(lost[0]) // Nobody has pulled it since: not even those who tried.
	for range 2 {
		s.resume()
	}
	if s.stats().Paused {
		s.Error("QueueStats() says that the queue is still paused")
	}
	s.wantPull("b c")
}

func aPausedQueueTakesVerdicts(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b c d e")...)
	got := s.wantPull("a b c d e")
	s.pause()
	s.push(job("f"))
	s.settle(
		queue.Verdict{Lease: got[0].Lease, Kind: queue.Done},
		queue.Verdict{Lease: got[1].Lease, Kind: queue.Release},
		queue.Verdict{Lease: got[2].Lease, Kind: queue.Bury, Reason: queue.ReasonFailed},
		queue.Verdict{Lease: got[3].Lease, Kind: queue.Extend, Delay: time.Millisecond},
		queue.Verdict{Lease: got[4].Lease, Kind: queue.Extend, Delay: long},
	)
	s.ready(3)
	s.wantCounts(counts{ready: 3, leased: 1, dead: 1})
	s.wantPull("")
	s.resume()
	for _, l := range s.pull() {
		if want := map[string]int{"d": 1}[l.ID]; l.Lost != want {
			s.Errorf("task %q was lost %d times, want %d", l.ID, l.Lost, want)
		}
	}
	s.wantCounts(counts{leased: 4, dead: 1})
}
