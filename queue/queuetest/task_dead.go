package queuetest

import (
	"strings"
	"time"

	"snip/queue"
)

func deadLetters(e queue.TaskEngine) bool {
	_, ok := e.(queue.DeadLetters)
	return ok
}

var taskDeadCases = []TaskCase{
	{
		Name:  "ADeadLetterKeepsEverything",
		Rule:  "A dead letter keeps its message byte for byte, its deadline, its counters, its reason, its last error, and when it was pushed, due last, and buried. Failed counts the failure it was buried for.",
		needs: deadLetters,
		run:   aDeadLetterKeepsEverything,
	},
	{
		Name:  "DeadLettersAreListedInOrder",
		Rule:  "Dead letters are listed the longest dead first, as many as are asked for, from after a number on; numbers grow.",
		needs: deadLetters,
		run:   deadLettersAreListedInOrder,
	},
	{
		Name: "DeadLettersAreBounded",
		Rule: "Beyond MaxDead the oldest dead letters are dropped, and counted.",
		run:  deadLettersAreBounded,
	},
	{
		Name: "DeadLettersEnd",
		Rule: "A dead letter that is older than KeepDead is dropped, and counted.",
		run:  deadLettersEnd,
	},
	{
		Name: "ADeadTaskFreesItsID",
		Rule: "The ID of a dead task is free: it can be pushed again, and die again.",
		run:  aDeadTaskFreesItsID,
	},
}

func (s *taskSuite) graves() queue.DeadLetters { return s.engine.(queue.DeadLetters) }

func (s *taskSuite) list(after int64, limit int) []queue.DeadLetter {
	s.Helper()
	got, err := s.graves().ListDead(s.Context(), mail, after, limit)
	if err != nil {
		s.Fatalf("ListDead(%d, %d) = %v", after, limit, err)
	}
	if len(got) > limit {
		s.Fatalf("ListDead(%d, %d) = %d letters", after, limit, len(got))
	}
	return got
}

// dead lists all dead letters.
func (s *taskSuite) dead() []queue.DeadLetter {
	s.Helper()
	return s.list(0, many)
}

func deadNames(all []queue.DeadLetter) string {
	var tasks []queue.Task
	for _, d := range all {
		tasks = append(tasks, d.Task)
	}
	return names(tasks)
}

// wantDead compares the IDs of all dead letters.
func (s *taskSuite) wantDead(want string) []queue.DeadLetter {
	s.Helper()
	all := s.dead()
	if got := deadNames(all); got != want {
		s.Errorf("dead letters are %q, want %q", got, want)
	}
	if got := s.stats().Dead; got != int64(len(all)) {
		s.Errorf("QueueStats().Dead = %d, but %d are listed", got, len(all))
	}
	return all
}

// numbersOf are those of the dead letters of some IDs.
func (s *taskSuite) numbersOf(ids string) []int64 {
	s.Helper()
	var numbers []int64
	for id := range strings.FieldsSeq(ids) {
		for _, d := range s.dead() {
			if d.ID == id {
				numbers = append(numbers, d.Number)
			}
		}
	}
	return numbers
}

// wantCount compares how many Redrive or DeleteDead chose.
func (s *taskSuite) wantCount(call string, want int) func(int, error) {
	return func(got int, err error) {
		s.Helper()
		if err != nil || got != want {
			s.Errorf("%s() = %d, %v, want %d", call, got, err, want)
		}
	}
}

// kill pushes tasks and buries them in their order.
func (s *taskSuite) kill(ids string) {
	s.Helper()
	s.push(jobs(ids)...)
	s.bury(s.wantPull(ids)...)
}

