package queue

import (
	"context"
	"database/sql"
	"time"
)

// Controls is what an engine implements whose tasks can be looked at and steered one
// by one.
//
// Every method answers ErrNotFound for a queue or a task that is not there.
type Controls interface {
	// Get returns a task by its ID, wherever it stands.
	Get(ctx context.Context, queue, id string) (TaskInfo, error)

	// Cancel removes a task that is not done or dead, and forgets its ID. If it is
	// leased, the lease is lost and the worker is told when it extends it.
	Cancel(ctx context.Context, queue, id string) error

	// Replace puts a task in the place of the one of its ID, with new times, counters
	// at zero and the same place in the bound. One that is leased is ErrConflict.
	Replace(ctx context.Context, queue string, t Task) error

	// Pause makes the queue give nothing to pulls, until Resume. Leases go on, and
	// pushes are taken.
	Pause(ctx context.Context, queue string) error
	Resume(ctx context.Context, queue string) error
}

// TaskState is where a task stands.
type TaskState string

const (
	StateDelayed TaskState = "delayed"
	StateReady   TaskState = "ready"
	StateLeased  TaskState = "leased"
	StateDead    TaskState = "dead"
	StateDone    TaskState = "done" // Kept for QueueConfig.KeepDone.
)

// TaskInfo is a task as somebody sees it who does not work on it.
type TaskInfo struct {
	Task
	State                  TaskState
	Pushed                 time.Time
	Failed, Lost, Released int
	Error                  string    // The last one.
	Progress               []byte    // What the last Extend kept.
	Result                 []byte    // Of a task that is done.
	Ended                  time.Time // When it was done or buried.
}

// DeadLetters is what an engine implements that keeps its dead letters to be seen.
type DeadLetters interface {
	// ListDead returns dead letters, the longest dead first, from the one after that of
	// a number on (0: from the start), at most max.
	ListDead(ctx context.Context, queue string, after int64, max int) ([]DeadLetter, error)

	// Redrive puts dead letters back into their queue, due at once, with counters at
	// zero, and returns how many: those of the numbers, or with none named the longest
	// dead, at most max. Passed over, and not counted, are numbers that are not there and
	// those whose ID is in the queue again. What it puts back counts towards the bound:
	// where there is no room it answers a *FullError and puts nothing back.
	Redrive(ctx context.Context, queue string, numbers []int64, max int) (int, error)

	// DeleteDead forgets dead letters for good and returns how many, chosen as by Redrive.
	DeleteDead(ctx context.Context, queue string, numbers []int64, max int) (int, error)
}

// DeadLetter is a task that was set aside.
type DeadLetter struct {
	Number                 int64 // Names it in its queue; later ones are greater.
	Task                         // As it was pushed; At is when it was due last.
	Reason                 Reason
	Error                  string // The last one.
	Pushed, Buried         time.Time
	Failed, Lost, Released int
}

// TxPusher is what an engine implements that is kept in an SQL database: a task can be
// pushed in the transaction of the rows it speaks of, and is there if they are.
type TxPusher interface {
	// PushTx is Push in the caller's transaction, on the engine's database. Nobody is
	// woken: call Wake after the commit, or workers find the task at their next poll.
	// The caller rolls back after an error.
	PushTx(ctx context.Context, tx *sql.Tx, queue string, tasks []Task) ([]PushResult, error)

	// Wake tells workers that there may be more in a queue.
	Wake(ctx context.Context, queue string)
}
