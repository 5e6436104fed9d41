package queuetest

import (
	"context"
	"errors"
	"io"
	"time"

	"snip/queue"
)

func sharedTasks(e queue.TaskEngine) bool { return e.Caps().Shared }

var taskStoreCases = []TaskCase{
	{
		Name:  "ASharedStoreIsOneQueue",
		Rule:  "Where Caps.Shared is claimed, engines on one store see each other's queues, tasks, IDs, leases, bounds, pauses and dead letters at once.",
		needs: sharedTasks,
		run:   aSharedStoreIsOneQueue,
	},
	{
		Name:  "AnotherEnginesPushWakes",
		Rule:  "Where Caps.Shared is claimed, WaitQueue returns on what another engine pushed, and misses nothing of it.",
		needs: func(e queue.TaskEngine) bool { return sharedTasks(e) && waitsForTasks(e) },
		run:   func(s *taskSuite) { s.pingPong(s.engine, s.open()) },
	},
	{
		Name:  "OpeningAgainKeepsTheTasks",
		Rule:  "Where Caps.Durability is more than nothing, an engine that is opened again holds all that the one before took: tasks, leases, counters, progress, dead letters, pauses, and what is remembered.",
		needs: func(e queue.TaskEngine) bool { return e.Caps().Durability > queue.DurableNothing },
		run:   openingAgainKeepsTheTasks,
	},
	{
		Name: "AnEndedContextEndsACallOnTasks",
		Rule: "A call whose context has ended says so and does nothing.",
		run:  anEndedContextEndsACallOnTasks,
	},
	{
		Name: "AClosedTaskEngineSaysSo",
		Rule: "Every call after Close, and every WaitQueue that Close ends, answers ErrClosed.",
		needs: func(e queue.TaskEngine) bool {
			_, ok := e.(io.Closer)
			return ok
		},
		run: aClosedTaskEngineSaysSo,
	},
}

func aSharedStoreIsOneQueue(s *taskSuite) {
	one, two := s.engine, s.open()
	s.declare(queue.QueueConfig{MaxTasks: 3})
	s.push(jobs("a b c")...)

	s.engine = two
	if got := s.stats().MaxTasks; got != 3 {
		s.Errorf("another engine has a bound of %d, want 3", got)
	}
	s.skipped(job("a"))
	s.wantFull(job("d"))
	held := s.wantPull("a b c")

	s.engine = one
	s.wantPull("")
	s.settle(queue.Verdict{Lease: held[0].Lease, Kind: queue.Done})
	s.settle(queue.Verdict{Lease: held[1].Lease, Kind: queue.Extend, Delay: time.Millisecond})
	s.skipped(job("a"))
	again := s.pullSoon(long)

	s.engine = two
	s.wantLost(everyVerdict(held[1].Lease)...)
	s.bury(held[2])
	s.push(job("d"))
	if controls(s.engine) {
		s.pause()
		s.engine = one
		s.wantPull("")
		s.resume()
		s.cancel("b")
		s.engine = two
		s.wantLost(everyVerdict(again[0].Lease)...)
	} else {
		s.done(again...)
	}
	s.wantPull("d")
	if deadLetters(s.engine) {
		s.engine = one
		s.wantDead("c")
		s.wantCount("Redrive", 1)(s.graves().Redrive(s.Context(), mail, nil, many))
		s.engine = two
		s.wantDead("")
		s.wantPull("c")
	}
}

func openingAgainKeepsTheTasks(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 20, Overflow: queue.DropOldest, MaxDead: 2})
	want := oddTasks()
	s.push(jobs("done other dead1 dead2 dead3 held lost")...)
	got := s.wantPull("done other dead1 dead2 dead3 held lost")
	s.done(got[0])
	s.bury(got[2:5]...)
	s.settle(
		queue.Verdict{Lease: got[1].Lease, Kind: queue.Done},
		queue.Verdict{Lease: got[5].Lease, Kind: queue.Extend, Delay: long, Progress: []byte("half")},
		queue.Verdict{Lease: got[6].Lease, Kind: queue.Retry, Error: "failed"},
	)
	for _, kind := range []queue.VerdictKind{queue.Release, queue.Extend} {
		s.settle(queue.Verdict{Lease: s.pullOne("lost").Lease, Kind: kind, Delay: time.Millisecond})
		s.ready(1)
	}
	s.push(delayed("delayed", long))
	s.push(want...)
	if controls(s.engine) {
		s.pause()
	}
	before := s.stats()
	var deadBefore string
	if deadLetters(s.engine) {
		deadBefore = deadNames(s.dead())
	}
	s.close(s.engine)

	s.engine = s.open()
	after := s.stats()
	if sub := before.OldestReady.Sub(after.OldestReady).Abs(); sub <= grace {
		after.OldestReady = before.OldestReady
	}
	if !after.OldestDead.Equal(before.OldestDead) {
		s.Errorf("OldestDead = %s, want %s", after.OldestDead, before.OldestDead)
	}
	after.OldestDead = before.OldestDead
	if after != before {
		s.Errorf("QueueStats() = %+v, want %+v", after, before)
	}
	if controls(s.engine) {
		s.wantPull("")
		s.resume()
	}
	if deadLetters(s.engine) && deadNames(s.dead()) != deadBefore {
		s.Errorf("dead letters are %q, want %q", deadNames(s.dead()), deadBefore)
	}
	s.skipped(jobs("done held delayed")...)
	if l := s.pullOne("lost"); l.Failed != 1 || l.Lost != 1 || l.Released != 1 {
		s.Errorf("failed %d, lost %d, released %d times, want once each", l.Failed, l.Lost, l.Released)
	}
	s.pullTasks(want)
	s.settle(queue.Verdict{Lease: got[5].Lease, Kind: queue.Release})
	if l := s.pullOne("held"); string(l.Progress) != "half" || l.Lease == got[5].Lease {
		s.Errorf("progress %q, want %q", l.Progress, "half")
	}
	s.wantLost(queue.Verdict{Lease: got[6].Lease, Kind: queue.Done})
	s.push(job("new"))
	s.wantPull("new")
}

