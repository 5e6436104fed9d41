package queuetest

import (
	"database/sql"
	"io"
	"slices"
	"testing"
	"time"

	"snip/queue"
)

// TaskStore is a store of task queues that a test made for one case.
type TaskStore struct {
	// Open opens an engine on the store: the first call on an empty one, a later call
	// on what the engines before left or, where Caps.Shared is claimed, are still
	// using. The suite closes what it opened, if it is an io.Closer.
	Open func() (queue.TaskEngine, error)

	// OpenDB opens the database the engine is kept in. Where Caps.SQL is claimed it
	// must be there. The suite closes what it opened.
	OpenDB func() (*sql.DB, error)
}

// TaskCase is one rule of task queues and what checks it.
type TaskCase struct {
	Name string // A sentence in CamelCase.
	Rule string // The same in English, printed when it is broken.

	needs func(queue.TaskEngine) bool // Nil: every engine has it.
	run   func(s *taskSuite)
}

// RunTasks checks every case of task queues in a subtest of its own, on a store of its
// own, as Run does for topics. It looks for the optional interfaces [queue.Controls],
// [queue.DeadLetters], [queue.TxPusher] and [queue.QueueWaiter].
func RunTasks(t *testing.T, newStore func(t *testing.T) TaskStore) {
	for _, c := range TaskCases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, newStore) })
	}
}

// Run checks one case. Use it where each case needs surroundings of its own, such
// as a synctest bubble.
func (c TaskCase) Run(t *testing.T, newStore func(t *testing.T) TaskStore) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.Rule)
		}
	})
	s := &taskSuite{T: t, store: newStore(t)}
	s.engine = s.open()
	if c.needs == nil || c.needs(s.engine) {
		c.run(s)
	}
}

// TaskCases lists the rules, in an order that tells their story.
func TaskCases() []TaskCase {
	return slices.Concat(
		taskDeclareCases, taskPushCases, taskMessageCases, taskPullCases, taskSettleCases, taskLeaseCases,
		taskCounterCases, taskBoundCases, taskDeadCases, taskRedriveCases, taskRememberCases, taskControlCases, taskPauseCases,
		taskStatsCases, taskTxCases, taskWaitCases, taskCrowdCases, taskStoreCases,
	)
}

// taskSuite is what a case works with. Where nothing else is said, the queue is mail
// and the type of a task is send.
type taskSuite struct {
	*testing.T
	engine queue.TaskEngine
	store  TaskStore
}

const (
	mail = "mail"
	send = "send"
)

// open opens one more engine on the store.
func (s *taskSuite) open() queue.TaskEngine {
	s.Helper()
	e, err := s.store.Open()
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	s.Cleanup(func() { s.close(e) })
	return e
}

// close closes an engine. Closing it again does nothing.
func (s *taskSuite) close(e queue.TaskEngine) {
	s.Helper()
	if c, ok := e.(io.Closer); ok {
		if err := c.Close(); err != nil {
			s.Errorf("Close() = %v", err)
		}
	}
}

// eventually waits until something holds that must hold in time.
func (s *taskSuite) eventually(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("after %s: still not %s", patience, what)
		}
	}
}
