package queuetest

import (
	"context"
	"errors"
	"io"

	"snip/queue"
)

func shared(e queue.LogEngine) bool { return e.Caps().Shared }

// outlives: what the engine keeps is there when it is opened again.
func outlives(e queue.LogEngine) bool { return e.Caps().Durability > queue.DurableNothing }

var storeCases = []Case{
	{
		Name:  "ASharedStoreIsOneLog",
		Rule:  "Where Caps.Shared is claimed, engines on one store see each other's topics, batches, numbers, bounds, rosters and positions at once.",
		needs: shared,
		run:   aSharedStoreIsOneLog,
	},
	{
		Name:  "AnotherEnginesAppendWakes",
		Rule:  "Where Caps.Shared is claimed, Wait returns on what another engine appended, and misses nothing of it.",
		needs: func(e queue.LogEngine) bool { return shared(e) && waits(e) },
		run:   func(s *suite) { s.pingPong(s.engine, s.open()) },
	},
	{
		Name:  "OpeningAgainKeepsEverything",
		Rule:  "Where Caps.Durability is more than nothing, an engine that is opened again holds all that the one before took.",
		needs: outlives,
		run:   openingAgainKeepsEverything,
	},
	{
		Name: "AnEndedContextEndsACall",
		Rule: "A call whose context has ended says so and does nothing.",
		run:  anEndedContextEndsACall,
	},
	{
		Name: "AClosedEngineSaysSo",
		Rule: "Every call after Close, and every Wait that Close ends, answers ErrClosed.",
		needs: func(e queue.LogEngine) bool {
			_, ok := e.(io.Closer)
			return ok
		},
		run: aClosedEngineSaysSo,
	},
}

func aSharedStoreIsOneLog(s *suite) {
	one, two := s.engine, s.open()
	id := s.declare("orders", 2)
	segment := queue.NewSegmentID()
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, Messages: letters("ab")})

	s.engine = two
	if got := s.declare("orders", 2); got != id {
		s.Errorf("another engine has ID %s for the topic, want %s", got, id)
	}
	s.wantText("orders", 0, "ab")
	if s.engine.Caps().Sequences {
		s.wantSequence("orders", 0, queue.Batch{Segment: segment, Messages: letters("ab")}, 2)
	}
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, First: 2, Messages: letters("c")})
	at := s.stats("orders").Partitions[0].End
	if groups(s.engine) {
		s.swap("count", "orders", 0, "roster")
		s.commit("count", id, 0, queue.Position{}, at)
	}

	s.engine = one
	s.wantText("orders", 0, "ab c")
	if groups(s.engine) {
		s.wantRoster("count", "orders", "roster", 1)
		s.wantPosition("count", id, 0, at)
		s.wantFenced("count", id, 0, queue.Position{}, at)
	}
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 2, MaxBytes: 1 << 16})
	s.fill("orders", 1)
	s.engine = two
	if !s.fills(s.engine.Append(s.Context(), "orders", 0, filler())) {
		s.Error("another engine took more into a full topic")
	}
}

