package queuetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"snip/queue"
)

func (m *LogModel) declare() {
	m.declareAs(oneOf(m, "name", "orders", "bills", "Bad"), oneOf(m, "partitions", 2, 2, 2, 3))
}

func (m *LogModel) declareAs(name string, partitions int) {
	m.t.Helper()
	c := queue.TopicConfig{Name: name, Partitions: partitions, MaxBytes: oneOf[int64](m, "bound", 64<<10, 80<<10, 0)}
	got, err := m.engine.Declare(m.t.Context(), c)
	want, wantErr := m.reference.Declare(m.t.Context(), c)
	m.ended(fmt.Sprintf("Declare(%+v)", c), err, wantErr)
	if err != nil {
		return
	}
	if before, ok := m.topics[c.Name]; ok && before.engine != got {
		m.t.Fatalf("Declare(%q) again = %s, want %s", c.Name, got, before.engine)
	}
	m.topics[c.Name] = ids{got, want}
}

func (m *LogModel) append() {
	var b queue.Batch
	if i := m.choose("segment", len(m.segments)); i > 0 {
		b.Segment, b.First = m.segments[i], uint64(m.choose("first", 7))
	}
	for range m.choose("messages", 5) {
		m.messages++
		b.Messages = append(b.Messages, queue.Message{
			ID:   fmt.Sprint(m.messages),
			Time: time.Unix(int64(m.choose("second", 60)), 0).UTC(),
			Body: make([]byte, m.choose("size", 16<<10)),
		})
	}
	topic, n := m.topic(), m.partition()
	call := func() error {
		err := m.engine.Append(m.t.Context(), topic, n, b)
		wantErr := m.reference.Append(m.t.Context(), topic, n, b)
		m.ended(fmt.Sprintf("Append(%q, %d, %d messages, number %d of %s)", topic, n, len(b.Messages), b.First, b.Segment), err, wantErr)
		return wantErr
	}
	if e, ok := errors.AsType[*queue.SequenceError](call()); ok {
		b.First = e.Expected // As a producer goes on.
		_ = call()           // They agreed on it.
	}
}

func (m *LogModel) read() {
	topic, n, at := m.topic(), m.partition(), m.place()
	max := oneOf(m, "max", 1000, 1, 2, 3, 5, 8, 0)
	got, err := m.engine.Read(m.t.Context(), topic, n, at.engine, max)
	want, wantErr := m.reference.Read(m.t.Context(), topic, n, at.reference, max)
	call := fmt.Sprintf("Read(%q, %d, %q, %d)", topic, n, at.engine, max)
	m.ended(call, err, wantErr)
	if !slices.EqualFunc(got, want, sameEntry) {
		m.t.Fatalf("%s = %s, want %s", call, outline(got), outline(want))
	}
	for i := range got {
		m.places = append(m.places, place{got[i].Position, want[i].Position}, place{got[i].Next, want[i].Next})
	}
}

func (m *LogModel) trim() {
	topic, n, at := m.topic(), m.partition(), m.place()
	m.ended(fmt.Sprintf("Trim(%q, %d, %q)", topic, n, at.engine),
		m.engine.Trim(m.t.Context(), topic, n, at.engine), m.reference.Trim(m.t.Context(), topic, n, at.reference))
}

func (m *LogModel) backlog() {
	topic, n, at := m.topic(), m.partition(), m.place()
	got, err := m.engine.(queue.Backlogger).Backlog(m.t.Context(), topic, n, at.engine)
	want, wantErr := m.reference.(queue.Backlogger).Backlog(m.t.Context(), topic, n, at.reference)
	call := fmt.Sprintf("Backlog(%q, %d, %q)", topic, n, at.engine)
	m.ended(call, err, wantErr)
	if got.Messages != want.Messages || !got.Oldest.Equal(want.Oldest) {
		m.t.Fatalf("%s = %+v, want %+v", call, got, want)
	}
}

func (m *LogModel) commit() {
	engine, reference := m.engine.(queue.GroupStore), m.reference.(queue.GroupStore)
	id, from, to := m.topics["orders"], m.place(), m.place()
	for _, at := range []*place{&from, &to} {
		// No log gives an index below zero: nobody can commit one.
		at.engine.Index, at.reference.Index = max(0, at.engine.Index), max(0, at.reference.Index)
	}
	if m.choose("from where it stands", 2) == 0 {
		var err, wantErr error
		from.engine, err = engine.Position(m.t.Context(), "count", id.engine, 0)
		from.reference, wantErr = reference.Position(m.t.Context(), "count", id.reference, 0)
		m.ended("Position()", err, wantErr)
		if from.engine.Index != from.reference.Index {
			m.t.Fatalf("Position() = %q, want %q", from.engine, from.reference)
		}
	}
	m.ended(fmt.Sprintf("Commit(%q, %q)", from.engine, to.engine),
		engine.Commit(m.t.Context(), "count", id.engine, 0, from.engine, to.engine),
		reference.Commit(m.t.Context(), "count", id.reference, 0, from.reference, to.reference))
}

func (m *LogModel) swap() {
	engine, reference := m.engine.(queue.GroupStore), m.reference.(queue.GroupStore)
	group := oneOf(m, "group", "count", "live")
	version := m.versions[group] + oneOf[int64](m, "off by", 0, 0, 1, -1)
	roster := make([]byte, m.choose("roster", 20))
	for i := range roster {
		roster[i] = byte(m.choose("byte", 256))
	}
	err := engine.Swap(m.t.Context(), group, "orders", version, roster)
	m.ended(fmt.Sprintf("Swap(%q, %d, %q)", group, version, roster), err,
		reference.Swap(m.t.Context(), group, "orders", version, roster))
	if err == nil {
		m.versions[group]++
	}
	got, gotVersion, _, err := engine.Roster(m.t.Context(), group, "orders")
	want, wantVersion, _, wantErr := reference.Roster(m.t.Context(), group, "orders")
	m.ended(fmt.Sprintf("Roster(%q)", group), err, wantErr)
	if !bytes.Equal(got, want) || gotVersion != wantVersion {
		m.t.Fatalf("Roster(%q) = %q, version %d, want %q, version %d", group, got, gotVersion, want, wantVersion)
	}
}