// calls makes every call of every interface the engine has, but WaitQueue and PushTx.
func (s *taskSuite) calls(ctx context.Context) map[string]error {
	e := s.engine
	all := map[string]error{}
	all["DeclareQueue"] = e.DeclareQueue(ctx, queue.QueueConfig{Name: "declared"})
	_, all["Push"] = e.Push(ctx, mail, jobs("x"))
	_, all["Push none"] = e.Push(ctx, mail, nil)
	_, all["Pull"] = e.Pull(ctx, mail, queue.PullRequest{Types: []string{send}, Max: 1, Lease: long})
	_, all["Settle"] = e.Settle(ctx, mail, everyVerdict(queue.Lease{Task: 1, Token: 1}))
	_, all["Settle none"] = e.Settle(ctx, mail, nil)
	_, all["QueueStats"] = e.QueueStats(ctx, mail)
	if c, ok := e.(queue.Controls); ok {
		_, all["Get"] = c.Get(ctx, mail, "a")
		all["Cancel"] = c.Cancel(ctx, mail, "a")
		all["Replace"] = c.Replace(ctx, mail, job("a"))
		all["Pause"] = c.Pause(ctx, mail)
		all["Resume"] = c.Resume(ctx, mail)
	}
	if d, ok := e.(queue.DeadLetters); ok {
		_, all["ListDead"] = d.ListDead(ctx, mail, 0, many)
		_, all["Redrive"] = d.Redrive(ctx, mail, nil, many)
		_, all["Redrive some"] = d.Redrive(ctx, mail, []int64{1}, many)
		_, all["DeleteDead"] = d.DeleteDead(ctx, mail, nil, many)
		_, all["DeleteDead some"] = d.DeleteDead(ctx, mail, []int64{1}, many)
	}
	return all
}

func anEndedContextEndsACallOnTasks(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	s.kill("dead")
	s.push(job("a"))
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	for call, err := range s.calls(ctx) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s() = %v, want %v", call, err, context.Canceled)
		}
	}
	if s.stats().Paused {
		s.Error("a Pause that was ended paused the queue")
	}
	s.wantCounts(counts{ready: 1, dead: 1})
	s.wantPull("a")
	if _, err := s.engine.QueueStats(s.Context(), "declared"); !errors.Is(err, queue.ErrNotFound) {
		s.Errorf("QueueStats() of a queue whose DeclareQueue was ended = %v, want %v", err, queue.ErrNotFound)
	}
}

func aClosedTaskEngineSaysSo(s *taskSuite) {
	s.declare(queue.QueueConfig{})
	w, isWaiter := s.engine.(queue.QueueWaiter)
	ended := make(chan error, 1)
	if isWaiter {
		go func() {
			var seen uint64
			var err error
			for err == nil {
				seen, err = w.WaitQueue(s.Context(), mail, seen)
			}
			ended <- err
		}()
	}
	s.close(s.engine)
	if isWaiter {
		if err := <-ended; !errors.Is(err, queue.ErrClosed) {
			s.Errorf("WaitQueue() that was closed = %v, want %v", err, queue.ErrClosed)
		}
		if _, err := w.WaitQueue(s.Context(), mail, 0); !errors.Is(err, queue.ErrClosed) {
			s.Errorf("WaitQueue() = %v, want %v", err, queue.ErrClosed)
		}
	}
	for call, err := range s.calls(s.Context()) {
		if !errors.Is(err, queue.ErrClosed) {
			s.Errorf("%s() = %v, want %v", call, err, queue.ErrClosed)
		}
	}
}
