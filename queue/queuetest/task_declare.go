package queuetest

import (
	"errors"
	"strings"
	"time"

	"snip/queue"
)

var taskDeclareCases = []TaskCase{
	{
		Name: "DeclaringAgainKeepsTheTasks",
		Rule: "Declaring a queue again changes its bounds and times, and nothing of what is in it.",
		run:  declaringAgainKeepsTheTasks,
	},
	{
		Name: "AQueueOutOfRangeIsRefused",
		Rule: "A name or a number of a queue that is out of range is refused with an error that names the field.",
		run:  aQueueOutOfRangeIsRefused,
	},
	{
		Name: "TasksUnclaimedAreRefused",
		Rule: "A durability that Caps does not claim is refused with ErrUnsupported when a queue asks for it; what it claims is not. An engine that claims no exact bound says by how much it is passed, and one that claims SQL is a TxPusher.",
		run:  tasksUnclaimedAreRefused,
	},
	{
		Name: "AnUnknownQueueIsNotFound",
		Rule: "Every call on a queue that was never declared is ErrNotFound.",
		run:  anUnknownQueueIsNotFound,
	},
	{
		Name: "QueuesAreToldApart",
		Rule: "Queues of one engine share nothing: not their tasks, nor IDs, leases, bounds or pauses.",
		run:  queuesAreToldApart,
	},
}

func declaringAgainKeepsTheTasks(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 10})
	s.push(jobs("a b")...)
	held := s.wantLeases("a", 1, long)
	for _, bound := range []int64{20, 2, 3} {
		s.declare(queue.QueueConfig{MaxTasks: bound})
		if got := s.stats().MaxTasks; got != bound {
			s.Errorf("MaxTasks = %d, want %d", got, bound)
		}
	}
	s.wantCounts(counts{ready: 1, leased: 1})
	s.done(held...)
	s.done(s.pullOne("b"))
	s.declare(queue.QueueConfig{})
	if got := s.stats().MaxTasks; got != 1_000_000 {
		s.Errorf("MaxTasks by default = %d, want 1000000", got)
	}
}

func aQueueOutOfRangeIsRefused(s *taskSuite) {
	for _, c := range []struct {
		field  string
		config queue.QueueConfig
	}{
		{"Name", queue.QueueConfig{Name: ""}},
		{"Name", queue.QueueConfig{Name: "Mail"}},
		{"Name", queue.QueueConfig{Name: "a/b"}},
		{"Name", queue.QueueConfig{Name: strings.Repeat("x", 101)}},
		{"MaxTasks", queue.QueueConfig{Name: mail, MaxTasks: -1}},
		{"MaxDead", queue.QueueConfig{Name: mail, MaxDead: -1}},
		{"KeepDead", queue.QueueConfig{Name: mail, KeepDead: -time.Second}},
		{"KeepDone", queue.QueueConfig{Name: mail, KeepDone: -time.Second}},
		{"Overflow", queue.QueueConfig{Name: mail, Overflow: "explode"}},
	} {
		if err := s.engine.DeclareQueue(s.Context(), c.config); err == nil || !strings.Contains(err.Error(), c.field) {
			s.Errorf("DeclareQueue(%+v) = %v, want an error that names %s", c.config, err, c.field)
		}
	}
	if _, err := s.engine.QueueStats(s.Context(), mail); !errors.Is(err, queue.ErrNotFound) {
		s.Errorf("QueueStats() of a queue that was refused = %v, want %v", err, queue.ErrNotFound)
	}
	s.declare(queue.QueueConfig{Name: strings.Repeat("x", 100), MaxTasks: 1, MaxDead: 1, Remember: -time.Hour})
}

func tasksUnclaimedAreRefused(s *taskSuite) {
	caps := s.engine.Caps()
	if caps.Engine == "" || !caps.Tasks || caps.MaxTaskBytes < 1 {
		s.Errorf("Caps() = %+v, want an engine's name, tasks, and a largest task", caps)
	}
	if !caps.ExactTasks && caps.TasksOvershoot == "" {
		s.Error("Caps() claims no exact bound of tasks and does not say by how much it is passed")
	}
	if _, ok := s.engine.(queue.TxPusher); ok != caps.SQL {
		s.Errorf("Caps().SQL is %t, but whether the engine is a TxPusher is %t", caps.SQL, ok)
	}
	if caps.SQL && s.store.OpenDB == nil {
		s.Error("Caps() claims SQL, but TaskStore.OpenDB is not set")
	}
	for d := queue.DurableNothing; d <= queue.DurablePower; d++ {
		err := s.engine.DeclareQueue(s.Context(), queue.QueueConfig{Name: mail, Durability: d})
		if claimed := d <= caps.Durability; claimed && err != nil || !claimed && !errors.Is(err, queue.ErrUnsupported) {
			s.Errorf("DeclareQueue() with durability %q = %v, and whether it is claimed is %t", d, err, claimed)
		}
	}
}

func anUnknownQueueIsNotFound(s *taskSuite) {
	s.declare(queue.QueueConfig{Name: "other"})
	for call, err := range s.calls(s.Context()) {
		if call == "DeclareQueue" {
			continue
		}
		if !errors.Is(err, queue.ErrNotFound) {
			s.Errorf("%s() = %v, want %v", call, err, queue.ErrNotFound)
		}
	}
}

func queuesAreToldApart(s *taskSuite) {
	s.declare(queue.QueueConfig{MaxTasks: 1})
	s.declare(queue.QueueConfig{Name: "other", MaxTasks: 2})
	results, err := s.engine.Push(s.Context(), "other", jobs("a b"))
	if err != nil || !results[0].Pushed || !results[1].Pushed {
		s.Fatalf("Push() = %+v, %v", results, err)
	}
	s.wantPull("")
	s.push(job("a"))
	held := s.pullOne("a")
	settled, err := s.engine.Settle(s.Context(), "other", everyVerdict(held.Lease))
	if err != nil {
		s.Fatalf("Settle() = %v", err)
	}
	for _, err := range settled {
		if !errors.Is(err, queue.ErrLeaseLost) {
			s.Errorf("a verdict on a lease of another queue = %v, want %v", err, queue.ErrLeaseLost)
		}
	}
	if controls, ok := s.engine.(queue.Controls); ok {
		if err := controls.Pause(s.Context(), mail); err != nil {
			s.Errorf("Pause() = %v", err)
		}
	}
	pulled, err := s.engine.Pull(s.Context(), "other", queue.PullRequest{Types: []string{send}, Max: many, Lease: long})
	if got := leasedNames(pulled.Tasks); err != nil || got != "a b" {
		s.Errorf("Pull() from the other queue = %q, %v, want %q", got, err, "a b")
	}
	s.done(held)
	s.wantCounts(counts{})
}
