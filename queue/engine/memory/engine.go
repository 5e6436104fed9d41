// Package memory is an engine without a store: everything is gone with the process.
// It is the executable specification of the contracts, and what tests and examples
// run on.
//
// Mapping: a topic is a slice of entries per partition, each with its messages
// framed, so that what is read is never what was passed in. A task queue is a heap of
// tasks, each framed, by when they are to be seen.
// Delivery and ordering: as the contracts say. Appends of a partition are ordered
// by the engine's one lock.
// Limits: the bound of a topic counts framed bytes, exactly; that of a queue, tasks,
// exactly.
// Operations: none.
package memory

import (
	"sync"
	"time"

	"snip/queue"
)

// Engine implements queue.LogEngine, queue.GroupStore, queue.Waiter, queue.Backlogger,
// queue.TaskEngine, queue.Controls, queue.DeadLetters and queue.QueueWaiter. It is safe
// for concurrent use.
type Engine struct {
	started time.Time

	mu      sync.Mutex // Protects all below.
	closed  bool
	topics  map[string]*topic
	groups  map[groupTopic]*roster
	places  map[place]queue.Position
	queues  map[string]*tasks
	numbers int64         // Of tasks, leases and dead letters: the last one given.
	version uint64        // Counts appends and pushes, from 1.
	grown   chan struct{} // Closed at the next of them.
}

var (
	_ queue.LogEngine   = (*Engine)(nil)
	_ queue.GroupStore  = (*Engine)(nil)
	_ queue.Waiter      = (*Engine)(nil)
	_ queue.Backlogger  = (*Engine)(nil)
	_ queue.TaskEngine  = (*Engine)(nil)
	_ queue.Controls    = (*Engine)(nil)
	_ queue.DeadLetters = (*Engine)(nil)
	_ queue.QueueWaiter = (*Engine)(nil)
)

// New returns an empty engine.
func New() *Engine {
	return &Engine{
		started: time.Now(),
		topics:  map[string]*topic{},
		groups:  map[groupTopic]*roster{},
		places:  map[place]queue.Position{},
		queues:  map[string]*tasks{},
		version: 1,
		grown:   make(chan struct{}),
	}
}

// Caps says what this engine does.
func (e *Engine) Caps() queue.Caps {
	return queue.Caps{
		Engine:        "memory",
		Durability:    queue.DurableNothing,
		Sequences:     true,
		SegmentMemory: 1<<63 - 1, // As long as the process.
		ExactBound:    true,
		MaxBatchBytes: 16 << 20,
		Tasks:         true,
		MaxTaskBytes:  maxTaskBytes,
		ExactTasks:    true,
	}
}

// grew wakes all who wait.
func (e *Engine) grew() {
	e.version++
	close(e.grown)
	e.grown = make(chan struct{})
}

// Close ends the engine: every call after it returns queue.ErrClosed.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		close(e.grown)
	}
	return nil
}