func aDeadLetterKeepsEverything(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	want := oddTasks()
	before := time.Now().Add(-grace)
	s.push(want...)
	reasons := []queue.Reason{queue.ReasonFailed, queue.ReasonLost, queue.ReasonExpired, "no such user's 名"}
	for i, l := range s.pullTasks(want) {
		switch i % 3 {
		case 0:
			s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Retry, Error: "earlier"})
		case 1:
			s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Release})
		case 2:
			s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: time.Millisecond})
		}
	}
	s.ready(int64(len(want)))
	due := map[string]time.Time{}
	for i, task := range want {
		// One by one, so that they stand in their order.
		pulled := s.request(queue.PullRequest{Types: []string{task.Type}, Max: 1, Lease: long}).Tasks
		if len(pulled) != 1 {
			s.Fatalf("Pull() of type %q = %d tasks, want 1", task.Type, len(pulled))
		}
		due[pulled[0].ID] = pulled[0].At
		s.settle(queue.Verdict{Lease: pulled[0].Lease, Kind: queue.Bury, Reason: reasons[i%4], Error: "last '" + pulled[0].ID})
	}
	found := map[string]queue.DeadLetter{}
	for _, d := range s.dead() {
		found[d.ID] = d
	}
	var last int64
	for _, d := range s.dead() {
		if d.Number <= last {
			s.Errorf("dead letter %d comes after %d", d.Number, last)
		}
		last = d.Number
	}
	for i, task := range want {
		d, ok := found[task.ID]
		if !ok {
			s.Errorf("task %q is not among the dead letters", task.ID)
			continue
		}
		if !sameTask(d.Task, task) {
			s.Errorf("dead letter %d = %.300q, deadline %s, want %.300q, deadline %s", i, d.Message, d.Deadline, task.Message, task.Deadline)
		}
		if d.At.Sub(due[task.ID]).Abs() > grace || d.Delay != 0 {
			s.Errorf("task %q was due last at %s with delay %s, want %s", task.ID, d.At, d.Delay, due[task.ID])
		}
		if d.Error != "last '"+task.ID {
			s.Errorf("task %q died of %q", task.ID, d.Error)
		}
		counted := [3]int{}
		counted[[]int{0, 2, 1}[i%3]]++
		if d.Reason == queue.ReasonFailed {
			counted[0]++
		}
		if got := [3]int{d.Failed, d.Lost, d.Released}; got != counted {
			s.Errorf("task %q, buried as %q: failed, lost and released %v times, want %v", task.ID, d.Reason, got, counted)
		}
		now := time.Now().Add(grace)
		if d.Pushed.Before(before) || d.Buried.Before(d.Pushed) || d.Buried.After(now) {
			s.Errorf("task %q: pushed %s, buried %s, want both in this order from %s to %s", task.ID, d.Pushed, d.Buried, before, now)
		}
	}
}

func deadLettersAreListedInOrder(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.wantDead("")
	s.kill("a b c d e")
	all := s.wantDead("a b c d e")
	for i := range all {
		if i > 0 && (all[i].Number <= all[i-1].Number || all[i].Buried.Before(all[i-1].Buried)) {
			s.Errorf("dead letter %d, %s, comes after %d, %s", all[i].Number, all[i].Buried, all[i-1].Number, all[i-1].Buried)
		}
		want := []string{"b c", "c d", "d e", "e", ""}[i]
		if got := deadNames(s.list(all[i].Number, 2)); got != want {
			s.Errorf("ListDead() after %q = %q, want %q", all[i].ID, got, want)
		}
	}
	if got := deadNames(s.list(0, 1)); got != "a" {
		s.Errorf("ListDead() of one = %q, want %q", got, "a")
	}
	if got := deadNames(s.list(all[4].Number+1000, many)); got != "" {
		s.Errorf("ListDead() after the last = %q", got)
	}
	s.list(0, 0)
	s.kill("f")
	if got := deadNames(s.list(all[4].Number, many)); got != "f" {
		s.Errorf("ListDead() after what was the last = %q, want %q", got, "f")
	}
}

func deadLettersAreBounded(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxDead: 3})
	s.push(jobs("a b c d e")...)
	got := s.wantPull("a b c d e")
	wantStats := func(dead, dropped int64) {
		s.Helper()
		if stats := s.stats(); stats.Dead != dead || stats.DroppedDead != dropped || stats.Dropped != 0 {
			s.Errorf("%d dead, %d dropped, want %d and %d", stats.Dead, stats.DroppedDead, dead, dropped)
		}
	}
	s.bury(got[:3]...)
	wantStats(3, 0)
	s.bury(got[3:]...)
	wantStats(3, 2)
	if deadLetters(s.engine) {
		s.wantDead("c d e")
	}
	s.push(jobs("f g h i")...)
	var verdicts []queue.Verdict
	for _, l := range s.wantPull("f g h i") {
		verdicts = append(verdicts, queue.Verdict{Lease: l.Lease, Kind: queue.Bury, Reason: queue.ReasonFailed})
	}
	s.settle(verdicts...) // More at once than are kept.
	wantStats(3, 6)
	s.declare(queue.QueueConfig{MaxDead: 1})
	s.push(job("j"))
	s.bury(s.pullOne("j"))
	wantStats(1, 9)
	if deadLetters(s.engine) {
		s.wantDead("j")
	}
}

func deadLettersEnd(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDead: 50 * time.Millisecond})
	s.push(jobs("a b")...)
	got := s.wantPull("a b")
	s.bury(got...)
	s.eventually("dropped", func() bool { return s.stats().Dead == 0 })
	if stats := s.stats(); stats.DroppedDead != 2 || !stats.OldestDead.IsZero() {
		s.Errorf("%d dead letters were dropped, the oldest is of %s, want 2 and none", stats.DroppedDead, stats.OldestDead)
	}
	if deadLetters(s.engine) {
		s.wantDead("")
		s.wantCount("Redrive", 0)(s.graves().Redrive(s.Context(), mail, nil, many))
	}
	s.wantPull("")
}

func aDeadTaskFreesItsID(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDone: long})
	for range 3 {
		s.kill("a")
	}
	s.wantCounts(counts{dead: 3})
	s.push(job("a"))
	s.done(s.pullOne("a"))
	s.skipped(job("a"))
}
