package queuetest

import (
	"strings"
	"time"

	"snip/queue"
)

var taskPullCases = []TaskCase{
	{
		Name: "TheLongestDueComesFirst",
		Rule: "A pull takes at most its Max of the tasks that are due, the longest due first; of those due at the same moment, the one that was pushed first. A task that is due again is due since then.",
		run:  theLongestDueComesFirst,
	},
	{
		Name: "OnlyTypesThatAreKnown",
		Rule: "A pull takes only the types it names; others are left, in their order, to others.",
		run:  onlyTypesThatAreKnown,
	},
	{
		Name: "AnExpiredTaskSaysSo",
		Rule: "A task that is leased after its deadline is marked as expired; one that is leased before is not.",
		run:  anExpiredTaskSaysSo,
	},
	{
		Name: "ALeasedTaskTellsItsStory",
		Rule: "A leased task says when it was pushed and since when it is due, by the engine's clock, and starts with all its counters at zero and without progress.",
		run:  aLeasedTaskTellsItsStory,
	},
	{
		Name: "APullOutOfRangeIsRefused",
		Rule: "A pull that no engine carries out is refused with an error that names the field.",
		run:  aPullOutOfRangeIsRefused,
	},
}

func theLongestDueComesFirst(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(delayed("c", 60*time.Millisecond), delayed("a", 20*time.Millisecond), delayed("b", 40*time.Millisecond))
	s.ready(3)
	s.push(jobs("z y x")...)
	for _, want := range []string{"a b", "c z", "y x", ""} {
		s.wantLeases(want, 2, long)
	}

	s.push(jobs("1 2 3")...)
	first := s.wantLeases("1 2", 2, long)
	tick()
	s.settle(queue.Verdict{Lease: first[1].Lease, Kind: queue.Release})
	tick()
	s.settle(queue.Verdict{Lease: first[0].Lease, Kind: queue.Retry})
	tick()
	s.push(job("4"))
	s.wantPull("3 2 1 4")
}

func onlyTypesThatAreKnown(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	kinds := []string{"a", "b", "A", "a ", "a", "é", "c", "b"}
	var tasks []queue.Task
	for i, kind := range kinds {
		t := job(string(rune('0' + i)))
		t.Type = kind
		tasks = append(tasks, t)
	}
	s.push(tasks...)
	for _, c := range []struct {
		types []string
		max   int
		want  string
	}{
		{[]string{"x", ""}, many, ""},
		{[]string{"b"}, 1, "1"},
		{[]string{"c", "b", "c"}, many, "6 7"},
		{[]string{"é"}, many, "5"},
		{[]string{"a"}, many, "0 4"},
		{[]string{"a", "A", "a ", "b"}, many, "2 3"},
	} {
		got := leasedNames(s.request(queue.PullRequest{Types: c.types, Max: c.max, Lease: long}).Tasks)
		if got != c.want {
			s.Errorf("Pull() of types %q = %q, want %q", c.types, got, c.want)
		}
	}

	// However many of another type stand in front.
	front := make([]queue.Task, 3000)
	for i := range front {
		front[i] = queue.Task{Message: queue.Message{Type: "front"}}
	}
	s.push(front...)
	s.push(job("behind"))
	s.wantPull("behind")
}

func anExpiredTaskSaysSo(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	const soon = time.Second
	short, far := job("short"), job("far")
	short.Deadline, far.Deadline = time.Now().Add(soon), time.Now().Add(long)
	s.push(short, far, job("none"), delayed("later", soon+50*time.Millisecond))
	for _, l := range s.wantLeases("short", 1, time.Millisecond) {
		if l.Expired && time.Until(l.Deadline) > 0 {
			s.Errorf("task %q is expired %s before its deadline", l.ID, time.Until(l.Deadline))
		}
	}
	s.ready(4)
	for _, l := range s.pull() {
		if want := l.ID == "short"; l.Expired != want {
			s.Errorf("task %q: Expired = %t, want %t", l.ID, l.Expired, want)
		}
	}
	s.wantCounts(counts{leased: 4})
}

func aLeasedTaskTellsItsStory(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	before := time.Now().Add(-grace)
	s.push(job("a"))
	after := time.Now().Add(grace)
	l := s.pullOne("a")
	if l.Pushed.Before(before) || l.Pushed.After(after) || l.At.Before(before) || l.At.After(after) {
		s.Errorf("pushed at %s, due at %s, want both from %s to %s", l.Pushed, l.At, before, after)
	}
	if l.Failed != 0 || l.Lost != 0 || l.Released != 0 || l.Expired || l.Progress != nil || l.Delay != 0 || !l.Deadline.IsZero() {
		s.Errorf("a new task = %+v, want nothing of a past", l)
	}
	again := time.Now().Add(-grace)
	s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Release})
	back := s.pullOne("a")
	if !back.Pushed.Equal(l.Pushed) {
		s.Errorf("after a release it was pushed at %s, before that at %s", back.Pushed, l.Pushed)
	}
	if back.At.Before(again) || back.At.After(time.Now().Add(grace)) {
		s.Errorf("after a release it is due at %s, want since the release", back.At)
	}
}

func aPullOutOfRangeIsRefused(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	known := []string{send}
	for _, c := range []struct {
		field string
		pull  queue.PullRequest
	}{
		{"Types", queue.PullRequest{Max: 1, Lease: long}},
		{"Max", queue.PullRequest{Types: known, Lease: long}},
		{"Max", queue.PullRequest{Types: known, Max: -1, Lease: long}},
		{"Max", queue.PullRequest{Types: known, Max: 10_001, Lease: long}},
		{"Lease", queue.PullRequest{Types: known, Max: 1}},
		{"Lease", queue.PullRequest{Types: known, Max: 1, Lease: time.Millisecond - 1}},
		{"Lease", queue.PullRequest{Types: known, Max: 1, Lease: -long}},
		{"AloneFrom", queue.PullRequest{Types: known, Max: 1, Lease: long, AloneFrom: -1}},
	} {
		if _, err := s.engine.Pull(s.Context(), mail, c.pull); err == nil || !strings.Contains(err.Error(), c.field) {
			s.Errorf("Pull(%+v) = %v, want an error that names %s", c.pull, err, c.field)
		}
	}
	s.wantPull("a")
}
