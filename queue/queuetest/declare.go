package queuetest

import (
	"errors"
	"strings"

	"snip/queue"
)

var declareCases = []Case{
	{
		Name: "DeclaringAgainKeepsTheTopic",
		Rule: "A topic's ID is made when it is created; declaring it again answers with the same one, and changes nothing.",
		run:  declaringAgainKeepsTheTopic,
	},
	{
		Name: "DeclaringAgainChangesTheBound",
		Rule: "Declaring a topic again with another bound is the way to change it.",
		run:  declaringAgainChangesTheBound,
	},
	{
		Name: "PartitionsAreFixed",
		Rule: "Declaring a topic with another number of partitions is an error that names both numbers, and changes nothing.",
		run:  partitionsAreFixed,
	},
	{
		Name: "OutOfRangeIsRefused",
		Rule: "A name or a number out of range is refused with an error that names the field.",
		run:  outOfRangeIsRefused,
	},
	{
		Name: "UnclaimedIsRefused",
		Rule: "What Caps does not claim is refused with ErrUnsupported when a topic asks for it; what it claims is not.",
		run:  unclaimedIsRefused,
	},
	{
		Name: "UnknownIsNotFound",
		Rule: "A topic that was never declared, or a partition out of its range, is ErrNotFound.",
		run:  unknownIsNotFound,
	},
}

func declaringAgainKeepsTheTopic(s *suite) {
	id := s.declare("orders", 2)
	s.append("orders", 1, "ab")
	if again := s.declare("orders", 2); again != id {
		s.Errorf("ID when declared again = %s, want %s", again, id)
	}
	s.wantText("orders", 1, "ab")
	if stats := s.stats("orders"); stats.ID != id {
		s.Errorf("Stats().ID = %s, want %s", stats.ID, id)
	}
	if other := s.declare("bills", 2); other == id || other == (queue.TopicID{}) {
		s.Errorf("ID of another topic = %s, the first has %s", other, id)
	}
}

func declaringAgainChangesTheBound(s *suite) {
	for _, bound := range []int64{1 << 20, 1 << 21, 1 << 16} {
		s.declareConfig(queue.TopicConfig{Name: "orders", MaxBytes: bound})
		if got := s.stats("orders").MaxBytes; got != bound {
			s.Errorf("Stats().MaxBytes = %d, want %d", got, bound)
		}
	}
}

func partitionsAreFixed(s *suite) {
	s.declareConfig(queue.TopicConfig{Name: "orders", Partitions: 12, MaxBytes: 1 << 20})
	s.append("orders", 11, "ab")
	_, err := s.engine.Declare(s.Context(), queue.TopicConfig{Name: "orders", Partitions: 34, MaxBytes: 1 << 21})
	if err == nil || !strings.Contains(err.Error(), "12") || !strings.Contains(err.Error(), "34") {
		s.Errorf("Declare() with 34 partitions instead of 12 = %v, want an error that names both", err)
	}
	s.wantText("orders", 11, "ab")
	if stats := s.stats("orders"); len(stats.Partitions) != 12 || stats.MaxBytes != 1<<20 {
		s.Errorf("after a refused Declare the topic has %d partitions and %d bytes, want 12 and %d",
			len(stats.Partitions), stats.MaxBytes, 1<<20)
	}
}

func outOfRangeIsRefused(s *suite) {
	for _, c := range []struct {
		field string
		topic queue.TopicConfig
	}{
		{"Name", queue.TopicConfig{Name: ""}},
		{"Name", queue.TopicConfig{Name: "Orders"}},
		{"Name", queue.TopicConfig{Name: "a/b"}},
		{"Name", queue.TopicConfig{Name: "bücher"}},
		{"Name", queue.TopicConfig{Name: strings.Repeat("x", 101)}},
		{"Partitions", queue.TopicConfig{Name: "orders", Partitions: -1}},
		{"Partitions", queue.TopicConfig{Name: "orders", Partitions: 1025}},
		{"MaxBytes", queue.TopicConfig{Name: "orders", MaxBytes: -1}},
		{"MaxBytes", queue.TopicConfig{Name: "orders", MaxBytes: 1<<16 - 1}},
	} {
		if _, err := s.engine.Declare(s.Context(), c.topic); err == nil || !strings.Contains(err.Error(), c.field) {
			s.Errorf("Declare(%+v) = %v, want an error that names %s", c.topic, err, c.field)
		}
	}
	s.declareConfig(queue.TopicConfig{Name: strings.Repeat("x", 100), Partitions: 1024, MaxBytes: 1 << 16})
}

func unclaimedIsRefused(s *suite) {
	caps := s.engine.Caps()
	if caps.Engine == "" || caps.MaxBatchBytes < 1 {
		s.Errorf("Caps() = %+v, want an engine's name and a largest batch", caps)
	}
	if !caps.ExactBound && caps.Overshoot == "" {
		s.Error("Caps() claims no exact bound and does not say by how much it is passed")
	}
	ask := func(c queue.TopicConfig, claimed bool) {
		s.Helper()
		_, err := s.engine.Declare(s.Context(), c)
		if claimed && err != nil {
			s.Errorf("Declare(%+v) = %v, but it is claimed", c, err)
		}
		if !claimed && !errors.Is(err, queue.ErrUnsupported) {
			s.Errorf("Declare(%+v) = %v, want %v", c, err, queue.ErrUnsupported)
		}
	}
	for d := queue.DurableNothing; d <= queue.DurablePower; d++ {
		ask(queue.TopicConfig{Name: "durable", Durability: d}, d <= caps.Durability)
	}
	ask(queue.TopicConfig{Name: "sequences", Sequences: true}, caps.Sequences)
}

func unknownIsNotFound(s *suite) {
	s.declare("orders", 2)
	for _, c := range []struct {
		topic     string
		partition int
	}{
		{"bills", 0}, {"orders", -1}, {"orders", 2},
	} {
		batch := queue.Batch{Messages: letters("a")}
		_, read := s.engine.Read(s.Context(), c.topic, c.partition, queue.Position{}, 1)
		for call, err := range map[string]error{
			"Append":      s.engine.Append(s.Context(), c.topic, c.partition, batch),
			"Read":        read,
			"Trim":        s.engine.Trim(s.Context(), c.topic, c.partition, queue.Position{}),
			"Append none": s.engine.Append(s.Context(), c.topic, c.partition, queue.Batch{}),
		} {
			if !errors.Is(err, queue.ErrNotFound) {
				s.Errorf("%s(%q, %d) = %v, want %v", call, c.topic, c.partition, err, queue.ErrNotFound)
			}
		}
	}
	if _, err := s.engine.Stats(s.Context(), "bills"); !errors.Is(err, queue.ErrNotFound) {
		s.Errorf("Stats(%q) = %v, want %v", "bills", err, queue.ErrNotFound)
	}
}
