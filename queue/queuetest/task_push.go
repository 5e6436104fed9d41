package queuetest

import (
	"strings"
	"time"

	"snip/queue"
)

var taskPushCases = []TaskCase{
	{
		Name: "WhatIsPushedIsPulled",
		Rule: "A task whose Push returned is there for the next pull. One without an ID gets a random one, which the result names.",
		run:  whatIsPushedIsPulled,
	},
	{
		Name: "AnIDIsPushedOnce",
		Rule: "A task whose ID is in the queue, ready, delayed or leased, is skipped and changes nothing; so is one whose ID came before in the same call. The results are in the order of the tasks.",
		run:  anIDIsPushedOnce,
	},
	{
		Name: "PushingNothingDoesNothing",
		Rule: "A push of no tasks does nothing.",
		run:  func(s *taskSuite) { s.declare(queue.QueueConfig{}); s.offer(); s.wantCounts(counts{}) },
	},
	{
		Name: "ATaskOutOfRangeIsRefused",
		Rule: "A push with a task that no engine takes is refused with an error that names the field, and none of its tasks is pushed.",
		run:  aTaskOutOfRangeIsRefused,
	},
	{
		Name: "ADelayedTaskIsNeverEarly",
		Rule: "A task pushed for a time, or with a delay, is never pulled before that, and is pulled after it. No lease counts meanwhile.",
		run:  aDelayedTaskIsNeverEarly,
	},
	{
		Name: "APastTimeIsNow",
		Rule: "A task pushed for a time that is over is due at once.",
		run:  aPastTimeIsNow,
	},
	{
		Name: "ManyTasksAtOnceAreTaken",
		Rule: "Ten thousand tasks can be pushed, pulled and settled, each at once.",
		run:  manyTasksAtOnceAreTaken,
	},
}

func whatIsPushedIsPulled(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	results := s.offer(job(""), job(""))
	one, two := results[0].ID, results[1].ID
	if !results[0].Pushed || !results[1].Pushed || one == two {
		s.Fatalf("Push() without IDs = %+v, want two that were pushed", results)
	}
	s.wantPull("a " + one + " " + two)
	s.skipped(job(one))
}

func anIDIsPushedOnce(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("leased"))
	s.wantPull("leased")
	s.push(job("ready"), delayed("delayed", long))
	again := jobs("ready new leased new delayed last")
	for i := range again {
		again[i].Body = []byte("second")
	}
	again[2].Deadline = time.Now().Add(long)
	var pushed []string
	for _, r := range s.offer(again...) {
		if r.Pushed {
			pushed = append(pushed, r.ID)
		}
	}
	if got := strings.Join(pushed, " "); got != "new last" {
		s.Errorf("Push() took %q, want %q", got, "new last")
	}
	s.wantCounts(counts{ready: 3, delayed: 1, leased: 1})
	for _, l := range s.wantPull("ready new last") {
		if want := map[bool]string{true: "", false: "second"}[l.ID == "ready"]; string(l.Body) != want {
			s.Errorf("task %q has body %q, want %q", l.ID, l.Body, want)
		}
	}
}

func aTaskOutOfRangeIsRefused(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	now := time.Now()
	message := func(id, kind string) queue.Message { return queue.Message{ID: id, Type: kind} }
	large := message("x", send)
	large.Body = make([]byte, s.engine.Caps().MaxTaskBytes)
	for _, c := range []struct {
		field string
		task  queue.Task
	}{
		{"ID", queue.Task{Message: message(strings.Repeat("x", 201), send)}},
		{"ID", queue.Task{Message: message("\xff", send)}},
		{"ID", queue.Task{Message: message("a\x00", send)}},
		{"Type", queue.Task{Message: message("x", "")}},
		{"Type", queue.Task{Message: message("x", strings.Repeat("x", 101))}},
		{"Type", queue.Task{Message: message("x", "\xff")}},
		{"Type", queue.Task{Message: message("x", "a\x00")}},
		{"Delay", queue.Task{Message: message("x", send), Delay: -1}},
		{"Delay", queue.Task{Message: message("x", send), Delay: 11 * 366 * 24 * time.Hour}},
		{"Delay", queue.Task{Message: message("x", send), Delay: 1, At: now}},
		{"At", queue.Task{Message: message("x", send), At: now.AddDate(11, 0, 0)}},
		{"Deadline", queue.Task{Message: message("x", send), Deadline: now.Add(-time.Second)}},
		{"Deadline", queue.Task{Message: message("x", send), Deadline: now.Add(long), Delay: 2 * long}},
		{"Body", queue.Task{Message: large}},
	} {
		_, err := s.engine.Push(s.Context(), mail, []queue.Task{job("good"), c.task})
		if err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), "task 1") {
			s.Errorf("Push() of %.50q, %.50q, at %s, delay %s, deadline %s = %v, want an error that names task 1 and %s",
				c.task.ID, c.task.Type, c.task.At, c.task.Delay, c.task.Deadline, err, c.field)
		}
	}
	if _, err := s.engine.Push(s.Context(), mail, make([]queue.Task, 10_001)); err == nil {
		s.Error("Push() took 10001 tasks")
	}
	s.wantCounts(counts{})
	s.push(job("good")) // A push that was refused takes no ID.
}

// grace is how far two clocks of one machine are apart, and what rounding takes.
const grace = 2 * time.Millisecond

func aDelayedTaskIsNeverEarly(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	const delay = 300 * time.Millisecond
	start := time.Now()
	at := job("at")
	at.At = start.Add(delay)
	s.push(at, delayed("delay", delay), delayed("hour", long))
	came := s.come(2, func(l queue.Leased) {
		if early := delay - time.Since(start); early > grace {
			s.Errorf("task %q came %s early", l.ID, early)
		}
		if l.Lost != 0 || l.Delay != 0 || l.At.Before(start.Add(delay-grace)) || l.At.After(time.Now()) {
			s.Errorf("task %q came with delay %s, due at %s, lost %d times, want none, and when it was due", l.ID, l.Delay, l.At, l.Lost)
		}
	})
	if came != "at delay" {
		s.Errorf("Pull() = %q, want %q", came, "at delay")
	}
	s.wantCounts(counts{delayed: 1, leased: 2})
}

func aPastTimeIsNow(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	old := job("a")
	old.At = time.Now().Add(-long)
	ancient := job("b")
	ancient.At = time.Unix(1, 0)
	s.push(old, ancient)
	for _, l := range s.pull() {
		if l.At.Before(time.Now().Add(-patience)) {
			s.Errorf("task %q was due at %s, want about now", l.ID, l.At)
		}
	}
	s.wantCounts(counts{leased: 2})
}

func manyTasksAtOnceAreTaken(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	const n = 10_000
	tasks := make([]queue.Task, n)
	for i := range tasks {
		tasks[i] = job("")
	}
	s.push(tasks...)
	got := s.request(queue.PullRequest{Max: n, Lease: long}).Tasks
	var verdicts []queue.Verdict
	seen := map[string]bool{}
	for _, l := range got {
		seen[l.ID] = true
		verdicts = append(verdicts, queue.Verdict{Lease: l.Lease, Kind: queue.Done})
	}
	if len(seen) != n || len(got) != n {
		s.Errorf("Pull() = %d tasks, %d of them different, want %d", len(got), len(seen), n)
	}
	s.settle(verdicts...)
	s.wantCounts(counts{})
}
