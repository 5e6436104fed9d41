package queue

import (
	"fmt"
	"time"
)

// QueueConfig describes a task queue. Only Name must be set.
type QueueConfig struct {
	Name string // 1 to 100 of a-z, 0-9, '.', '-', '_'.

	// MaxTasks bounds how many tasks are there, ready, delayed and leased together.
	// Default: 1,000,000.
	MaxTasks int64
	Overflow Overflow // What a push does at the bound. Default: Reject.

	// Remember is how long an ID that its producer chose stays taken after the task was
	// done. Default: 10 minutes. Negative: not. That of a dead or cancelled task is free.
	Remember time.Duration

	// KeepDone is how long Controls.Get finds a task that is done, with its result; its
	// ID stays taken as long. Default: not.
	KeepDone time.Duration

	MaxDead  int64         // Dead letters; beyond, the oldest are dropped. Default: 100,000.
	KeepDead time.Duration // How long dead letters are kept. Default: 30 days.

	// Durability is the least the caller accepts. Default: DurableNothing.
	Durability Durability
}

// Overflow is what a push does when its queue is full.
type Overflow string

const (
	Reject     Overflow = "reject"      // Refuses: a *FullError says when to try again.
	Block      Overflow = "block"       // Waits, in the producer, until there is room or its context ends.
	DropOldest Overflow = "drop oldest" // Takes the place of the ready tasks that were due first.
	DropNewest Overflow = "drop newest" // Drops, in the producer, what was to be pushed.
)

// Check fills in the defaults and refuses what is out of range, or what the engine of
// these capabilities does not claim.
func (q QueueConfig) Check(c Caps) (QueueConfig, error) {
	if err := CheckName("Name", q.Name); err != nil {
		return q, err
	}
	if !c.Tasks {
		return q, fmt.Errorf("queue %q: engine %s keeps no tasks: %w", q.Name, c.Engine, ErrUnsupported)
	}
	wrong := func(format string, args ...any) (QueueConfig, error) {
		return q, fmt.Errorf("queue %q: "+format, append([]any{q.Name}, args...)...)
	}
	setDefault(&q.MaxTasks, 1_000_000)
	setDefault(&q.Overflow, Reject)
	setDefault(&q.Remember, 10*time.Minute)
	setDefault(&q.MaxDead, 100_000)
	setDefault(&q.KeepDead, 30*24*time.Hour)
	q.Remember = max(q.Remember, -1)
	switch {
	case q.MaxTasks < 1:
		return wrong("MaxTasks is %d, must be at least 1", q.MaxTasks)
	case q.MaxDead < 1:
		return wrong("MaxDead is %d, must be at least 1", q.MaxDead)
	case q.KeepDead < 0:
		return wrong("KeepDead is %s, must not be negative", q.KeepDead)
	case q.KeepDone < 0:
		return wrong("KeepDone is %s, must not be negative", q.KeepDone)
	case q.Overflow != Reject && q.Overflow != Block && q.Overflow != DropOldest && q.Overflow != DropNewest:
		return wrong("Overflow is %q, must be %q, %q, %q or %q", q.Overflow, Reject, Block, DropOldest, DropNewest)
	case q.Durability > c.Durability:
		return wrong("Durability %q wanted, engine %s keeps what it took through %q: %w", q.Durability, c.Engine, c.Durability, ErrUnsupported)
	}
	return q, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
