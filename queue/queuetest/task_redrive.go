package queuetest

import (
	"time"

	"snip/queue"
)

var taskRedriveCases = []TaskCase{
	{
		Name:  "RedrivePutsBack",
		Rule:  "Redrive puts dead letters back into their queue, due at once, as they were pushed, with counters at zero and without progress: those of the numbers, or the longest dead, at most max. Numbers that are not there are passed over.",
		needs: deadLetters,
		run:   redrivePutsBack,
	},
	{
		Name:  "RedrivePassesOverTakenIDs",
		Rule:  "A dead letter whose ID is in the queue again stays dead, and does not count towards max.",
		needs: deadLetters,
		run:   redrivePassesOverTakenIDs,
	},
	{
		Name:  "RedriveNeedsRoom",
		Rule:  "Where there is no room for all that is to be put back, Redrive answers a *FullError and puts nothing back, nor does it drop anything.",
		needs: deadLetters,
		run:   redriveNeedsRoom,
	},
	{
		Name:  "DeletedIsForgotten",
		Rule:  "DeleteDead forgets dead letters for good, chosen as by Redrive.",
		needs: deadLetters,
		run:   deletedIsForgotten,
	},
}

func redrivePutsBack(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	want := oddTasks()
	s.push(want...)
	for _, l := range s.pullTasks(want) {
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: long, Progress: []byte("half")})
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Release})
	}
	s.bury(s.pullTasks(want)...)
	time.Sleep(2 * grace) // So that it differs from when they were due last.
	before := time.Now().Add(-grace)
	s.wantCount("Redrive", len(want))(s.graves().Redrive(s.Context(), mail, nil, many))
	s.wantDead("")
	got := s.pullTasks(want)
	for _, l := range got {
		if l.Failed != 0 || l.Lost != 0 || l.Released != 0 || l.Progress != nil || l.Expired || l.At.Before(before) {
			s.Errorf("task %q: failed %d, lost %d, released %d times, progress %q, due at %s, want none, and due at once",
				l.ID, l.Failed, l.Lost, l.Released, l.Progress, l.At)
		}
	}
	s.done(got...)

	s.kill("a b c d e f")
	numbers := append(s.numbersOf("c e"), 1<<40, -1)
	s.wantCount("Redrive", 2)(s.graves().Redrive(s.Context(), mail, numbers, many))
	s.wantDead("a b d f")
	s.wantPull("c e")
	s.wantCount("Redrive", 0)(s.graves().Redrive(s.Context(), mail, numbers, many))
	s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, s.numbersOf("d f"), 1))
	s.wantPull("d")
	s.wantCount("Redrive", 0)(s.graves().Redrive(s.Context(), mail, nil, 0))
	s.wantCount("Redrive", 2)(s.graves().Redrive(s.Context(), mail, nil, 2))
	s.wantPull("a b")
	s.wantDead("f")
	s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, many))
	s.wantCount("Redrive", 0)(s.graves().Redrive(s.Context(), mail, nil, many))
	s.bury(s.pullOne("f")) // It may die again.
	s.wantDead("f")
}

func redrivePassesOverTakenIDs(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDone: long})
	s.kill("a b c d")
	s.push(job("a"), delayed("b", long))
	s.wantPull("a")
	s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, 1))
	s.wantPull("c")
	s.wantCount("Redrive", 0)(s.graves().Redrive(s.Context(), mail, s.numbersOf("a b"), many))
	s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, many))
	s.wantDead("a b")
	s.wantPull("d")
	s.wantCounts(counts{delayed: 1, leased: 3, dead: 2})

	// Of two of one ID, the longest dead comes back first.
	s.kill("x")
	s.kill("x")
	s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, many))
	left := s.wantDead("a b x")
	s.done(s.pullOne("x"))
	// One that is done and remembered is not in the queue.
	s.skipped(job("x"))
	s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, []int64{left[2].Number}, many))
	s.done(s.pullOne("x"))
	s.wantDead("a b")
}

func redriveNeedsRoom(s *taskSuite) {
	for _, policy := range []queue.Overflow{queue.Reject, queue.DropOldest} {
		s.declare(queue.QueueConfig{MaxTasks: 3, Overflow: policy, Remember: -1})
		s.kill("a b")
		s.push(jobs("c d")...)
		before := s.stats()
		if n, err := s.graves().Redrive(s.Context(), mail, nil, many); n != 0 || !s.isFull(err) {
			s.Errorf("Redrive() of two into room for one = %d, %v, want a *FullError", n, err)
		}
		if after := s.stats(); after != before {
			s.Errorf("a Redrive that was refused changed %+v to %+v", before, after)
		}
		s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, 1))
		if n, err := s.graves().Redrive(s.Context(), mail, nil, 1); n != 0 || !s.isFull(err) {
			s.Errorf("Redrive() of one into no room = %d, %v, want a *FullError", n, err)
		}
		s.wantDead("b")
		s.done(s.wantPull("c d a")...)
		s.wantCount("DeleteDead", 1)(s.graves().DeleteDead(s.Context(), mail, nil, many))
	}
}

func deletedIsForgotten(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.kill("a b c d e")
	numbers := append(s.numbersOf("b d"), 1<<40)
	s.wantCount("DeleteDead", 2)(s.graves().DeleteDead(s.Context(), mail, numbers, many))
	s.wantCount("DeleteDead", 0)(s.graves().DeleteDead(s.Context(), mail, numbers, many))
	s.wantDead("a c e")
	s.wantCount("DeleteDead", 0)(s.graves().DeleteDead(s.Context(), mail, nil, 0))
	s.wantCount("DeleteDead", 1)(s.graves().DeleteDead(s.Context(), mail, s.numbersOf("c e"), 1))
	s.wantCount("DeleteDead", 1)(s.graves().DeleteDead(s.Context(), mail, nil, 1))
	s.wantDead("e")
	s.push(job("e"))
	s.wantCount("DeleteDead", 1)(s.graves().DeleteDead(s.Context(), mail, nil, many)) // Its ID is in the queue again.
	s.wantDead("")
	s.wantPull("e")
	if stats := s.stats(); stats.DroppedDead != 0 || !stats.OldestDead.IsZero() {
		s.Errorf("%d dead letters were dropped, the oldest is of %s, want none", stats.DroppedDead, stats.OldestDead)
	}
}
