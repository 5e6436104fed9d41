package memory_test

import (
	"testing"
	"testing/synctest"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/queuetest"
)

// TestConformance runs each case in a bubble: the engine has no goroutine, no timer
// and no I/O that would keep its test from being one.
func TestConformance(t *testing.T) {
	for _, c := range queuetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.Run(t, func(*testing.T) queuetest.Open {
					return func() (queue.LogEngine, error) { return memory.New(), nil }
				})
			})
		})
	}
}

// TestTasks does the same for task queues.
func TestTasks(t *testing.T) {
	for _, c := range queuetest.TaskCases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.Run(t, func(*testing.T) queuetest.TaskStore {
					return queuetest.TaskStore{Open: func() (queue.TaskEngine, error) { return memory.New(), nil }}
				})
			})
		})
	}
}
