package queuetest

import (
	"snip/queue"
)

var readCases = []Case{
	{
		Name: "EntriesStandInOrder",
		Rule: "Entries come back as they were appended, each with the number of messages before it; their positions grow, as strings too, and each ends before the next begins.",
		run:  entriesStandInOrder,
	},
	{
		Name: "ReadGivesWholeEntriesUntilMax",
		Rule: "Read returns whole entries until they hold at least max messages or the log ends.",
		run:  readGivesWholeEntriesUntilMax,
	},
	{
		Name: "ReadGoesOnWhereItEnded",
		Rule: "Reading from an entry's Next gives what follows it, without a gap and without a repetition.",
		run:  readGoesOnWhereItEnded,
	},
	{
		Name: "ReadStartsInsideAnEntry",
		Rule: "A position may point into an entry: its rest is returned, with position, offset and number of its first message.",
		run:  readStartsInsideAnEntry,
	},
	{
		Name: "TheEndIsAPosition",
		Rule: "Reading from the end finds nothing and is no error; what is appended later is then read from there.",
		run:  theEndIsAPosition,
	},
	{
		Name: "PartitionsAreIndependent",
		Rule: "What is appended to one partition is in no other, and neither are its offsets.",
		run:  partitionsAreIndependent,
	},
	{
		Name: "PositionsStayTheSame",
		Rule: "An entry has the same position whenever it is read.",
		run:  positionsStayTheSame,
	},
}

func entriesStandInOrder(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "c", "def", "g", "hi", "j", "k", "l", "m", "n", "o", "p", "q")
	s.wantText("orders", 0, "ab c def g hi j k l m n o p q")
	entries := s.entries("orders", 0)
	var offset uint64
	for i, e := range entries {
		if e.Offset != offset {
			s.Errorf("entry %d: Offset = %d, want %d", i, e.Offset, offset)
		}
		if e.Position.Index != 0 || e.Position.Entry == "" {
			s.Errorf("entry %d: Position = %+v, want one at the start of an entry", i, e.Position)
		}
		if want := (queue.Position{Entry: e.Position.Entry, Index: len(e.Messages)}); e.Next != want {
			s.Errorf("entry %d: Next = %+v, want %+v", i, e.Next, want)
		}
		if i > 0 && entries[i-1].Position.Entry >= e.Position.Entry {
			s.Errorf("entry %d: %q does not stand after %q", i, e.Position.Entry, entries[i-1].Position.Entry)
		}
		parsed, err := queue.ParsePosition(e.Next.String())
		if err != nil || parsed != e.Next {
			s.Errorf("entry %d: %q reads back as %+v, %v", i, e.Next, parsed, err)
		}
		offset += uint64(len(e.Messages))
	}
}

func readGivesWholeEntriesUntilMax(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "c", "def", "g")
	for max, want := range map[int]string{
		1: "ab", 2: "ab", 3: "ab c", 4: "ab c def", 6: "ab c def", 7: "ab c def g", 8: "ab c def g",
	} {
		if got := text(s.read("orders", 0, queue.Position{}, max)); got != want {
			s.Errorf("Read() of at most %d = %q, want %q", max, got, want)
		}
	}
	// A part of an entry counts as what it holds.
	inside := s.entries("orders", 0)[0].Position
	inside.Index = 1
	for max, want := range map[int]string{1: "b", 2: "b c", 3: "b c def"} {
		if got := text(s.read("orders", 0, inside, max)); got != want {
			s.Errorf("Read() from inside an entry of at most %d = %q, want %q", max, got, want)
		}
	}
}

func readGoesOnWhereItEnded(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "c", "def", "g", "hi")
	for _, max := range []int{1, 2, 3, 5} {
		var at queue.Position
		got := ""
		for {
			entries := s.read("orders", 0, at, max)
			if len(entries) == 0 {
				break
			}
			got += text(entries) + " "
			at = entries[len(entries)-1].Next
		}
		if want := "ab c def g hi "; got != want {
			s.Errorf("reading %d at a time gives %q, want %q", max, got, want)
		}
	}
}

func readStartsInsideAnEntry(s *suite) {
	s.declare("orders", 1)
	segment := queue.NewSegmentID()
	s.append("orders", 0, "xy")
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, Messages: letters("abc")})
	s.appendBatch("orders", 0, queue.Batch{Segment: segment, First: 3, Messages: letters("def")})
	entry := s.entries("orders", 0)[2]
	for i, want := range []string{"def", "ef", "f", ""} {
		from := queue.Position{Entry: entry.Position.Entry, Index: i}
		got := s.read("orders", 0, from, all)
		if text(got) != want {
			s.Errorf("Read() from message %d of an entry = %q, want %q", i, text(got), want)
			continue
		}
		if want == "" {
			continue
		}
		e := got[0]
		if e.Position != from || e.Next != entry.Next || e.Offset != uint64(5+i) || e.First != uint64(3+i) || e.Segment != segment {
			s.Errorf("Read() from %+v = position %+v, next %+v, offset %d, segment %s, first %d", from, e.Position, e.Next, e.Offset, e.Segment, e.First)
		}
	}
}

func theEndIsAPosition(s *suite) {
	s.declare("orders", 1)
	if got := s.entries("orders", 0); len(got) != 0 {
		s.Errorf("a new topic holds %q", text(got))
	}
	s.append("orders", 0, "ab")
	end := s.stats("orders").Partitions[0].End
	if want := s.entries("orders", 0)[0].Next; end != want {
		s.Errorf("Stats() End = %+v, want that of the last entry, %+v", end, want)
	}
	if got := s.read("orders", 0, end, all); len(got) != 0 {
		s.Errorf("Read() from the end = %q, want nothing", text(got))
	}
	s.append("orders", 0, "cd", "e")
	if got := text(s.read("orders", 0, end, all)); got != "cd e" {
		s.Errorf("Read() from what was the end = %q, want %q", got, "cd e")
	}
}

func partitionsAreIndependent(s *suite) {
	s.declare("orders", 3)
	s.declare("bills", 3)
	s.append("orders", 0, "ab")
	s.append("orders", 2, "c", "de")
	s.append("bills", 0, "f")
	for _, c := range []struct {
		topic     string
		partition int
		want      string
	}{
		{"orders", 0, "ab"}, {"orders", 1, ""}, {"orders", 2, "c de"}, {"bills", 0, "f"}, {"bills", 2, ""},
	} {
		s.wantText(c.topic, c.partition, c.want)
		if entries := s.entries(c.topic, c.partition); len(entries) > 0 && entries[0].Offset != 0 {
			s.Errorf("topic %q, partition %d: the first offset is %d, want 0", c.topic, c.partition, entries[0].Offset)
		}
	}
}

func positionsStayTheSame(s *suite) {
	s.declare("orders", 1)
	s.append("orders", 0, "ab", "c")
	before := s.entries("orders", 0)
	s.append("orders", 0, "d")
	s.trim("orders", 0, before[1].Position)
	after := s.entries("orders", 0)
	if after[0].Position != before[1].Position || after[0].Next != before[1].Next || after[0].Offset != before[1].Offset {
		s.Errorf("an entry moved from %+v, offset %d, to %+v, offset %d",
			before[1].Position, before[1].Offset, after[0].Position, after[0].Offset)
	}
}
