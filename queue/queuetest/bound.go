package queuetest

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"snip/queue"
)

var boundCases = []Case{
	{
		Name: "AFullTopicRefuses",
		Rule: "At its bound, over all partitions together, a topic answers a *FullError that says to try again after a second or more; nothing of the batch is appended and nothing is dropped for it.",
		run:  aFullTopicRefuses,
	},
	{
		Name: "TrimMakesRoom",
		Rule: "What is trimmed makes room, in whatever partition it was.",
		run:  trimMakesRoom,
	},
	{
		Name:  "TheBoundIsExact",
		Rule:  "Where Caps.ExactBound is claimed, a topic takes what fits to the byte and never passes its bound, however many append at the same time.",
		needs: func(e queue.LogEngine) bool { return e.Caps().ExactBound },
		run:   theBoundIsExact,
	},
}

// filler is a batch of some size.
func filler() queue.Batch {
	return queue.Batch{Messages: []queue.Message{{Body: bytes.Repeat([]byte{'x'}, 1000)}}}
}

// fill appends until the topic is full.
func (s *suite) fill(topic string, partition int) {
	s.Helper()
	for range 10_000 {
		if s.fills(s.engine.Append(s.Context(), topic, partition, filler())) {
			return
		}
	}
	s.Fatalf("topic %q took 10000 batches of 1000 bytes", topic)
}

// fills tells whether an append was refused because its topic is full.
func (s *suite) fills(err error) bool {
	s.Helper()
	if err == nil {
		return false
	}
	full, ok := errors.AsType[*queue.FullError](err)
	if !ok || !errors.Is(err, queue.ErrFull) {
		s.Fatalf("Append() = %v, want nil or a *FullError", err)
	}
	if full.RetryAfter < time.Second || full.Subject == "" {
		s.Errorf("%+v, want a subject and at least a second", full)
	}
	return true
}

func aFullTopicRefuses(s *suite) {
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 2, MaxBytes: 1 << 16})
	s.declareConfig(queue.TopicConfig{Name: "bills", MaxBytes: 1 << 16})
	s.append("orders", 0, "ab")
	s.fill("orders", 1)
	before := s.stats("orders")
	for p := range 2 {
		if !s.fills(s.engine.Append(s.Context(), "orders", p, filler())) {
			s.Errorf("partition %d of a full topic took more", p)
		}
	}
	after := s.stats("orders")
	for p := range 2 {
		if before.Partitions[p] != after.Partitions[p] {
			s.Errorf("partition %d changed from %+v to %+v", p, before.Partitions[p], after.Partitions[p])
		}
	}
	s.wantText("orders", 0, "ab")
	s.append("bills", 0, "c") // Another topic has room of its own.
}

func trimMakesRoom(s *suite) {
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 2, MaxBytes: 1 << 16})
	s.fill("orders", 1)
	s.trim("orders", 1, s.entries("orders", 1)[5].Position)
	for range 5 {
		s.appendBatch("orders", 0, filler())
	}
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 2, MaxBytes: 1 << 17})
	s.fill("orders", 0)
	s.trim("orders", 0, s.stats("orders").Partitions[0].End)
	s.trim("orders", 1, s.stats("orders").Partitions[1].End)
	// What is left is the last entry of each.
	if got := s.stats("orders").Bytes; got > 1<<13 {
		s.Errorf("%d bytes are counted for two entries", got)
	}
}

func theBoundIsExact(s *suite) {
	const bound, appenders = 1 << 16, 8
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 2, MaxBytes: bound})
	s.appendBatch("orders", 0, filler())
	size := s.stats("orders").Bytes // Of one batch.
	var taken atomic.Int64
	taken.Add(1)
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for {
				err := s.engine.Append(s.Context(), "orders", a%2, filler())
				if errors.Is(err, queue.ErrFull) {
					return
				}
				if err != nil {
					s.Errorf("Append() = %v", err)
					return
				}
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if want := bound / size; taken.Load() != want {
		s.Errorf("%d batches of %d bytes were taken, want %d in %d bytes", taken.Load(), size, want, int64(bound))
	}
	if got := s.stats("orders").Bytes; got != taken.Load()*size {
		s.Errorf("%d bytes are counted, want %d", got, taken.Load()*size)
	}

	// The rest is filled as closely as can be.
	before := s.stats("orders").Bytes
	var least int64
	for !s.fills(s.engine.Append(s.Context(), "orders", 0, queue.Batch{Messages: letters("x")})) {
		now := s.stats("orders").Bytes
		least, before = now-before, now
	}
	if before > bound || least > 0 && before+least <= bound {
		s.Errorf("the topic is full at %d of %d bytes, and a small batch takes %d", before, int64(bound), least)
	}
}
