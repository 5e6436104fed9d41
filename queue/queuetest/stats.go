package queuetest

import (
	"time"

	"snip/queue"
)

func backlogs(e queue.LogEngine) bool {
	_, ok := e.(queue.Backlogger)
	return ok
}

var statsCases = []Case{
	{
		Name: "StatsDescribeTheTopic",
		Rule: "Stats gives the bound, what is kept, and per partition the end, the messages ever appended and the time of the first one kept.",
		run:  statsDescribeTheTopic,
	},
	{
		Name:  "BacklogIsWhatStandsBehind",
		Rule:  "Backlog counts the messages after a position and finds the earliest of their times; its errors are those of Read.",
		needs: backlogs,
		run:   backlogIsWhatStandsBehind,
	},
}

var noon = time.Date(2026, 11, 29, 12, 0, 0, 123_456_789, time.UTC)

// appendAt appends a batch of messages of these minutes after noon.
func (s *suite) appendAt(topic string, partition int, minutes ...int) {
	s.Helper()
	var b queue.Batch
	for _, m := range minutes {
		b.Messages = append(b.Messages, queue.Message{Time: after(m)})
	}
	s.appendBatch(topic, partition, b)
}

func after(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func statsDescribeTheTopic(s *suite) {
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 2, MaxBytes: 1 << 20})
	empty := s.stats("orders")
	if empty.Bytes != 0 || empty.MaxBytes != 1<<20 || len(empty.Partitions) != 2 {
		s.Errorf("Stats() of a new topic = %+v", empty)
	}
	for p, got := range empty.Partitions {
		if got != (queue.PartitionStats{}) {
			s.Errorf("Stats() of a new topic: partition %d = %+v, want none", p, got)
		}
	}
	s.appendAt("orders", 1, 1, 2, 3)
	s.appendAt("orders", 1, 4, 5)
	entries := s.entries("orders", 1)
	check := func(when string, oldest time.Time) {
		s.Helper()
		got := s.stats("orders").Partitions[1]
		if got.Appended != 5 || got.End != entries[1].Next || !got.Oldest.Equal(oldest) {
			s.Errorf("%s: Stats() = %+v, want 5 messages, end %s, oldest %s", when, got, entries[1].Next, oldest)
		}
	}
	check("untrimmed", after(1))
	s.trim("orders", 1, entries[1].Position)
	check("trimmed", after(4))
}

func backlogIsWhatStandsBehind(s *suite) {
	s.declare("orders", 2)
	backlog := func(p int, at queue.Position) queue.Lag {
		s.Helper()
		lag, err := s.engine.(queue.Backlogger).Backlog(s.Context(), "orders", p, at)
		if err != nil {
			s.Fatalf("Backlog(%d, %q) = %v", p, at, err)
		}
		return lag
	}
	if got := backlog(1, queue.Position{}); got != (queue.Lag{}) {
		s.Errorf("Backlog() of an empty partition = %+v, want none", got)
	}
	s.appendAt("orders", 0, 0)
	s.appendAt("orders", 1, 5, 6, 7)
	s.appendAt("orders", 1, 8, 1) // A late one.
	s.appendAt("orders", 1, 9)
	s.append("orders", 1, "z") // Without a time.
	entries := s.entries("orders", 1)
	for _, c := range []struct {
		at       queue.Position
		messages uint64
		oldest   time.Time
	}{
		{queue.Position{}, 7, after(1)},
		{entries[0].Position, 7, after(1)},
		{queue.Position{Entry: entries[0].Position.Entry, Index: 2}, 5, after(1)},
		{entries[0].Next, 4, after(1)},
		{entries[1].Position, 4, after(1)},
		{entries[1].Next, 2, after(9)},
		{entries[2].Next, 1, time.Time{}},
		{entries[3].Next, 0, time.Time{}},
	} {
		if got := backlog(1, c.at); got.Messages != c.messages || !got.Oldest.Equal(c.oldest) {
			s.Errorf("Backlog(%q) = %+v, want %d since %s", c.at, got, c.messages, c.oldest)
		}
	}
	s.trim("orders", 1, entries[2].Position)
	for _, at := range []queue.Position{{}, entries[1].Next} {
		if got := backlog(1, at); got.Messages != 2 || !got.Oldest.Equal(after(9)) {
			s.Errorf("after a trim Backlog(%q) = %+v, want 2 since %s", at, got, after(9))
		}
	}
	for name, at := range map[string]queue.Position{"trimmed": entries[0].Next, "foreign": s.entries("orders", 0)[0].Next} {
		_, err := s.engine.(queue.Backlogger).Backlog(s.Context(), "orders", 1, at)
		_, read := s.engine.Read(s.Context(), "orders", 1, at, 1)
		if err == nil || read == nil {
			s.Errorf("Backlog() from a %s position = %v, and Read() = %v, want %v", name, err, read, queue.ErrPositionLost)
		}
	}
}
