package queuetest

import (
	"errors"
	"strings"
	"time"

	"snip/queue"
)

var taskSettleCases = []TaskCase{
	{
		Name: "DoneIsGone",
		Rule: "A task that was acknowledged is gone, and never pulled again.",
		run:  doneIsGone,
	},
	{
		Name: "RetryIsDueAgainLater",
		Rule: "A task to be retried is due again after the delay of the verdict, and not before; without one at once.",
		run:  retryIsDueAgainLater,
	},
	{
		Name: "ReleaseIsDueAtOnce",
		Rule: "A task that was released is due at once.",
		run:  releaseIsDueAtOnce,
	},
	{
		Name: "BuriedIsNotPulled",
		Rule: "A task that was buried is a dead letter, and never pulled.",
		run:  buriedIsNotPulled,
	},
	{
		Name: "VerdictsAreAnsweredOneByOne",
		Rule: "Each verdict of a call is carried out or refused by itself, and the results are in their order.",
		run:  verdictsAreAnsweredOneByOne,
	},
	{
		Name: "SettlingAgainChangesNothing",
		Rule: "A verdict that comes again after it was carried out, in another call or in the same, answers nil or ErrLeaseLost and changes nothing.",
		run:  settlingAgainChangesNothing,
	},
	{
		Name: "NoLeaseNoVerdict",
		Rule: "A verdict under a lease that never was, on a task that is leased, ready, delayed or not there, is ErrLeaseLost and changes nothing.",
		run:  noLeaseNoVerdict,
	},
	{
		Name: "AVerdictOutOfRangeIsRefused",
		Rule: "A call with a verdict that no engine carries out is refused whole, with an error that names the verdict and the field.",
		run:  aVerdictOutOfRangeIsRefused,
	},
	{
		Name: "SettlingNothingDoesNothing",
		Rule: "A call without verdicts does nothing.",
		run:  func(s *taskSuite) { s.declare(queue.QueueConfig{}); s.settle() },
	},
}

func doneIsGone(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b c")...)
	got := s.wantPull("a b c")
	s.done(got[1])
	s.wantCounts(counts{leased: 2})
	s.done(got[0], got[2])
	s.wantCounts(counts{})
	s.wantPull("")
}

func retryIsDueAgainLater(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	const delay = 300 * time.Millisecond
	s.push(jobs("hour soon now")...)
	got := s.wantPull("hour soon now")
	start := time.Now()
	s.settle(
		queue.Verdict{Lease: got[0].Lease, Kind: queue.Retry, Delay: long},
		queue.Verdict{Lease: got[1].Lease, Kind: queue.Retry, Delay: delay},
		queue.Verdict{Lease: got[2].Lease, Kind: queue.Retry},
	)
	came := s.come(2, func(l queue.Leased) {
		if early := delay - time.Since(start); l.ID == "soon" && early > grace {
			s.Errorf("task %q came %s early", l.ID, early)
		}
		if l.Failed != 1 || l.Lost != 0 {
			s.Errorf("task %q: failed %d, lost %d times, want 1 and 0", l.ID, l.Failed, l.Lost)
		}
	})
	if came != "now soon" {
		s.Errorf("Pull() = %q, want %q", came, "now soon")
	}
	s.wantCounts(counts{delayed: 1, leased: 2})
}

func releaseIsDueAtOnce(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	for range 3 {
		s.settle(queue.Verdict{Lease: s.pullOne("a").Lease, Kind: queue.Release})
		s.wantCounts(counts{ready: 1})
	}
}

func buriedIsNotPulled(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b")...)
	s.bury(s.wantPull("a b")[0])
	s.wantCounts(counts{leased: 1, dead: 1})
	s.wantPull("")
}

func verdictsAreAnsweredOneByOne(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b c d e f g")...)
	got := s.wantPull("a b c d e f g")
	s.done(got[0], got[4])
	verdicts := []queue.Verdict{
		{Lease: got[6].Lease, Kind: queue.Release},
		{Lease: got[0].Lease, Kind: queue.Extend, Delay: long},
		{Lease: got[5].Lease, Kind: queue.Bury, Reason: queue.ReasonFailed},
		{Lease: got[1].Lease, Kind: queue.Done},
		{Lease: queue.Lease{Task: got[2].Lease.Task, Token: got[2].Lease.Token + 1000}, Kind: queue.Done},
		{Lease: got[3].Lease, Kind: queue.Retry, Delay: long},
		{Lease: got[4].Lease, Kind: queue.Extend, Delay: long},
		{Lease: got[2].Lease, Kind: queue.Extend, Delay: long},
	}
	lost := map[int]bool{1: true, 4: true, 6: true}
	for i, err := range s.verdicts(verdicts...) {
		if lost[i] != errors.Is(err, queue.ErrLeaseLost) || lost[i] != (err != nil) {
			s.Errorf("verdict %d, %s = %v, and whether its lease is lost is %t", i, verdicts[i].Kind, err, lost[i])
		}
	}
	s.wantCounts(counts{ready: 1, delayed: 1, leased: 1, dead: 1})
	s.wantPull("g")
}

