package queuetest

import (
	"context"
	"fmt"
	"sync"

	"snip/queue"
)

var orderCases = []Case{{
	Name: "NothingCommittedIsSkipped",
	Rule: "Positions grow in commit order: a reader that follows many concurrent appenders sees every batch whole and once, each appender's in its order, and offsets without a gap.",
	run:  nothingCommittedIsSkipped,
}}

func nothingCommittedIsSkipped(s *suite) {
	s.declare("orders", 1)
	const appenders, batches = 8, 25
	engines := []queue.LogEngine{s.engine}
	if s.engine.Caps().Shared {
		engines = append(engines, s.open())
	}
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for n := range batches {
				var messages []queue.Message
				for i := range 1 + n%3 {
					messages = append(messages, queue.Message{ID: fmt.Sprint(i), Key: fmt.Sprint(a), Type: fmt.Sprint(n)})
				}
				if err := engines[a%len(engines)].Append(ctx, "orders", 0, queue.Batch{Messages: messages}); err != nil {
					s.Errorf("Append() = %v", err)
					cancel()
					return
				}
			}
		})
	}
	defer wg.Wait()

	var at queue.Position
	var offset uint64
	var next [appenders]int // Per appender, the batch to come.
	for seen := 0; seen < appenders*batches; {
		entries, err := engines[len(engines)-1].Read(ctx, "orders", 0, at, 5)
		if err != nil {
			s.Errorf("after %d of %d batches: Read() = %v", seen, appenders*batches, err)
			return
		}
		for _, e := range entries {
			if e.Offset != offset {
				s.Errorf("offset %d follows %d", e.Offset, offset)
				return
			}
			var a, n int
			if _, err := fmt.Sscan(e.Messages[0].Key+" "+e.Messages[0].Type, &a, &n); err != nil {
				s.Errorf("a message that nobody appended: %v", err)
				return
			}
			if next[a] != n || len(e.Messages) != 1+n%3 {
				s.Errorf("batch %d of appender %d came with %d messages, want batch %d with %d", n, a, len(e.Messages), next[a], 1+next[a]%3)
				return
			}
			next[a]++
			offset += uint64(len(e.Messages))
			at = e.Next
			seen++
		}
	}
	if rest := s.read("orders", 0, at, all); len(rest) != 0 {
		s.Errorf("%d entries too many", len(rest))
	}
}
