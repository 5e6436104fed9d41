package queue

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Observer is told what happens, in the goroutine in which it happens: its functions
// return soon. Those that are nil are left out, and one that panics is recovered.
type Observer struct {
	// TaskEnded: a worker is done with a task.
	TaskEnded func(TaskEnd)

	// TaskStuck: a handler has not returned although its context ended a while ago. Its
	// goroutine is lost to the process, the task and its slot are given to others.
	TaskStuck func(queue, taskType, id string)

	// TasksDropped: a producer dropped so many because the queue is full.
	TasksDropped func(queue string, n int)
}

// TaskEnd is how the work on a task ended.
type TaskEnd struct {
	Queue   string
	Type    string
	Outcome Outcome
	Reason  Reason        // Where it was buried.
	Waited  time.Duration // From when it was due to its start.
	Took    time.Duration // In the handler.
	Err     error         // Of the handler.
}

// Outcome is what became of a task that a worker had.
type Outcome string

const (
	OutcomeDone      Outcome = "done"
	OutcomeRetried   Outcome = "retried"
	OutcomeReleased  Outcome = "released"
	OutcomeBuried    Outcome = "buried"
	OutcomeLeaseLost Outcome = "lease lost" // It is somebody else's: what was done is of no account.
	OutcomeUnknown   Outcome = "unknown"    // The engine could not be told. Its lease ends by itself.
)

func (o Observer) taskEnded(e TaskEnd) {
	if o.TaskEnded != nil {
		_ = recovered(func() error { o.TaskEnded(e); return nil }) // There is nobody to tell.
	}
}

func (o Observer) taskStuck(queue, taskType, id string) {
	if o.TaskStuck != nil {
		_ = recovered(func() error { o.TaskStuck(queue, taskType, id); return nil })
	}
}

func (o Observer) tasksDropped(queue string, n int) {
	if o.TasksDropped != nil {
		_ = recovered(func() error { o.TasksDropped(queue, n); return nil })
	}
}

// recovered makes a panic of the user's code an error: the process has other work.
func recovered(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
