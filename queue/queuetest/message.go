package queuetest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"snip/queue"
)

var messageCases = []Case{
	{
		Name: "MessagesComeBackExactly",
		Rule: "A message is kept byte for byte: bodies and headers of any bytes, times to the nanosecond, the zero time as such.",
		run:  messagesComeBackExactly,
	},
	{
		Name: "NothingIsShared",
		Rule: "What a caller passes in is not kept after the call, and what is returned is the caller's to change.",
		run:  nothingIsShared,
	},
	{
		Name: "AnEmptyBatchDoesNothing",
		Rule: "A batch without messages does nothing.",
		run:  anEmptyBatchDoesNothing,
	},
	{
		Name: "ATooLargeBatchIsRefused",
		Rule: "A batch larger than Caps.MaxBatchBytes is refused whole, with an error that names the limit or says that it never fits; one just below it is taken.",
		run:  aTooLargeBatchIsRefused,
	},
}

func oddMessages() []queue.Message {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return []queue.Message{
		{},
		{ID: "1", Key: "k", Type: "order.placed", Time: time.Unix(1_000_000_000, 123_456_789).UTC(), Body: []byte("body")},
		{Time: time.Unix(0, 0).UTC()},
		{Time: time.Unix(-1, 1).UTC()},
		{Time: time.Date(2100, 2, 28, 23, 59, 59, 999_999_999, time.FixedZone("", 3*60*60))},
		{ID: "\xff\x00\xfe", Key: "\x00", Type: "t\xc3\x28", Body: every},
		{Headers: map[string]string{"": "", "a": "\x00\xff", "\xff": "b", "Content-Type": "text/plain; charset=utf-8"}},
		{Body: bytes.Repeat([]byte{0, 0xff, '\n', '\''}, 256<<10/4)},
		{Type: queue.TypeLost},
		{Body: []byte("\x00")},
	}
}

func messagesComeBackExactly(s *suite) {
	want := oddMessages()
	s.declare("alone", 1)
	s.declare("together", 1)
	for _, m := range want {
		s.appendBatch("alone", 0, queue.Batch{Messages: []queue.Message{m}})
	}
	s.appendBatch("together", 0, queue.Batch{Messages: want})
	for _, topic := range []string{"alone", "together"} {
		var got []queue.Message
		for _, e := range s.entries(topic, 0) {
			got = append(got, e.Messages...)
		}
		if len(got) != len(want) {
			s.Fatalf("topic %q holds %d messages, want %d", topic, len(got), len(want))
		}
		for i := range want {
			if !same(got[i], want[i]) {
				s.Errorf("topic %q: message %d = %.200q, want %.200q", topic, i, got[i], want[i])
			}
		}
	}
}

// same: nil and empty are the same, and so are two names of one instant.
func same(a, b queue.Message) bool {
	return a.ID == b.ID && a.Key == b.Key && a.Type == b.Type && a.Time.Equal(b.Time) && a.Time.IsZero() == b.Time.IsZero() &&
		maps.Equal(a.Headers, b.Headers) && bytes.Equal(a.Body, b.Body)
}

func nothingIsShared(s *suite) {
	s.declare("orders", 1)
	m := queue.Message{Body: []byte("body"), Headers: map[string]string{"name": "value"}}
	batch := queue.Batch{Messages: []queue.Message{m}}
	s.appendBatch("orders", 0, batch)
	spoil := func(messages []queue.Message) {
		messages[0].Body[0] = 'X'
		messages[0].Headers["name"] = "X"
		messages[0] = queue.Message{}
	}
	want := queue.Message{Body: []byte("body"), Headers: map[string]string{"name": "value"}}
	spoil(batch.Messages)
	for range 2 {
		got := s.entries("orders", 0)[0].Messages
		if !same(got[0], want) {
			s.Errorf("message = %q, want %q", got[0], want)
			return
		}
		spoil(got)
	}
}

func anEmptyBatchDoesNothing(s *suite) {
	s.declare("orders", 1)
	segment := queue.NewSegmentID()
	s.appendBatch("orders", 0, queue.Batch{})
	s.appendBatch("orders", 0, queue.Batch{Segment: segment})
	s.append("orders", 0, "a")
	s.appendBatch("orders", 0, queue.Batch{})
	s.wantText("orders", 0, "a")
	if got := s.stats("orders").Partitions[0].Appended; got != 1 {
		s.Errorf("Appended = %d, want 1", got)
	}
}

func aTooLargeBatchIsRefused(s *suite) {
	s.declare("orders", 1)
	limit := s.engine.Caps().MaxBatchBytes
	half := bytes.Repeat([]byte{'x'}, limit/2)
	batch := queue.Batch{Messages: []queue.Message{{Body: half}, {Body: half}}}
	err := s.engine.Append(s.Context(), "orders", 0, batch)
	if err == nil {
		s.Fatalf("Append() took a batch larger than %d bytes", limit)
	}
	if !strings.Contains(err.Error(), "batch") {
		s.Errorf("Append() = %v, want an error that speaks of the batch", err)
	}
	if got := s.entries("orders", 0); len(got) != 0 {
		s.Fatalf("%d entries of a refused batch were appended", len(got))
	}
	spare := limit - len(queue.AppendFrames(nil, batch.Messages[:1]))
	batch.Messages[1].Body = slices.Clone(half[:spare-100])
	s.appendBatch("orders", 0, batch)
	got := s.entries("orders", 0)
	if len(got) != 1 || len(got[0].Messages) != 2 || !same(got[0].Messages[1], batch.Messages[1]) {
		s.Error("a batch just below the limit did not come back")
	}
}
