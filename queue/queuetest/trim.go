package queuetest

import (
	"errors"

	"snip/queue"
)

var trimCases = []Case{
	{
		Name: "TrimForgetsWhatEndsBefore",
		Rule: "Trim forgets the entries that end before the position; the entry the position points into, or stands at the end of, is kept.",
		run:  trimForgetsWhatEndsBefore,
	},
	{
		Name: "TrimKeepsOtherPartitions",
		Rule: "Trim touches one partition, and what was appended stays counted.",
		run:  trimKeepsOtherPartitions,
	},
	{
		Name: "ATrimmedPositionIsLost",
		Rule: "A position in what was trimmed answers ErrPositionLost.",
		run:  aTrimmedPositionIsLost,
	},
	{
		Name: "WhatWasReadToItsEndIsAPosition",
		Rule: "The end of the entry right before the oldest one kept is still a position, which reads from the oldest.",
		run:  whatWasReadToItsEndIsAPosition,
	},
	{
		Name: "AForeignPositionIsLost",
		Rule: "A position that this log never gave, of another partition, of another life of the log, or after its end, answers ErrPositionLost.",
		run:  aForeignPositionIsLost,
	},
}

func (s *suite) wantLost(topic string, partition int, at queue.Position) {
	s.Helper()
	if entries, err := s.engine.Read(s.Context(), topic, partition, at, all); !errors.Is(err, queue.ErrPositionLost) {
		s.Errorf("Read() from %q = %q, %v, want %v", at, text(entries), err, queue.ErrPositionLost)
	}
}

func trimForgetsWhatEndsBefore(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "cd", "ef", "gh")
	entries := s.entries("orders", 0)
	for _, c := range []struct {
		before queue.Position
		want   string
	}{
		{queue.Position{}, "ab cd ef gh"},
		{entries[0].Position, "ab cd ef gh"},
		{entries[0].Next, "ab cd ef gh"},
		{queue.Position{Entry: entries[1].Position.Entry, Index: 1}, "cd ef gh"},
		{entries[1].Next, "cd ef gh"},
		{entries[2].Position, "ef gh"},
		{entries[2].Position, "ef gh"},
		{entries[3].Next, "gh"},
	} {
		s.trim("orders", 0, c.before)
		if got := text(s.entries("orders", 0)); got != c.want {
			s.Errorf("after Trim(%q) the partition holds %q, want %q", c.before, got, c.want)
		}
	}
	s.append("orders", 0, "ij")
	s.wantText("orders", 0, "gh ij")
	if got := s.entries("orders", 0)[1].Offset; got != 8 {
		s.Errorf("Offset after a trim = %d, want 8", got)
	}
}

func trimKeepsOtherPartitions(s *suite) {
	s.declare("orders", 2)
	s.append("orders", 0, "ab", "c")
	s.append("orders", 1, "de", "f")
	before := s.stats("orders")
	s.trim("orders", 0, before.Partitions[0].End)
	s.wantText("orders", 0, "c")
	s.wantText("orders", 1, "de f")
	after := s.stats("orders")
	if got := after.Partitions[0].Appended; got != 3 {
		s.Errorf("Appended = %d, want 3", got)
	}
	if after.Partitions[0].End != before.Partitions[0].End {
		s.Errorf("End = %+v, want %+v", after.Partitions[0].End, before.Partitions[0].End)
	}
	if after.Bytes >= before.Bytes || after.Bytes <= 0 {
		s.Errorf("Bytes went from %d to %d", before.Bytes, after.Bytes)
	}
}

func aTrimmedPositionIsLost(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "cd", "ef")
	entries := s.entries("orders", 0)
	s.trim("orders", 0, entries[2].Position)
	s.wantLost("orders", 0, entries[0].Position)
	s.wantLost("orders", 0, entries[0].Next)
	s.wantLost("orders", 0, entries[1].Position)
	s.wantLost("orders", 0, queue.Position{Entry: entries[1].Position.Entry, Index: 1})
	if got := text(s.read("orders", 0, queue.Position{}, all)); got != "ef" {
		s.Errorf("Read() from the zero position = %q, want %q", got, "ef")
	}
}

func whatWasReadToItsEndIsAPosition(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "cd", "ef")
	entries := s.entries("orders", 0)
	s.trim("orders", 0, entries[2].Position)
	if got := text(s.read("orders", 0, entries[1].Next, all)); got != "ef" {
		s.Errorf("Read() from the end of what was trimmed = %q, want %q", got, "ef")
	}
	s.trim("orders", 0, entries[1].Next) // It is one for Trim, too.
	s.wantText("orders", 0, "ef")
}

func aForeignPositionIsLost(s *suite) {
	s.declare("orders", 2)
	s.append("orders", 0, "ab", "cd", "ef")
	s.append("orders", 1, "ab", "cd", "ef")
	own, foreign := s.entries("orders", 0), s.entries("orders", 1)
	for _, e := range foreign {
		// The same place in the same messages: only the check differs.
		s.wantLost("orders", 0, e.Position)
		s.wantLost("orders", 0, queue.Position{Entry: e.Position.Entry, Index: 1})
		s.wantLost("orders", 0, e.Next)
	}
	s.append("orders", 1, "ghijk", "l")
	for _, e := range s.entries("orders", 1)[3:] {
		s.wantLost("orders", 0, e.Position)
		s.wantLost("orders", 0, e.Next)
	}
	for _, p := range []queue.Position{
		{Entry: own[1].Position.Entry, Index: 3},
		{Entry: own[1].Position.Entry, Index: -1},
		{Entry: own[2].Position.Entry, Index: 3},
		{Entry: own[1].Position.Entry + "0", Index: 0},
		{Entry: own[1].Position.Entry[1:], Index: 0},
		{Entry: "x", Index: 0},
		{Entry: "", Index: 1},
	} {
		s.wantLost("orders", 0, p)
	}
	if err := s.engine.Trim(s.Context(), "orders", 0, foreign[2].Position); !errors.Is(err, queue.ErrPositionLost) {
		s.Errorf("Trim() to a foreign position = %v, want %v", err, queue.ErrPositionLost)
	}
	s.wantText("orders", 0, "ab cd ef")
}
