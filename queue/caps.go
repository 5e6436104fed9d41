package queue

import "time"

// Caps is what an engine claims, as data: the docs show it, TopicConfig.Check
// and QueueConfig.Check refuse what it lacks, and queuetest holds the engine to it.
type Caps struct {
	Engine string // Short name, such as "sqlite".

	Durability Durability // What a message survives once its Append returned nil.

	// Sequences: the engine remembers the next number of each segment, for at least
	// SegmentMemory after its last append, and answers *SequenceError.
	Sequences     bool
	SegmentMemory time.Duration

	// ExactBound: MaxBytes is never passed. Otherwise Overshoot says by how much at most.
	ExactBound bool
	Overshoot  string

	// Shared: other processes can use the same store at the same time.
	Shared bool

	MaxBatchBytes int // The largest batch, its messages framed (see AppendFrames).

	// Tasks: the engine is a TaskEngine. What follows is of tasks.
	Tasks        bool
	MaxTaskBytes int // The largest task, its message framed.

	// ExactTasks: MaxTasks is never passed. Otherwise TasksOvershoot says by how much at most.
	ExactTasks     bool
	TasksOvershoot string

	// SQL: the engine is a TxPusher.
	SQL bool
}

// Durability orders what a message survives, the least first.
type Durability int

const (
	DurableNothing Durability = iota // Gone with the process.
	DurableKill                      // Survives a kill of the process, not a power cut.
	DurablePower                     // Survives a power cut: it was synced to disk.
)

func (d Durability) String() string {
	switch d {
	case DurableNothing:
		return "nothing"
	case DurableKill:
		return "process kill"
	case DurablePower:
		return "power cut"
	}
	return "unknown"
}
