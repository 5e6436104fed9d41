package queuetest

import (
	"time"

	"snip/queue"
)

var taskRememberCases = []TaskCase{
	{
		Name: "ADoneIDIsRemembered",
		Rule: "The ID that a producer chose stays taken for a while after its task was done; one that was made at random does not.",
		run:  aDoneIDIsRemembered,
	},
	{
		Name: "ADoneIDIsForgotten",
		Rule: "After QueueConfig.Remember the ID is free; at once, where it is negative.",
		run:  aDoneIDIsForgotten,
	},
	{
		Name: "ADoneTaskIsKept",
		Rule: "For QueueConfig.KeepDone a task that is done is counted as kept, its ID stays taken whoever chose it, and Get finds it with its result.",
		run:  aDoneTaskIsKept,
	},
	{
		Name: "AKeptTaskIsForgotten",
		Rule: "After QueueConfig.KeepDone it is counted no more, Get does not find it, and its ID is free unless it is remembered.",
		run:  aKeptTaskIsForgotten,
	},
}

func aDoneIDIsRemembered(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	results := s.offer(job("a"), job(""))
	s.done(s.pull()...)
	s.skipped(jobs("a a")...)
	if controls(s.engine) {
		s.wantNoTask("a")
		s.wantNoTask(results[1].ID)
	}
	s.wantCounts(counts{})
	// What is remembered is in nobody's way, and no ID is that nobody chose.
	s.push(job("b"), job(results[1].ID))
	s.wantPull("b " + results[1].ID)
}

func aDoneIDIsForgotten(s *taskSuite) {
	s.declare(queue.QueueConfig{Remember: -1})
	for range 3 {
		s.push(job("a"))
		s.done(s.pullOne("a"))
	}
	s.declare(queue.QueueConfig{Remember: 50 * time.Millisecond})
	start := time.Now()
	s.push(job("b"))
	s.done(s.pullOne("b"))
	s.eventually("forgotten", func() bool { return s.offer(job("b"))[0].Pushed })
	if early := 50*time.Millisecond - time.Since(start); early > grace {
		s.Errorf("an ID was forgotten %s early", early)
	}
	s.pullOne("b")
}

func aDoneTaskIsKept(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDone: long, Remember: -1})
	results := s.offer(job("a"), job(""))
	got := s.pull()
	before := time.Now().Add(-grace)
	s.settle(
		queue.Verdict{Lease: got[0].Lease, Kind: queue.Done, Result: []byte("\x00\xff'")},
		queue.Verdict{Lease: got[1].Lease, Kind: queue.Done},
	)
	s.wantCounts(counts{kept: 2})
	s.skipped(job("a"), job(results[1].ID))
	s.wantPull("")
	if !controls(s.engine) {
		return
	}
	info := s.get("a")
	if info.State != queue.StateDone || string(info.Result) != "\x00\xff'" || info.Type != send {
		s.Errorf("Get() = %+v, want it done, with its result", info)
	}
	if info.Ended.Before(before) || info.Ended.After(time.Now().Add(grace)) {
		s.Errorf("it was done at %s, want from %s until now", info.Ended, before)
	}
	if info := s.get(results[1].ID); info.State != queue.StateDone || len(info.Result) != 0 {
		s.Errorf("Get() = %+v, want it done, without a result", info)
	}
}

func aKeptTaskIsForgotten(s *taskSuite) {
	s.declare(queue.QueueConfig{KeepDone: 50 * time.Millisecond, Remember: -1})
	s.push(job("free"))
	s.done(s.pullOne("free"))
	s.declare(queue.QueueConfig{KeepDone: 50 * time.Millisecond})
	s.push(job("remembered"))
	s.done(s.pullOne("remembered"))
	s.eventually("forgotten", func() bool { return s.stats().Kept == 0 })
	if controls(s.engine) {
		s.wantNoTask("free")
		s.wantNoTask("remembered")
	}
	s.push(job("free"))
	s.skipped(job("remembered"))
	s.pullOne("free")
}