func settlingAgainChangesNothing(s *taskSuite) {
	for _, kind := range []queue.VerdictKind{queue.Done, queue.Retry, queue.Release, queue.Bury} {
		s.declare(queue.QueueConfig{Remember: -1})
		s.push(job("a"))
		v := queue.Verdict{Lease: s.pullOne("a").Lease, Kind: kind, Reason: queue.ReasonFailed, Error: "first"}
		if results := s.verdicts(v, v); results[0] != nil {
			s.Errorf("%s = %v", kind, results[0])
		}
		v.Error = "second"
		for range 3 {
			if err := s.verdicts(v)[0]; err != nil && !errors.Is(err, queue.ErrLeaseLost) {
				s.Errorf("%s again = %v, want nil or %v", kind, err, queue.ErrLeaseLost)
			}
		}
		switch kind {
		case queue.Done:
			s.wantCounts(counts{})
		case queue.Bury:
			s.wantCounts(counts{dead: 1})
			if deadLetters(s.engine) {
				if d := s.wantDead("a")[0]; d.Failed != 1 || d.Error != "first" {
					s.Errorf("dead letter: failed %d times, %q, want 1 and %q", d.Failed, d.Error, "first")
				}
			}
		default:
			s.wantCounts(counts{ready: 1})
			l := s.pullOne("a")
			if l.Failed+l.Released != 1 || l.Lost != 0 {
				s.Errorf("after %s: failed %d, released %d, lost %d times, want one and no loss", kind, l.Failed, l.Released, l.Lost)
			}
			// Nor does it end the next lease.
			if err := s.verdicts(v)[0]; err != nil && !errors.Is(err, queue.ErrLeaseLost) {
				s.Errorf("%s again = %v, want nil or %v", kind, err, queue.ErrLeaseLost)
			}
			s.wantCounts(counts{leased: 1})
			s.done(l)
		}
	}
}

func noLeaseNoVerdict(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("leased back ready")...)
	got := s.wantLeases("leased back", 2, long)
	s.settle(queue.Verdict{Lease: got[1].Lease, Kind: queue.Retry, Delay: long, Error: "kept"})
	s.push(delayed("delayed", long))
	held := got[0].Lease
	want := counts{ready: 1, delayed: 2, leased: 1}
	for task := held.Task - 3; task < held.Task+10; task++ {
		if task == got[1].Lease.Task {
			continue // Its lease was, and a Retry may come again.
		}
		for _, token := range []int64{0, -1, held.Token + 1, held.Token + 1000, 1 << 62} {
			s.wantLost(everyVerdict(queue.Lease{Task: task, Token: token})...)
		}
	}
	s.wantLost(everyVerdict(queue.Lease{Task: held.Task + 1000, Token: held.Token})...)
	s.wantLost(everyVerdict(queue.Lease{Task: -1, Token: -1})...)
	s.wantCounts(want)
	s.done(got[0])
	s.wantPull("ready")
}

func aVerdictOutOfRangeIsRefused(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(jobs("a b")...)
	got := s.wantPull("a b")
	l := got[1].Lease
	large := make([]byte, 64<<10+1)
	for _, c := range []struct {
		field   string
		verdict queue.Verdict
	}{
		{"Kind", queue.Verdict{Lease: l}},
		{"Kind", queue.Verdict{Lease: l, Kind: queue.Extend + 1}},
		{"Delay", queue.Verdict{Lease: l, Kind: queue.Retry, Delay: -1}},
		{"Delay", queue.Verdict{Lease: l, Kind: queue.Retry, Delay: 11 * 366 * 24 * time.Hour}},
		{"Delay", queue.Verdict{Lease: l, Kind: queue.Extend}},
		{"Reason", queue.Verdict{Lease: l, Kind: queue.Bury}},
		{"Reason", queue.Verdict{Lease: l, Kind: queue.Bury, Reason: "\xff"}},
		{"Error", queue.Verdict{Lease: l, Kind: queue.Retry, Error: "\x00"}},
		{"Error", queue.Verdict{Lease: l, Kind: queue.Retry, Error: strings.Repeat("x", len(large))}},
		{"Result", queue.Verdict{Lease: l, Kind: queue.Done, Result: large}},
		{"Progress", queue.Verdict{Lease: l, Kind: queue.Extend, Delay: long, Progress: large}},
	} {
		_, err := s.engine.Settle(s.Context(), mail, []queue.Verdict{{Lease: got[0].Lease, Kind: queue.Done}, c.verdict})
		if err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), "verdict 1") {
			s.Errorf("Settle() of %s, delay %s = %v, want an error that names verdict 1 and %s", c.verdict.Kind, c.verdict.Delay, err, c.field)
		}
	}
	s.wantCounts(counts{leased: 2})
	s.done(got...)
}
