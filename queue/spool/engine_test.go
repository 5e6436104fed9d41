package spool_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"snip/queue"
)

var errOutage = errors.New("connection reset")

// engine is the part of a log that a spool uses: it keeps what is appended, and
// the next number of each segment.
type engine struct {
	queue.LogEngine // Nil: a spool calls nothing else.

	mu       sync.Mutex
	segments map[queue.SegmentID][]queue.Message
	parts    map[queue.SegmentID]int
	appends  int

	// before, if set, is asked first, without mu. An error it returns is the answer,
	// and nothing is appended.
	before func(b queue.Batch) error
	// after, if set, is asked once a batch was appended. An error it returns is the
	// answer: the reply is lost.
	after func(b queue.Batch) error

	maxBatch int
}

func newEngine() *engine {
	return &engine{segments: map[queue.SegmentID][]queue.Message{}, parts: map[queue.SegmentID]int{}}
}

func (e *engine) Caps() queue.Caps {
	return queue.Caps{Engine: "test", Sequences: true, MaxBatchBytes: e.maxBatch}
}

func (e *engine) Append(ctx context.Context, topic string, partition int, b queue.Batch) error {
	e.mu.Lock()
	before, after := e.before, e.after
	e.mu.Unlock()
	if before != nil {
		if err := before(b); err != nil {
			return err
		}
	}
	if err := e.add(topic, partition, b); err != nil {
		return err
	}
	if after != nil {
		return after(b)
	}
	return ctx.Err()
}

func (e *engine) add(topic string, partition int, b queue.Batch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if topic != "clicks" {
		return fmt.Errorf("topic %q: %w", topic, queue.ErrNotFound)
	}
	if p, ok := e.parts[b.Segment]; ok && p != partition {
		return fmt.Errorf("segment %s moved from partition %d to %d", b.Segment, p, partition)
	}
	if next := uint64(len(e.segments[b.Segment])); next != b.First {
		return &queue.SequenceError{Segment: b.Segment, Expected: next}
	}
	for _, m := range b.Messages {
		m.Body = slices.Clone(m.Body)
		e.segments[b.Segment] = append(e.segments[b.Segment], m)
	}
	e.parts[b.Segment] = partition
	e.appends++
	return nil
}

// on changes what the engine does.
func (e *engine) on(before, after func(b queue.Batch) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.before, e.after = before, after
}

// truncate makes the engine lose what it has of every segment from a number on.
func (e *engine) truncate(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, m := range e.segments {
		e.segments[id] = m[:min(n, len(m))]
	}
}

// copy returns what the engine holds.
func (e *engine) copy() map[queue.SegmentID][]queue.Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := map[queue.SegmentID][]queue.Message{}
	for id, m := range e.segments {
		all[id] = slices.Clone(m)
	}
	return all
}

// bodies returns how often each body is in the engine, and how many messages say
// that they were lost.
func (e *engine) bodies() (bodies map[string]int, lost int) {
	bodies = map[string]int{}
	for _, messages := range e.copy() {
		for _, m := range messages {
			if m.Type == queue.TypeLost {
				lost++
			} else {
				bodies[string(m.Body)]++
			}
		}
	}
	return bodies, lost
}

// checkOnce fails unless each of the bodies is in the engine, once, and nothing else.
func (e *engine) checkOnce(t *testing.T, want []string) {
	t.Helper()
	got, _ := e.bodies()
	for _, body := range want {
		if got[body] != 1 {
			t.Errorf("message %.40q is in the log %d times, want once", body, got[body])
		}
		delete(got, body)
	}
	if len(got) > 0 {
		t.Errorf("the log has %d messages that nobody recorded, such as %.40q", len(got), slices.Collect(maps.Keys(got))[0])
	}
}

// onePartition is an engine of which one partition is unreachable.
type onePartition struct {
	*engine
	broken int
	seen   map[queue.SegmentID]bool // The segments it was asked to append to there.
}

func (e *onePartition) repair() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = -1
}

func (e *onePartition) Append(ctx context.Context, topic string, partition int, b queue.Batch) error {
	e.mu.Lock()
	broken := partition == e.broken
	if broken {
		e.seen[b.Segment] = true
	}
	e.mu.Unlock()
	if broken {
		return errOutage
	}
	return e.engine.Append(ctx, topic, partition, b)
}
