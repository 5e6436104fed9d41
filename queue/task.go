package queue

import (
	"context"
	"fmt"
	"time"
)

// Task is one unit of work: a message that one worker gets, and that is gone once it
// is done.
type Task struct {
	// Message is what the worker gets. Its ID names the task in its queue: pushing one
	// twice is harmless while the first is there, and for QueueConfig.Remember after it
	// ended. Empty: a random one. Its Type chooses the handler. Its Key is kept as it is.
	Message

	At       time.Time     // Not before this, by the engine's clock. Zero: at once.
	Delay    time.Duration // Not before this has passed since the push; instead of At.
	Deadline time.Time     // Not worth doing after this. Zero: always is.
}

// TaskEngine keeps task queues. What it keeps of a task it keeps byte for byte, its
// times to the microsecond.
//
// To the implementer: what LogEngine says of calls holds here too. Engines count,
// order and fence; what follows from the counts is decided once, by Worker. The clock
// of leases should not jump with the wall clock where the engine can help it.
type TaskEngine interface {
	// Caps says what this engine does. It never changes.
	Caps() Caps

	// DeclareQueue makes the queue if it is not there, and changes its bounds and times
	// if it is. An engine starts with q.Check(caps).
	DeclareQueue(ctx context.Context, q QueueConfig) error

	// Push adds all the tasks or none, and returns once they are as durable as Caps
	// says. A task whose ID is in the queue, or is remembered, is skipped, within the
	// call too. Where the bound has no room for those that are not skipped, a *FullError
	// answers, unless the queue drops its oldest: then the ready tasks that were due
	// first make room, leased ones never. An engine starts with CheckTasks. The results
	// are in the order of the tasks.
	Push(ctx context.Context, queue string, tasks []Task) ([]PushResult, error)

	// Pull leases tasks that are due, the longest due first, and of those due at the
	// same moment the one pushed first: possibly none. Pulling a task whose lease ended
	// without a verdict adds one to its Lost; it was due when the lease ended. A paused
	// queue gives nothing.
	Pull(ctx context.Context, queue string, p PullRequest) (Pulled, error)

	// Settle carries out the verdicts and returns what became of each, in their order:
	// nil, or ErrLeaseLost where the task is not under that lease, with nothing changed.
	// A lease that is over still holds until the task is pulled again.
	// A Done, Bury, Retry or Release that comes again after it was carried out may
	// answer nil or ErrLeaseLost. The last error is that of the call: with it nobody
	// knows, and sending the same again is right.
	Settle(ctx context.Context, queue string, verdicts []Verdict) ([]error, error)

	// QueueStats describes the queue as it is now.
	QueueStats(ctx context.Context, queue string) (QueueStats, error)
}

// PushResult tells what became of a task that was pushed.
type PushResult struct {
	ID      string
	Pushed  bool // False: one of that ID is there or remembered, and this one is not kept.
	Dropped bool // Not kept for there is no room, and the queue drops what comes. Engines never say so.
}

// PullRequest says what a worker can take.
type PullRequest struct {
	Types []string      // What it knows. At least one: others are left to others.
	Max   int           // How many at most; at least 1.
	Lease time.Duration // How long they are hidden from others. At least a millisecond.

	// AloneFrom: a task that was lost so often comes alone, as the only one of a pull,
	// and only if Alone is set. 0: none does.
	AloneFrom int
	Alone     bool
}

// Pulled is what a pull leased.
type Pulled struct {
	Tasks []Leased

	// AloneNext: the pull ended before a task that must come alone. It will stand in
	// front of a pull with Alone.
	AloneNext bool
}

// Leased is a task under a lease.
type Leased struct {
	Task  // At is when it was due; Delay is zero.
	Lease Lease

	Pushed   time.Time // By the engine's clock.
	Failed   int       // How often a handler said that it failed.
	Lost     int       // How often a lease ended without a verdict: a crash, or a stall.
	Released int       // How often it was handed back unharmed.
	Expired  bool      // Its deadline was over when it was leased.
	Progress []byte    // What the last Extend kept of it; nil if none did.
}

// Lease is the right to give a verdict. It is the engine's, and means nothing to others.
type Lease struct {
	Task  int64 // The engine's own number of the task.
	Token int64 // Of this lease.
}

// Verdict ends a lease, or extends it.
type Verdict struct {
	Lease Lease
	Kind  VerdictKind

	Delay  time.Duration // Retry: until it is due again. Extend: how long from now on.
	Reason Reason        // Bury: why.
	Error  string        // Retry and Bury: kept as the task's last error.
	Result []byte        // Done: kept for QueueConfig.KeepDone.

	// Progress, with Extend, is kept in the place of what was kept before. Nil: that stays.
	Progress []byte
}

// VerdictKind is what a verdict does.
type VerdictKind int

const (
	Done    VerdictKind = iota + 1 // Acknowledged: it is gone, or kept as done for a while.
	Retry                          // Failed: due again after Delay. Adds one to Failed.
	Release                        // Handed back unharmed: due at once. Adds one to Released.
	Bury                           // To the dead letters. Adds one to Failed if that is the Reason.
	Extend                         // The lease goes on; nothing ends.
)

func (k VerdictKind) String() string {
	switch k {
	case Done:
		return "done"
	case Retry:
		return "retry"
	case Release:
		return "release"
	case Bury:
		return "bury"
	case Extend:
		return "extend"
	}
	return fmt.Sprintf("verdict %d", int(k))
}

// Reason is why a message is a dead letter.
type Reason string

const (
	ReasonFailed  Reason = "failed"  // Its handler failed on it as often as allowed, or said that it always will.
	ReasonLost    Reason = "lost"    // Its leases ended without a verdict as often as allowed.
	ReasonExpired Reason = "expired" // Its deadline was over before it was run.
)

// QueueStats describes a queue at one moment.
type QueueStats struct {
	Ready   int64 // Due, and leased by nobody.
	Delayed int64 // Not due yet: pushed so, or to be retried.
	Leased  int64
	Dead    int64 // Dead letters.
	Kept    int64 // Done, and kept so that Get finds it.

	MaxTasks int64
	Paused   bool

	OldestReady time.Time // When the longest due was due; zero if none is.
	OldestDead  time.Time // When the oldest dead letter was buried; zero if there is none.

	Dropped     int64 // Tasks dropped for others, ever.
	DroppedDead int64 // Dead letters dropped for others or for their age, ever.
}

// QueueWaiter is what a TaskEngine implements that can tell when there may be more to
// pull. Without it workers poll.
type QueueWaiter interface {
	// WaitQueue is to a queue what Waiter.Wait is to a topic. That a delayed task is due,
	// or a lease over, need not end it.
	WaitQueue(ctx context.Context, queue string, seen uint64) (uint64, error)
}
