package queuetest

import (
	"errors"
	"strings"
	"time"

	"snip/queue"
)

func controls(e queue.TaskEngine) bool {
	_, ok := e.(queue.Controls)
	return ok
}

var taskControlCases = []TaskCase{
	{
		Name:  "GetFindsATaskWhereverItStands",
		Rule:  "Get finds a task by its ID, says where it stands, and tells everything of it: its message, times, counters, last error and progress.",
		needs: controls,
		run:   getFindsATaskWhereverItStands,
	},
	{
		Name:  "GetFollowsAnID",
		Rule:  "Of an ID that was used again after its task had died, Get finds the one that lives, else the one that died last.",
		needs: controls,
		run:   getFollowsAnID,
	},
	{
		Name:  "CancelRemovesATask",
		Rule:  "Cancel removes a task that is ready, delayed or leased, and forgets its ID; its lease is lost. One that is done or dead is ErrNotFound.",
		needs: controls,
		run:   cancelRemovesATask,
	},
	{
		Name:  "ReplaceTakesThePlace",
		Rule:  "Replace puts a task in the place of one that is ready or delayed, with its own message and times, its counters at zero, and no more room taken.",
		needs: controls,
		run:   replaceTakesThePlace,
	},
	{
		Name:  "ALeasedTaskIsNotReplaced",
		Rule:  "Replacing a task that is leased is ErrConflict and changes nothing. Once its lease is over it can be replaced, and the lease is lost.",
		needs: controls,
		run:   aLeasedTaskIsNotReplaced,
	},
	{
		Name:  "ReplaceRefusesWhatPushDoes",
		Rule:  "Replacing with a task that no engine takes, or that names no ID, is refused with an error that names the field.",
		needs: controls,
		run:   replaceRefusesWhatPushDoes,
	},
	{
		Name:  "WhatIsNotThereIsNotFound",
		Rule:  "Getting, cancelling or replacing a task that is not there is ErrNotFound.",
		needs: controls,
		run:   whatIsNotThereIsNotFound,
	},
}

func (s *taskSuite) controls() queue.Controls { return s.engine.(queue.Controls) }

func (s *taskSuite) get(id string) queue.TaskInfo {
	s.Helper()
	info, err := s.controls().Get(s.Context(), mail, id)
	if err != nil {
		s.Fatalf("Get(%q) = %v", id, err)
	}
	if info.ID != id {
		s.Errorf("Get(%q) = task %q", id, info.ID)
	}
	return info
}

func (s *taskSuite) wantNoTask(id string) {
	s.Helper()
	if info, err := s.controls().Get(s.Context(), mail, id); !errors.Is(err, queue.ErrNotFound) {
		s.Errorf("Get(%q) = %+v, %v, want %v", id, info, err, queue.ErrNotFound)
	}
}

func (s *taskSuite) cancel(id string) {
	s.Helper()
	if err := s.controls().Cancel(s.Context(), mail, id); err != nil {
		s.Errorf("Cancel(%q) = %v", id, err)
	}
}

func (s *taskSuite) replace(t queue.Task) {
	s.Helper()
	if err := s.controls().Replace(s.Context(), mail, t); err != nil {
		s.Errorf("Replace(%q) = %v", t.ID, err)
	}
}

