package queuetest

import (
	"time"

	"snip/queue"
)

var taskCounterCases = []TaskCase{
	{
		Name: "ThreeCounters",
		Rule: "A retry adds one to Failed, a release one to Released, a pull after a lease that ended without a verdict one to Lost; nothing else adds to them.",
		run:  threeCounters,
	},
	{
		Name: "AloneMeansAlone",
		Rule: "A task that was lost as often as AloneFrom says comes as the only one of a pull that asks for it. A pull that does not, or that holds others already, ends before it and says so.",
		run:  aloneMeansAlone,
	},
	{
		Name: "AloneCountsTheLeaseThatJustEnded",
		Rule: "The lease that ended without a verdict counts before the pull that finds it so.",
		run:  aloneCountsTheLeaseThatJustEnded,
	},
	{
		Name: "AloneHidesNothingFromOthers",
		Rule: "A task of a type that a pull does not name never stands in its way; nor does one that is alone stand in the way of a pull that does not mind.",
		run:  aloneHidesNothingFromOthers,
	},
}

func threeCounters(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	var failed, lost, released int
	want := func(l queue.Leased) queue.Leased {
		s.Helper()
		if l.Failed != failed || l.Lost != lost || l.Released != released {
			s.Errorf("failed %d, lost %d, released %d times, want %d, %d, %d", l.Failed, l.Lost, l.Released, failed, lost, released)
		}
		return l
	}
	for range 2 {
		l := want(s.pullOne("a"))
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: long})
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Retry, Error: "again"})
		failed++
		for range 2 {
			s.settle(queue.Verdict{Lease: want(s.pullOne("a")).Lease, Kind: queue.Release})
			released++
		}
		for range 3 {
			want(s.lose("a")[0])
			lost++
		}
	}
	want(s.pullOne("a"))
}

// alone pulls with AloneFrom, and wants what comes.
func (s *taskSuite) wantAlone(p queue.PullRequest, want string, next bool) []queue.Leased {
	s.Helper()
	p.Lease = long
	got := s.request(p)
	if leasedNames(got.Tasks) != want || got.AloneNext != next {
		s.Fatalf("Pull(%+v) = %q, alone next %t, want %q, %t", p, leasedNames(got.Tasks), got.AloneNext, want, next)
	}
	return got.Tasks
}

func aloneMeansAlone(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("b c")...)
	for range 2 {
		s.lose("b c")
	}
	s.push(jobs("d e")...)
	// B and c were lost twice, d and e never.
	with := func(from int, alone bool) queue.PullRequest {
		return queue.PullRequest{Max: many, AloneFrom: from, Alone: alone}
	}
	for _, from := range []int{1, 2} {
		s.wantAlone(with(from, false), "", true)
	}
	got := s.wantAlone(with(2, true), "b", false)
	tick()
	s.wantAlone(with(2, false), "", true)
	s.settle(queue.Verdict{Lease: got[0].Lease, Kind: queue.Release}) // Now it stands behind.
	s.wantAlone(queue.PullRequest{Max: 1, AloneFrom: 2, Alone: true}, "c", false)
	s.wantAlone(queue.PullRequest{Max: 1, AloneFrom: 2, Alone: true}, "d", false)
	s.wantAlone(with(2, true), "e", true)
	s.push(job("f"))
	s.wantAlone(with(2, false), "", true)
	s.wantAlone(with(2, true), "b", false)
	s.wantAlone(with(2, true), "f", false)
	s.wantAlone(with(2, true), "", false)
}

func aloneCountsTheLeaseThatJustEnded(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b")...)
	s.lose("a b")
	s.wantAlone(queue.PullRequest{Max: many, AloneFrom: 1}, "", true)
	got := s.wantAlone(queue.PullRequest{Max: many, AloneFrom: 1, Alone: true}, "a", false)
	if got[0].Lost != 1 {
		s.Errorf("lost %d times, want 1", got[0].Lost)
	}
	// What was lost before stays lost, whatever ended the lease after it.
	tick()
	s.settle(queue.Verdict{Lease: got[0].Lease, Kind: queue.Retry})
	s.wantAlone(queue.PullRequest{Max: many, AloneFrom: 2}, "b a", false)
}

func aloneHidesNothingFromOthers(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b")...)
	for range 3 {
		s.lose("a b")
	}
	other := job("other")
	other.Type = "other"
	s.push(other, job("c"))
	s.wantAlone(queue.PullRequest{Types: []string{"other"}, Max: many, AloneFrom: 1}, "other", false)
	s.wantAlone(queue.PullRequest{Max: many, AloneFrom: 4}, "a b c", false)

	s.push(job("d"))
	s.settle(queue.Verdict{Lease: s.pullOne("d").Lease, Kind: queue.Extend, Delay: time.Millisecond})
	s.ready(1)
	s.push(job("e"))
	s.wantAlone(queue.PullRequest{Max: many}, "d e", false) // AloneFrom is not set.
}
