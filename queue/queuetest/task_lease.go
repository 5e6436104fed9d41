package queuetest

import (
	"time"

	"snip/queue"
)

var taskLeaseCases = []TaskCase{
	{
		Name: "ALeasedTaskIsHidden",
		Rule: "A leased task is not pulled by others until its lease ends.",
		run:  aLeasedTaskIsHidden,
	},
	{
		Name: "ALeaseThatEndsGivesTheTaskBack",
		Rule: "A task whose lease ended without a verdict is pulled again, due since the lease ended, under another lease.",
		run:  aLeaseThatEndsGivesTheTaskBack,
	},
	{
		Name: "ALostLeaseChangesNothing",
		Rule: "Once a task was pulled again, every verdict under the lease before is ErrLeaseLost and changes nothing; so is one under the lease of a task that was cancelled, replaced or dropped meanwhile.",
		run:  aLostLeaseChangesNothing,
	},
	{
		Name: "ALateVerdictCountsUntilTheNextPull",
		Rule: "A lease that is over still counts until the task is pulled again: its verdict is carried out, and nothing was lost.",
		run:  aLateVerdictCountsUntilTheNextPull,
	},
	{
		Name: "ExtendPutsTheEndOff",
		Rule: "Extending a lease puts its end off, counted from now on, or brings it nearer; the lease stays the same.",
		run:  extendPutsTheEndOff,
	},
	{
		Name: "ProgressIsKept",
		Rule: "What the last Extend gave as progress is kept byte for byte through retries, releases and losses; an Extend without it leaves it as it was.",
		run:  progressIsKept,
	},
}

func aLeasedTaskIsHidden(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	const lease = 300 * time.Millisecond
	s.push(jobs("a b")...)
	start := time.Now()
	first := s.wantLeases("a", 1, lease)
	came := s.come(2, func(l queue.Leased) {
		if early := lease - time.Since(start); l.ID == "a" && early > grace {
			s.Errorf("a lease of %s ended %s early", lease, early)
		}
		if l.Lease == first[0].Lease {
			s.Errorf("task %q came again under lease %v", l.ID, l.Lease)
		}
	})
	if came != "b a" {
		s.Errorf("Pull() = %q, want %q", came, "b a")
	}
}

func aLeaseThatEndsGivesTheTaskBack(s *taskSuite) {
	s.declare(queue.QueueConfig{Remember: -1})
	s.push(jobs("a b")...)
	leases := map[queue.Lease]bool{}
	for range 3 {
		lost := s.lose("a b")
		s.push(job("new"))
		got := s.wantLeases("a b new", 3, time.Millisecond)
		for _, l := range append(lost, got...) {
			if leases[l.Lease] {
				s.Fatalf("task %q came twice under lease %v", l.ID, l.Lease)
			}
			leases[l.Lease] = true
		}
		s.settle(queue.Verdict{Lease: got[2].Lease, Kind: queue.Done})
		s.eventually("the end of leases", func() bool { return s.stats().Leased == 0 })
	}
	s.wantCounts(counts{ready: 2})

	s.push(job("c"))
	start := time.Now()
	s.lose("a b c")
	end := time.Now()
	time.Sleep(5 * grace) // Nobody looks for a while.
	for _, l := range s.wantPull("a b c") {
		if l.ID == "c" && (l.At.Before(start.Add(time.Millisecond-grace)) || l.At.After(end.Add(grace))) {
			s.Errorf("task %q is due since %s, want since its lease ended, from %s to %s", l.ID, l.At, start, end)
		}
	}
}

