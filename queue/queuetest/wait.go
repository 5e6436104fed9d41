package queuetest

import (
	"context"
	"errors"
	"fmt"

	"snip/queue"
)

func waits(e queue.LogEngine) bool {
	_, ok := e.(queue.Waiter)
	return ok
}

var waitCases = []Case{
	{
		Name:  "WaitingStartsAtOnce",
		Rule:  "Wait that has seen 0 returns at once, with what to wait for next.",
		needs: waits,
		run:   waitingStartsAtOnce,
	},
	{
		Name:  "AnAppendWakes",
		Rule:  "Wait returns when the topic has grown since the call that returned what it has seen.",
		needs: waits,
		run:   anAppendWakes,
	},
	{
		Name:  "WaitingMissesNothing",
		Rule:  "Who reads after Wait, finds nothing and waits with what it returned, misses nothing.",
		needs: waits,
		run:   waitingMissesNothing,
	},
	{
		Name:  "WaitingEndsWithItsContext",
		Rule:  "Wait returns when its context ends.",
		needs: waits,
		run:   waitingEndsWithItsContext,
	},
}

func (s *suite) wait(ctx context.Context, e queue.LogEngine, topic string, seen uint64) uint64 {
	s.Helper()
	now, err := e.(queue.Waiter).Wait(ctx, topic, seen)
	if err != nil {
		s.Errorf("Wait(%q, %d) = %v", topic, seen, err)
	}
	return now
}

func waitingStartsAtOnce(s *suite) {
	s.declare("orders", 1)
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if got := s.wait(ctx, s.engine, "orders", 0); got == 0 {
		s.Error("Wait() = 0, which is for who has seen nothing")
	}
	s.append("orders", 0, "a")
	s.wait(ctx, s.engine, "orders", 0)
}

func anAppendWakes(s *suite) {
	s.declare("orders", 2)
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	seen := s.wait(ctx, s.engine, "orders", 0)
	s.append("orders", 1, "a")
	before, seen := seen, s.wait(ctx, s.engine, "orders", seen)
	if seen == before {
		s.Errorf("Wait() after an append = %d, which was seen before it", seen)
	}
	woken := make(chan uint64)
	go func() { woken <- s.wait(ctx, s.engine, "orders", seen) }()
	s.append("orders", 0, "b")
	if got := <-woken; got == seen {
		s.Errorf("Wait() beside an append = %d, which was seen before it", got)
	}
}

// waitingMissesNothing runs a reader that never polls beside an appender that gives
// it one message at a time: if one is missed, both stand still.
func waitingMissesNothing(s *suite) { s.pingPong(s.engine, s.engine) }

func (s *suite) pingPong(from, to queue.LogEngine) {
	s.Helper()
	s.declare("orders", 1)
	const rounds = 50
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	received := make(chan string)
	go func() {
		defer close(received)
		var at queue.Position
		var seen uint64
		for n := 0; n < rounds; {
			entries, err := to.Read(ctx, "orders", 0, at, all)
			if err != nil {
				s.Errorf("Read() = %v", err)
				return
			}
			for _, e := range entries {
				for _, m := range e.Messages {
					select {
					case received <- string(m.Body):
					case <-ctx.Done():
						return
					}
					n++
				}
				at = e.Next
			}
			if len(entries) > 0 {
				continue
			}
			seen, err = to.(queue.Waiter).Wait(ctx, "orders", seen)
			if err != nil {
				s.Errorf("after %d of %d messages: Wait() = %v", n, rounds, err)
				return
			}
		}
	}()
	for n := range rounds {
		if err := from.Append(ctx, "orders", 0, queue.Batch{Messages: bodies(fmt.Sprint(n))}); err != nil {
			s.Errorf("Append() = %v", err)
			cancel()
			break
		}
		if got, ok := <-received; !ok || got != fmt.Sprint(n) {
			s.Errorf("message %d came as %q, %t", n, got, ok)
			cancel()
			break
		}
	}
	for range received { // Until the reader has ended.
	}
}

func waitingEndsWithItsContext(s *suite) {
	s.declare("orders", 1)
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error)
	go func() {
		seen := uint64(0)
		for {
			var err error
			if seen, err = s.engine.(queue.Waiter).Wait(ctx, "orders", seen); err != nil || ctx.Err() != nil {
				ended <- err
				return
			}
		}
	}()
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		s.Errorf("Wait() = %v, want nil or %v", err, context.Canceled)
	}
}