func openingAgainKeepsEverything(s *suite) {
	id, at := s.threePositions()
	segment := queue.NewSegmentID()
	s.appendBatch("orders", 1, queue.Batch{Segment: segment, Messages: oddMessages()})
	s.trim("orders", 0, at[1])
	if groups(s.engine) {
		s.swap("count", "orders", 0, "roster")
		s.commit("count", id, 0, queue.Position{}, at[2])
	}
	stats, entries := s.stats("orders"), s.entries("orders", 0)
	s.close(s.engine)

	s.engine = s.open()
	if got := s.declare("orders", 2); got != id {
		s.Errorf("ID = %s, want %s", got, id)
	}
	got := s.stats("orders")
	if got.Bytes != stats.Bytes || got.Partitions[0] != stats.Partitions[0] || got.Partitions[1] != stats.Partitions[1] {
		s.Errorf("Stats() = %+v, want %+v", got, stats)
	}
	s.wantText("orders", 0, "cd ef")
	for i, e := range s.entries("orders", 0) {
		if e.Position != entries[i].Position || e.Offset != entries[i].Offset {
			s.Errorf("entry %d stands at %+v, want %+v", i, e.Position, entries[i].Position)
		}
	}
	for i, m := range s.entries("orders", 1)[0].Messages {
		if want := oddMessages()[i]; !same(m, want) {
			s.Errorf("message %d = %.200q, want %.200q", i, m, want)
		}
	}
	if s.engine.Caps().Sequences {
		s.wantSequence("orders", 1, queue.Batch{Segment: segment, Messages: letters("a")}, uint64(len(oddMessages())))
	}
	if groups(s.engine) {
		s.wantRoster("count", "orders", "roster", 1)
		s.wantPosition("count", id, 0, at[2])
	}
	s.append("orders", 0, "gh")
	if got := text(s.read("orders", 0, at[2], all)); got != "gh" {
		s.Errorf("Read() from the end = %q, want %q", got, "gh")
	}
}

// calls makes every call of every interface the engine has, but Wait.
func (s *suite) calls(ctx context.Context, id queue.TopicID) map[string]error {
	e := s.engine
	all := map[string]error{}
	_, all["Declare"] = e.Declare(ctx, queue.TopicConfig{Name: "bills"})
	all["Append"] = e.Append(ctx, "orders", 0, queue.Batch{Messages: letters("x")})
	_, all["Read"] = e.Read(ctx, "orders", 0, queue.Position{}, 1)
	all["Trim"] = e.Trim(ctx, "orders", 0, queue.Position{})
	_, all["Stats"] = e.Stats(ctx, "orders")
	if b, ok := e.(queue.Backlogger); ok {
		_, all["Backlog"] = b.Backlog(ctx, "orders", 0, queue.Position{})
	}
	if g, ok := e.(queue.GroupStore); ok {
		_, _, _, all["Roster"] = g.Roster(ctx, "count", "orders")
		all["Swap"] = g.Swap(ctx, "count", "orders", 0, []byte("x"))
		_, all["Position"] = g.Position(ctx, "count", id, 0)
		all["Commit"] = g.Commit(ctx, "count", id, 0, queue.Position{}, queue.Position{Entry: "x"})
	}
	return all
}

func anEndedContextEndsACall(s *suite) {
	id := s.declare("orders", 1)
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	for call, err := range s.calls(ctx, id) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s() = %v, want %v", call, err, context.Canceled)
		}
	}
	s.wantText("orders", 0, "")
	if groups(s.engine) {
		s.wantRoster("count", "orders", "", 0)
		s.wantPosition("count", id, 0, queue.Position{})
	}
	if _, err := s.engine.Stats(s.Context(), "bills"); !errors.Is(err, queue.ErrNotFound) {
		s.Errorf("Stats() of a topic whose Declare was ended = %v, want %v", err, queue.ErrNotFound)
	}
}

func aClosedEngineSaysSo(s *suite) {
	id := s.declare("orders", 1)
	w, isWaiter := s.engine.(queue.Waiter)
	ended := make(chan error, 1)
	if isWaiter {
		go func() {
			var seen uint64
			var err error
			for err == nil {
				seen, err = w.Wait(s.Context(), "orders", seen)
			}
			ended <- err
		}()
	}
	s.close(s.engine)
	if isWaiter {
		if err := <-ended; !errors.Is(err, queue.ErrClosed) {
			s.Errorf("Wait() that was closed = %v, want %v", err, queue.ErrClosed)
		}
		if _, err := w.Wait(s.Context(), "orders", 0); !errors.Is(err, queue.ErrClosed) {
			s.Errorf("Wait() = %v, want %v", err, queue.ErrClosed)
		}
	}
	for call, err := range s.calls(s.Context(), id) {
		if !errors.Is(err, queue.ErrClosed) {
			s.Errorf("%s() = %v, want %v", call, err, queue.ErrClosed)
		}
	}
}
