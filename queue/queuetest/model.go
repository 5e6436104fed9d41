package queuetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"snip/queue"
)

// T is what a model reports to: a *testing.T, or what a library for random tests has
// in its place.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Choose makes every random choice of a model: one of the numbers from 0 to n-1, of
// which lower ones are simpler. The same choices make the same calls, so whoever
// chooses can shrink a run that failed to the shortest that does.
type Choose func(what string, n int) int

// LogModel does the same to a log engine and to a reference, and wants the same
// answers. With pgregory.net/rapid:
//
//	func TestModel(t *testing.T) {
//		rapid.Check(t, func(r *rapid.T) {
//			choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(r, what) }
//			m := queuetest.NewLogModel(r, newStore(t), memory.New(), choose)
//			r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { m.Step() }})
//		})
//	}
//
// Both must count the bytes of a batch alike. Groups and backlogs are compared where
// both have them. An engine that outlives its process is closed and opened again now
// and then. A LogModel is used by one goroutine.
type LogModel struct {
	t         T
	choose    Choose
	open      Open
	engine    queue.LogEngine
	reference queue.LogEngine
	steps     []func()
	topics    map[string]ids
	places    []place // All that was seen.
	segments  []queue.SegmentID
	messages  int              // How many were made.
	versions  map[string]int64 // Of rosters, by group.
}

// ids are what the two call one topic.
type ids struct{ engine, reference queue.TopicID }

// place is one position, as the two name it: by entries that differ at random.
type place struct{ engine, reference queue.Position }

// NewLogModel opens an engine on an empty store. It is closed when the test ends.
// The reference must be new, too.
func NewLogModel(t T, open Open, reference queue.LogEngine, choose Choose) *LogModel {
	t.Helper()
	m := &LogModel{
		t: t, choose: choose, open: open, reference: reference,
		topics: map[string]ids{}, versions: map[string]int64{},
		segments: []queue.SegmentID{{}}, // Of no segment.
	}
	m.openEngine()
	t.Cleanup(m.closeEngine)
	both := func(has func(queue.LogEngine) bool) bool { return has(m.engine) && has(reference) }
	m.steps = []func(){m.append, m.append, m.append, m.append, m.read, m.read, m.read, m.trim, m.trim, m.declare}
	if both(sequences) {
		m.segments = append(m.segments, queue.NewSegmentID(), queue.NewSegmentID())
	}
	if both(backlogs) {
		m.steps = append(m.steps, m.backlog)
	}
	if both(groups) {
		m.steps = append(m.steps, m.commit, m.swap)
	}
	if outlives(m.engine) {
		m.steps = append(m.steps, m.reopen)
	}
	m.declareAs("orders", 2)
	return m
}

// Step makes one call, chosen at random, and compares its answers and what the two
// are after it.
func (m *LogModel) Step() {
	m.t.Helper()
	m.steps[m.choose("step", len(m.steps))]()
	for _, topic := range []string{"orders", "bills"} {
		m.compareStats(topic)
	}
}

func (m *LogModel) openEngine() {
	m.t.Helper()
	e, err := m.open()
	if err != nil {
		m.t.Fatalf("open: %v", err)
	}
	m.engine = e
}

func (m *LogModel) closeEngine() {
	m.t.Helper()
	if c, ok := m.engine.(io.Closer); ok {
		if err := c.Close(); err != nil {
			m.t.Fatalf("Close() = %v", err)
		}
	}
}

// reopen is what a reference that dies with its process cannot, and what must change
// nothing.
func (m *LogModel) reopen() {
	m.t.Logf("close, and open again")
	m.closeEngine()
	m.openEngine()
}

// ended tells how a call ended, and compares it.
func (m *LogModel) ended(call string, got, want error) {
	m.t.Helper()
	m.t.Logf("%s = %v", call, got)
	m.agree(call, got, want)
}

func (m *LogModel) agree(call string, got, want error) {
	m.t.Helper()
	same := (got == nil) == (want == nil)
	for _, sentinel := range []error{
		queue.ErrNotFound, queue.ErrFull, queue.ErrFenced, queue.ErrConflict, queue.ErrPositionLost, queue.ErrUnsupported,
	} {
		same = same && errors.Is(got, sentinel) == errors.Is(want, sentinel)
	}
	g, isSequence := errors.AsType[*queue.SequenceError](got)
	w, wantSequence := errors.AsType[*queue.SequenceError](want)
	if !same || isSequence != wantSequence || isSequence && *g != *w {
		m.t.Fatalf("%s = %v, want %v", call, got, want)
	}
}

func (m *LogModel) compareStats(topic string) {
	m.t.Helper()
	got, err := m.engine.Stats(m.t.Context(), topic)
	want, wantErr := m.reference.Stats(m.t.Context(), topic)
	call := fmt.Sprintf("Stats(%q)", topic)
	m.agree(call, err, wantErr)
	samePartition := func(a, b queue.PartitionStats) bool {
		return samePlace(a.End, b.End) && a.Appended == b.Appended && a.Oldest.Equal(b.Oldest)
	}
	if got.Bytes != want.Bytes || got.MaxBytes != want.MaxBytes || !slices.EqualFunc(got.Partitions, want.Partitions, samePartition) {
		m.t.Fatalf("%s = %+v, want %+v", call, got, want)
	}
}

// samePlace leaves out what may differ: the names of entries.
func samePlace(a, b queue.Position) bool {
	return a.Index == b.Index && (a.Entry == "") == (b.Entry == "")
}

func sameEntry(a, b queue.Entry) bool {
	return samePlace(a.Position, b.Position) && samePlace(a.Next, b.Next) && a.Offset == b.Offset &&
		a.Segment == b.Segment && a.First == b.First && slices.EqualFunc(a.Messages, b.Messages, same)
}

// outline writes entries without their bodies.
func outline(entries []queue.Entry) string {
	var all []string
	for _, e := range entries {
		var names []string
		for _, m := range e.Messages {
			names = append(names, fmt.Sprintf("%s(%s, %d bytes)", m.ID, m.Time, len(m.Body)))
		}
		all = append(all, fmt.Sprintf("%q to %q, offset %d, number %d of %s: %s",
			e.Position, e.Next, e.Offset, e.First, e.Segment, strings.Join(names, " ")))
	}
	return "[" + strings.Join(all, "; ") + "]"
}

// oneOf chooses one of these, the simplest first.
func oneOf[E any](m *LogModel, what string, all ...E) E { return all[m.choose(what, len(all))] }

// Most calls are about one partition, so that much happens to it.

func (m *LogModel) topic() string {
	return oneOf(m, "topic", "orders", "orders", "orders", "bills", "never")
}

func (m *LogModel) partition() int { return oneOf(m, "partition", 0, 0, 0, 0, 1, 1, 2, -1) }

// place chooses one of those seen, or near them, or the start.
func (m *LogModel) place() place {
	if len(m.places) == 0 || m.choose("start", 6) == 0 {
		return place{}
	}
	at := m.places[len(m.places)-1-m.choose("place", len(m.places))]
	near := oneOf(m, "near", 0, 0, 0, 1, -1)
	at.engine.Index += near
	at.reference.Index += near
	return at
}
