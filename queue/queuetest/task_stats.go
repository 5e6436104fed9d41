package queuetest

import (
	"time"

	"snip/queue"
)

var taskStatsCases = []TaskCase{
	{
		Name: "StatsDescribeTheQueue",
		Rule: "QueueStats counts what is ready, delayed, leased and dead, says since when the longest due is due and since when the oldest dead letter is dead, and the bound.",
		run:  statsDescribeTheQueue,
	},
}

func statsDescribeTheQueue(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 100})
	if got, want := s.stats(), (queue.QueueStats{MaxTasks: 100}); got != want {
		s.Errorf("QueueStats() of a new queue = %+v, want %+v", got, want)
	}
	within := func(what string, got, from, to time.Time) {
		s.Helper()
		if got.Before(from.Add(-grace)) || got.After(to.Add(grace)) {
			s.Errorf("%s = %s, want from %s to %s", what, got, from, to)
		}
	}
	s.push(delayed("hour", long))
	s.wantOldest(time.Time{}, false)
	s.push(delayed("first", 20*time.Millisecond))
	s.ready(1)
	first := s.stats().OldestReady
	tick()
	s.push(jobs("b c")...)
	s.wantCounts(counts{ready: 3, delayed: 1})
	s.wantOldest(first, true)
	held := s.wantLeases("first", 1, long)[0]
	if leasedFirst := held.At; !leasedFirst.Truncate(time.Millisecond).Equal(first.Truncate(time.Millisecond)) {
		within("OldestReady", first, leasedFirst, leasedFirst)
	}
	s.wantCounts(counts{ready: 2, delayed: 1, leased: 1})
	if got := s.stats().OldestReady; !got.After(first) {
		s.Errorf("OldestReady = %s, want after %s: that one is leased", got, first)
	}
	rest := s.wantPull("b c")
	s.wantOldest(time.Time{}, false)
	start := time.Now()
	s.bury(held)
	end := time.Now()
	s.bury(rest[0])
	within("OldestDead", s.stats().OldestDead, start, end)
	s.wantCounts(counts{delayed: 1, leased: 1, dead: 2})
	start = time.Now()
	s.settle(queue.Verdict{Lease: rest[1].Lease, Kind: queue.Release})
	within("OldestReady", s.stats().OldestReady, start, time.Now())
}

// wantOldest compares since when the longest due is due, if one is.
func (s *taskSuite) wantOldest(want time.Time, is bool) {
	s.Helper()
	got := s.stats().OldestReady
	if got.IsZero() == is || is && got.Sub(want).Abs() > grace {
		s.Errorf("OldestReady = %s, want %s", got, want)
	}
}