func getFindsATaskWhereverItStands(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDone: long})
	task := oddTasks()[1]
	task.At = time.Now().Add(long).Truncate(time.Microsecond)
	task.Deadline = task.At.Add(long)
	before := time.Now().Add(-grace)
	s.push(task)
	var wantFailed, wantLost, wantReleased int
	want := func(state queue.TaskState, err, progress string) queue.TaskInfo {
		s.Helper()
		info := s.get(task.ID)
		if info.State != state {
			s.Errorf("task is %s, want %s", info.State, state)
		}
		if !sameTask(info.Task, task) || info.Delay != 0 {
			s.Errorf("task = %.300q, deadline %s, want %.300q, deadline %s", info.Message, info.Deadline, task.Message, task.Deadline)
		}
		if info.Failed != wantFailed || info.Lost != wantLost || info.Released != wantReleased {
			s.Errorf("failed %d, lost %d, released %d times, want %d, %d, %d",
				info.Failed, info.Lost, info.Released, wantFailed, wantLost, wantReleased)
		}
		if info.Error != err || string(info.Progress) != progress {
			s.Errorf("error %q, progress %q, want %q and %q", info.Error, info.Progress, err, progress)
		}
		if info.Pushed.Before(before) || info.Pushed.After(time.Now().Add(grace)) {
			s.Errorf("pushed at %s, want from %s until now", info.Pushed, before)
		}
		if ended := state == queue.StateDead || state == queue.StateDone; ended == info.Ended.IsZero() {
			s.Errorf("task is %s, and ended at %s", state, info.Ended)
		}
		return info
	}
	pull := func(lease time.Duration) queue.Leased {
		s.Helper()
		got := s.request(queue.PullRequest{Types: []string{task.Type}, Max: 1, Lease: lease}).Tasks
		if len(got) != 1 {
			s.Fatalf("Pull() = %d tasks, want 1", len(got))
		}
		return got[0]
	}
	if info := want(queue.StateDelayed, "", ""); !info.At.Equal(task.At) {
		s.Errorf("due at %s, want %s", info.At, task.At)
	}
	now := task
	now.At = time.Time{}
	s.replace(now)
	want(queue.StateReady, "", "")
	l := pull(long)
	if info := want(queue.StateLeased, "", ""); info.At.Sub(l.At).Abs() > grace {
		s.Errorf("a leased task was due at %s, want %s", info.At, l.At)
	}
	s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: long, Progress: []byte("\x00half")})
	want(queue.StateLeased, "", "\x00half")
	s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Retry, Error: "first"})
	wantFailed++
	want(queue.StateReady, "first", "\x00half")
	s.settle(queue.Verdict{Lease: pull(long).Lease, Kind: queue.Release})
	wantReleased++
	want(queue.StateReady, "first", "\x00half")
	pull(time.Millisecond)
	s.ready(1)
	want(queue.StateReady, "first", "\x00half") // Nobody has found it lost.
	l = pull(long)
	wantLost++
	want(queue.StateLeased, "first", "\x00half")
	s.settle(queue.Verdict{Lease: l.Lease, Kind: queue.Retry, Error: "second", Delay: long})
	wantFailed++
	if info := want(queue.StateDelayed, "second", "\x00half"); time.Until(info.At) < long-patience || time.Until(info.At) > long {
		s.Errorf("due at %s, want in %s", info.At, long)
	}
	s.cancel(task.ID)

	wantFailed, wantLost, wantReleased = 0, 0, 0
	s.push(now)
	s.settle(queue.Verdict{Lease: pull(long).Lease, Kind: queue.Bury, Reason: queue.ReasonLost, Error: "third"})
	want(queue.StateDead, "third", "")
	s.push(now)
	s.done(pull(long))
	want(queue.StateDone, "", "")
}

func getFollowsAnID(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	for _, body := range []string{"first", "second", "third"} {
		task := job("a")
		task.Body = []byte(body)
		s.push(task)
		if info := s.get("a"); info.State != queue.StateReady || string(info.Body) != body {
			s.Errorf("Get() = %s, %q, want it ready, %q", info.State, info.Body, body)
		}
		s.bury(s.pullOne("a"))
		if info := s.get("a"); info.State != queue.StateDead || string(info.Body) != body {
			s.Errorf("Get() = %s, %q, want it dead, %q", info.State, info.Body, body)
		}
	}
}

func cancelRemovesATask(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 3, KeepDone: long})
	s.push(job("leased"))
	held := s.pullOne("leased")
	s.push(job("ready"), delayed("delayed", long))
	for _, id := range []string{"leased", "ready", "delayed"} {
		s.cancel(id)
		s.wantNoTask(id)
	}
	s.wantCounts(counts{})
	s.wantLost(everyVerdict(held.Lease)...)
	s.push(jobs("leased ready delayed")...) // Their IDs are free, and so is their place.
	s.wantLost(everyVerdict(held.Lease)...)
	got := s.wantPull("leased ready delayed")
	s.done(got[0])
	s.bury(got[1])
	for _, id := range []string{"leased", "ready"} {
		if err := s.controls().Cancel(s.Context(), mail, id); !errors.Is(err, queue.ErrNotFound) {
			s.Errorf("Cancel() of a task that has ended = %v, want %v", err, queue.ErrNotFound)
		}
	}
	s.wantCounts(counts{leased: 1, dead: 1, kept: 1})
}