func aLostLeaseChangesNothing(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	var stale []queue.Verdict
	for range 3 {
		stale = append(stale, everyVerdict(s.lose("a")[0].Lease)...)
	}
	held := s.pullOne("a")
	s.wantLost(stale...)
	s.wantCounts(counts{leased: 1})
	s.settle(queue.Verdict{Lease: held.Lease, Kind: queue.Retry})
	s.wantLost(stale...)
	s.wantCounts(counts{ready: 1})
	if l := s.pullOne("a"); l.Failed != 1 || l.Lost != 3 || l.Released != 0 || l.Progress != nil {
		s.Errorf("failed %d, lost %d, released %d times, progress %q, want 1, 3, 0 and none", l.Failed, l.Lost, l.Released, l.Progress)
	}
	s.wantLost(everyVerdict(held.Lease)...)

	s.declare(queue.QueueConfig{Overflow: queue.DropOldest, MaxTasks: 2})
	s.push(job("dropped"))
	lost := s.lose("dropped")
	s.push(job("b")) // Takes its place.
	s.wantLost(everyVerdict(lost[0].Lease)...)
	s.wantCounts(counts{ready: 1, leased: 1})
}

func aLateVerdictCountsUntilTheNextPull(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("done retry release bury extend")...)
	late := s.lose("done retry release bury extend")
	s.wantCounts(counts{ready: 5})
	s.settle(
		queue.Verdict{Lease: late[0].Lease, Kind: queue.Done},
		queue.Verdict{Lease: late[1].Lease, Kind: queue.Retry, Delay: long},
		queue.Verdict{Lease: late[2].Lease, Kind: queue.Release},
		queue.Verdict{Lease: late[3].Lease, Kind: queue.Bury, Reason: queue.ReasonFailed},
		queue.Verdict{Lease: late[4].Lease, Kind: queue.Extend, Delay: long},
	)
	s.wantCounts(counts{ready: 1, delayed: 1, leased: 1, dead: 1})
	if l := s.pullOne("release"); l.Released != 1 || l.Lost != 0 {
		s.Errorf("released %d, lost %d times, want 1 and 0", l.Released, l.Lost)
	}
	s.done(late[4])
}

func extendPutsTheEndOff(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	const lease = 200 * time.Millisecond
	s.push(jobs("extended shortened ends")...)
	got := s.wantLeases("extended shortened", 2, lease)
	s.settle(
		queue.Verdict{Lease: got[0].Lease, Kind: queue.Extend, Delay: long},
		queue.Verdict{Lease: got[1].Lease, Kind: queue.Extend, Delay: long},
	)
	held := s.wantLeases("ends", 1, lease)
	s.settle(queue.Verdict{Lease: got[1].Lease, Kind: queue.Extend, Delay: time.Millisecond})
	start := time.Now()
	s.settle(queue.Verdict{Lease: held[0].Lease, Kind: queue.Extend, Delay: 2 * lease})
	came := s.come(2, func(l queue.Leased) {
		if early := 2*lease - time.Since(start); l.ID == "ends" && early > grace {
			s.Errorf("a lease that was extended ended %s early", early)
		}
	})
	if came != "shortened ends" {
		s.Errorf("Pull() = %q, want %q", came, "shortened ends")
	}
	s.wantCounts(counts{leased: 3})
	s.done(got[0])
}

func progressIsKept(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	binary := []byte("\x00\xff'\\x00")
	large := make([]byte, 64<<10)
	extend := func(l queue.Leased, progress []byte) {
		s.Helper()
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: long, Progress: progress})
	}
	l := s.pullOne("a")
	for _, c := range []struct {
		kept, want []byte
		end        queue.VerdictKind
	}{
		{nil, nil, queue.Retry},
		{[]byte("1 %"), []byte("1 %"), queue.Release},
		{nil, []byte("1 %"), queue.Retry},
		{binary, binary, queue.Retry},
		{large, large, queue.Release},
		{[]byte{}, nil, queue.Retry},
	} {
		if c.kept != nil {
			extend(l, []byte("an earlier one"))
		}
		extend(l, c.kept)
		s.settle(queue.Verdict{Lease: l.Lease, Kind: c.end})
		l = s.pullOne("a")
		if string(l.Progress) != string(c.want) {
			s.Errorf("after Extend with %.50q: progress %.50q, want %.50q", c.kept, l.Progress, c.want)
		}
	}
	extend(l, binary)
	s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: time.Millisecond})
	if l = s.pullSoon(long)[0]; string(l.Progress) != string(binary) {
		s.Errorf("after a loss: progress %q, want %q", l.Progress, binary)
	}
}
