package queuetest

import (
	"bytes"
	"strings"
	"time"

	"snip/queue"
)

var taskMessageCases = []TaskCase{
	{
		Name: "TasksComeBackExactly",
		Rule: "A task is kept byte for byte: its body, headers and key of any bytes, its ID and type of any text, its message's time to the nanosecond, its deadline to the microsecond.",
		run:  tasksComeBackExactly,
	},
	{
		Name: "IDsAreToldApartByTheirBytes",
		Rule: "Two IDs are the same if their bytes are.",
		run:  idsAreToldApartByTheirBytes,
	},
	{
		Name: "NothingOfATaskIsShared",
		Rule: "What a caller passes in is not kept after the call, and what is returned is the caller's to change.",
		run:  nothingOfATaskIsShared,
	},
	{
		Name: "ALargeTaskIsTaken",
		Rule: "A task just below Caps.MaxTaskBytes comes back whole.",
		run:  aLargeTaskIsTaken,
	},
}

// oddTasks are tasks as nobody expects them. Their IDs differ.
func oddTasks() []queue.Task {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	deadline := time.Now().Add(long).Truncate(time.Microsecond)
	return []queue.Task{
		{Message: queue.Message{ID: "1", Type: "t"}},
		{Message: queue.Message{ID: "'; DROP TABLE tasks; --", Type: "'\"`$1?:x@%_\\", Body: every}, Deadline: deadline},
		{Message: queue.Message{ID: " \t\r\n\x01\x7f", Type: " ", Key: "\xff\x00k"}},
		{Message: queue.Message{ID: strings.Repeat("ü", 100), Type: strings.Repeat("x", 100)}},
		{Message: queue.Message{ID: "日本語-🜁-\u202e", Type: "日本", Time: time.Unix(1_000_000_000, 123_456_789).UTC()}},
		{Message: queue.Message{ID: "times", Type: "t", Time: time.Unix(-1, 1).UTC()}, Deadline: deadline.In(time.FixedZone("", 3*60*60))},
		{Message: queue.Message{ID: "headers", Type: "t", Headers: map[string]string{"": "", "a": "\x00\xff", "\xff": "b", "Content-Type": "text/plain; charset=utf-8"}}},
		{Message: queue.Message{ID: "large", Type: "t", Body: bytes.Repeat([]byte{0, 0xff, '\n', '\''}, 256<<10/4)}},
		{Message: queue.Message{ID: "{a,\"b\",NULL}", Type: "{}", Body: []byte("\x00")}},
	}
}

// types are those of the tasks.
func types(tasks []queue.Task) []string {
	var all []string
	for _, t := range tasks {
		all = append(all, t.Type)
	}
	return all
}

// sameTask leaves out when they are due.
func sameTask(a, b queue.Task) bool {
	return same(a.Message, b.Message) && a.Deadline.Truncate(time.Microsecond).Equal(b.Deadline.Truncate(time.Microsecond)) &&
		a.Deadline.IsZero() == b.Deadline.IsZero()
}

func tasksComeBackExactly(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	want := oddTasks()
	s.push(want[0])
	s.push(want[1:]...)
	got := s.pullTasks(want)
	// What a task goes through changes nothing of it.
	for _, l := range got {
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Retry, Error: l.ID})
	}
	s.pullTasks(want)
}

// pullTasks leases all tasks of some types, and wants them to be these, as they were
// pushed.
func (s *taskSuite) pullTasks(want []queue.Task) []queue.Leased {
	s.Helper()
	got := s.request(queue.PullRequest{Types: types(want), Max: many, Lease: long}).Tasks
	if len(got) != len(want) {
		s.Fatalf("Pull() = %d tasks, want %d", len(got), len(want))
	}
	for i, l := range got {
		if !sameTask(l.Task, want[i]) {
			s.Errorf("task %d = %.300q, deadline %s, want %.300q, deadline %s", i, l.Message, l.Deadline, want[i].Message, want[i].Deadline)
		}
	}
	return got
}

func idsAreToldApartByTheirBytes(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	ids := []string{"a", "A", "a ", " a", "\u00e9", "e\u0301", "ss", "ß", "%", "_", "0", "00", "a\n"}
	var tasks []queue.Task
	for _, id := range ids {
		tasks = append(tasks, job(id))
	}
	s.push(tasks...)
	s.skipped(tasks...)
	got := s.pullTasks(tasks)
	s.done(got[0])
	s.skipped(job("a"))
	s.bury(got[1])
	s.push(job("A"))
}

func nothingOfATaskIsShared(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDone: long})
	task := job("a")
	task.Body, task.Headers = []byte("body"), map[string]string{"name": "value"}
	want := job("a")
	want.Body, want.Headers = []byte("body"), map[string]string{"name": "value"}
	spoil := func(m queue.Message) {
		m.Body[0] = 'X'
		m.Headers["name"] = "X"
	}
	s.push(task)
	spoil(task.Message)
	for range 3 {
		l := s.pullOne("a")
		if !sameTask(l.Task, want) {
			s.Fatalf("task = %q, want %q", l.Message, want.Message)
		}
		if l.Progress != nil && string(l.Progress) != "progress" {
			s.Fatalf("progress = %q", l.Progress)
		}
		progress := []byte("progress")
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: long, Progress: progress})
		spoil(l.Message)
		copy(progress, "XXXXXXXX")
		copy(l.Progress, "XXXXXXXX")
		s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Release})
	}
	if !controls(s.engine) {
		return
	}
	result := []byte("result")
	s.settle(queue.Verdict{Lease: s.pullOne("a").Lease, Kind: queue.Done, Result: result})
	copy(result, "XXXXXX")
	for range 2 {
		info := s.get("a")
		if !sameTask(info.Task, want) || string(info.Result) != "result" || string(info.Progress) != "progress" {
			s.Fatalf("Get() = %q, progress %q, result %q", info.Message, info.Progress, info.Result)
		}
		spoil(info.Message)
		copy(info.Progress, "XXXXXXXX")
		copy(info.Result, "XXXXXX")
	}
}

func aLargeTaskIsTaken(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	task := job("a")
	task.Body = bytes.Repeat([]byte("x"), s.engine.Caps().MaxTaskBytes-1000)
	task.Body[len(task.Body)-1] = 'y'
	s.push(task)
	if got := s.pullOne("a"); !sameTask(got.Task, task) {
		s.Errorf("a task of %d bytes came back with %d", len(task.Body), len(got.Body))
	}
}
