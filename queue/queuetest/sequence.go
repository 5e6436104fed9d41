package queuetest

import (
	"errors"
	"sync"

	"snip/queue"
)

func sequences(e queue.LogEngine) bool { return e.Caps().Sequences }

var sequenceCases = []Case{
	{
		Name:  "SegmentNumbersGoOn",
		Rule:  "A batch whose first number is not the next of its segment answers a *SequenceError with that number, and nothing is appended.",
		needs: sequences,
		run:   segmentNumbersGoOn,
	},
	{
		Name:  "SegmentsAreToldApart",
		Rule:  "Each segment is numbered by itself, in each partition and topic; a batch of no segment is never out of sequence.",
		needs: sequences,
		run:   segmentsAreToldApart,
	},
	{
		Name:  "ALostReplyIsToldFromALostAppend",
		Rule:  "A batch that is sent again after its reply was lost is not appended twice, even if the topic has become full since.",
		needs: sequences,
		run:   aLostReplyIsToldFromALostAppend,
	},
	{
		Name:  "OfTwoAppendsOfANumberOneWins",
		Rule:  "Of concurrent appends with the same first number exactly one is appended; the others learn the next number.",
		needs: sequences,
		run:   ofTwoAppendsOfANumberOneWins,
	},
	{
		Name:  "TrimmingForgetsNoNumbers",
		Rule:  "The next number of a segment outlives its messages.",
		needs: sequences,
		run:   trimmingForgetsNoNumbers,
	},
}

// wantSequence appends a batch that is out of sequence.
func (s *suite) wantSequence(topic string, partition int, b queue.Batch, expected uint64) {
	s.Helper()
	err := s.engine.Append(s.Context(), topic, partition, b)
	e, ok := errors.AsType[*queue.SequenceError](err)
	if !ok {
		s.Errorf("Append() of number %d = %v, want a *SequenceError that expects %d", b.First, err, expected)
		return
	}
	if e.Expected != expected || e.Segment != b.Segment {
		s.Errorf("Append() of number %d of segment %s expects %d of segment %s, want %d", b.First, b.Segment, e.Expected, e.Segment, expected)
	}
}

func segmentNumbersGoOn(s *suite) {
	s.declare("orders", 1)
	segment := queue.NewSegmentID()
	s.wantSequence("orders", 0, queue.Batch{Segment: segment, First: 1, Messages: letters("z")}, 0)
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, First: 0, Messages: letters("abc")})
	for _, first := range []uint64{0, 1, 2, 4, 1 << 40} {
		s.wantSequence("orders", 0, queue.Batch{Segment: segment, First: first, Messages: letters("xyz")}, 3)
	}
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, First: 3, Messages: letters("d")})
	s.wantSequence("orders", 0, queue.Batch{Segment: segment, First: 3, Messages: letters("d")}, 4)
	s.wantText("orders", 0, "abc d")
	for i, want := range []uint64{0, 3} {
		if e := s.entries("orders", 0)[i]; e.First != want || e.Segment != segment {
			s.Errorf("entry %d: segment %s, first %d, want segment %s, first %d", i, e.Segment, e.First, segment, want)
		}
	}
}

func segmentsAreToldApart(s *suite) {
	s.declare("orders", 2)
	s.declare("bills", 1)
	one, two := queue.NewSegmentID(), queue.NewSegmentID()
	s.appendBatch("orders", 0, queue.Batch{Segment: one, Messages: letters("abc")})
	s.appendBatch("orders", 0, queue.Batch{Segment: two, Messages: letters("d")})
	s.append("orders", 0, "e")
	s.append("orders", 0, "f")
	s.wantSequence("orders", 1, queue.Batch{Segment: one, First: 3, Messages: letters("x")}, 0)
	s.wantSequence("bills", 0, queue.Batch{Segment: two, First: 1, Messages: letters("x")}, 0)
	s.appendBatch("orders", 0, queue.Batch{Segment: one, First: 3, Messages: letters("g")})
	s.appendBatch("orders", 0, queue.Batch{Segment: two, First: 1, Messages: letters("h")})
	s.wantText("orders", 0, "abc d e f g h")
	s.wantText("orders", 1, "")
	s.wantText("bills", 0, "")
}

func aLostReplyIsToldFromALostAppend(s *suite) {
	s.declareConfig(queue.TopicConfig{Name: "orders", MaxBytes: 1 << 16})
	segment := queue.NewSegmentID()
	batch := queue.Batch{Segment: segment, Messages: letters("abc")}
	s.appendBatch("orders", 0, batch)
	s.wantSequence("orders", 0, batch, 3)
	s.fill("orders", 0)
	s.wantSequence("orders", 0, batch, 3)
}

func ofTwoAppendsOfANumberOneWins(s *suite) {
	s.declare("orders", 1)
	segment := queue.NewSegmentID()
	const senders, rounds = 8, 5
	for round := range uint64(rounds) {
		outcomes := make([]error, senders)
		var wg sync.WaitGroup
		for i := range outcomes {
			wg.Go(func() {
				outcomes[i] = s.engine.Append(s.Context(), "orders", 0, queue.Batch{Segment: segment, First: 2 * round, Messages: letters("ab")})
			})
		}
		wg.Wait()
		won := 0
		for _, err := range outcomes {
			if err == nil {
				won++
			} else if e, ok := errors.AsType[*queue.SequenceError](err); !ok || e.Expected != 2*round+2 {
				s.Errorf("Append() of number %d = %v, want a *SequenceError that expects %d", 2*round, err, 2*round+2)
			}
		}
		if won != 1 {
			s.Fatalf("%d of %d appends of number %d were taken, want 1", won, senders, 2*round)
		}
	}
	s.wantText("orders", 0, "ab ab ab ab ab")
}

func trimmingForgetsNoNumbers(s *suite) {
	s.declare("orders", 1)
	segment := queue.NewSegmentID()
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, Messages: letters("abc")})
	s.append("orders", 0, "d", "e")
	s.trim("orders", 0, s.entries("orders", 0)[2].Position)
	s.wantSequence("orders", 0, queue.Batch{Segment: segment, Messages: letters("abc")}, 3)
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, First: 3, Messages: letters("f")})
	s.wantText("orders", 0, "e f")
}