func replaceTakesThePlace(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 2})
	s.push(jobs("a b")...)
	got := s.wantPull("a b")
	s.settle(queue.Verdict{Lease: got[0].Lease, Kind: queue.Extend, Delay: long, Progress: []byte("half")})
	s.settle(queue.Verdict{Lease: got[0].Lease, Kind: queue.Retry, Error: "failed"})
	before := time.Now().Add(-grace)
	other := oddTasks()[6]
	other.ID = "a"
	other.Deadline = time.Now().Add(2 * long).Truncate(time.Microsecond)
	other.Delay = long
	s.replace(other)
	s.wantCounts(counts{delayed: 1, leased: 1})
	s.wantFull(job("c"))
	info := s.get("a")
	if !sameTask(info.Task, other) || info.State != queue.StateDelayed || info.Failed != 0 || info.Error != "" || info.Progress != nil {
		s.Errorf("Get() = %+v, want the new one, as new", info)
	}
	if info.Pushed.Before(before) || time.Until(info.At) < long-patience || time.Until(info.At) > long {
		s.Errorf("pushed at %s, due at %s, want now, and in %s", info.Pushed, info.At, long)
	}
	other.Delay = 0
	other.Type = send
	s.replace(other)
	back := s.pullOne("a")
	if !sameTask(back.Task, other) || back.Failed != 0 || back.Lost != 0 {
		s.Errorf("Pull() = %+v, want the new one, as new", back)
	}
	s.done(back)
	s.skipped(job("a"))
	s.wantCounts(counts{leased: 1})
}

func aLeasedTaskIsNotReplaced(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	held := s.pullOne("a")
	other := job("a")
	other.Body = []byte("other")
	if err := s.controls().Replace(s.Context(), mail, other); !errors.Is(err, queue.ErrConflict) {
		s.Errorf("Replace() of a leased task = %v, want %v", err, queue.ErrConflict)
	}
	if got := s.get("a"); len(got.Body) != 0 || got.State != queue.StateLeased {
		s.Errorf("Get() = %s, %q, want it as it was", got.State, got.Body)
	}
	s.settle(queue.Verdict{Lease: held.Lease, Kind: queue.Extend, Delay: time.Millisecond})
	s.ready(1)
	s.replace(other)
	s.wantLost(everyVerdict(held.Lease)...)
	back := s.pullOne("a")
	if string(back.Body) != "other" || back.Lost != 0 {
		s.Errorf("Pull() = %q, lost %d times, want the new one", back.Body, back.Lost)
	}
	s.wantLost(everyVerdict(held.Lease)...)
}

func replaceRefusesWhatPushDoes(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.push(job("a"))
	wrong := job("a")
	wrong.Delay = -1
	nameless := job("")
	untyped := queue.Task{Message: queue.Message{ID: "a"}}
	for field, t := range map[string]queue.Task{"ID": nameless, "Delay": wrong, "Type": untyped} {
		if err := s.controls().Replace(s.Context(), mail, t); err == nil || !strings.Contains(err.Error(), field) {
			s.Errorf("Replace(%+v) = %v, want an error that names %s", t, err, field)
		}
	}
	s.wantPull("a")
}

func whatIsNotThereIsNotFound(s *taskSuite) {
	s.declare(queue.QueueConfig{Remember: -1})
	s.push(jobs("done dead")...)
	got := s.wantPull("done dead")
	s.done(got[0])
	s.bury(got[1])
	for _, id := range []string{"never", "", "done", "DEAD"} {
		s.wantNoTask(id)
	}
	for _, id := range []string{"never", "done", "dead"} {
		for call, err := range map[string]error{
			"Cancel":  s.controls().Cancel(s.Context(), mail, id),
			"Replace": s.controls().Replace(s.Context(), mail, job(id)),
		} {
			if !errors.Is(err, queue.ErrNotFound) {
				s.Errorf("%s(%q) = %v, want %v", call, id, err, queue.ErrNotFound)
			}
		}
	}
	s.wantCounts(counts{dead: 1})
}
