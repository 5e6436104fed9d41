package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// plain hides the engine's Backlog: lag is then found by reading.
type plain struct{ queue.LogEngine }

func appendAt(t *testing.T, e queue.LogEngine, partition int, times ...time.Time) {
	t.Helper()
	var b queue.Batch
	for _, at := range times {
		b.Messages = append(b.Messages, queue.Message{Type: "order", Time: at})
	}
	if err := e.Append(t.Context(), "orders", partition, b); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, e queue.LogEngine, partition int) []queue.Entry {
	t.Helper()
	entries, err := e.Read(t.Context(), "orders", partition, queue.Position{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// standing is a group's positions, per partition.
type standing []queue.Position

func (s standing) position(_ context.Context, _ queue.TopicID, partition int) (queue.Position, error) {
	return s[partition], nil
}

func TestMeasureLag(t *testing.T) {
	e := memory.New()
	declare(t, e, orders(3))
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	appendAt(t, e, 0, at(1), at(2))
	appendAt(t, e, 0, at(5), at(6), at(7))
	appendAt(t, e, 1, at(3))
	appendAt(t, e, 1, at(4), at(8))
	zero, one := read(t, e, 0), read(t, e, 1)
	middle := zero[1].Position
	middle.Index = 1
	foreign := memory.New()
	declare(t, foreign, orders(1))
	appendAt(t, foreign, 0, at(0))
	lost := read(t, foreign, 0)[0].Next

	for _, c := range []struct {
		name string
		at   standing
		want queue.Lag
	}{
		{"nothing done", standing{{}, {}, {}}, queue.Lag{Oldest: at(1), Messages: 8}},
		{"one entry done", standing{zero[0].Next, {}, {}}, queue.Lag{Oldest: at(3), Messages: 6}},
		{"a part of an entry done", standing{middle, one[1].Next, {}}, queue.Lag{Oldest: at(6), Messages: 2}},
		{"one partition done", standing{{}, one[1].Next, {}}, queue.Lag{Oldest: at(1), Messages: 5}},
		{"everything done", standing{zero[1].Next, one[1].Next, {}}, queue.Lag{}},
		{"a position that is lost", standing{lost, one[1].Next, {}}, queue.Lag{Oldest: at(1), Messages: 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := queue.MeasureLag(t.Context(), plain{e}, "orders", c.at.position)
			if err != nil || got != c.want {
				t.Errorf("MeasureLag by reading = %+v, %v, want %+v", got, err, c.want)
			}
			// An entry of which a part was done may count with its earliest message.
			got, err = queue.MeasureLag(t.Context(), e, "orders", c.at.position)
			if err != nil || got.Messages != c.want.Messages || got.Oldest.After(c.want.Oldest) {
				t.Errorf("MeasureLag by the engine = %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// Producers are late now and then: the engine knows the earliest behind a position.
func TestMeasureLagFindsTheLateOne(t *testing.T) {
	e := memory.New()
	declare(t, e, orders(1))
	appendAt(t, e, 0, noon)
	appendAt(t, e, 0, noon.Add(time.Hour), noon.Add(-time.Hour))
	got, err := queue.MeasureLag(t.Context(), e, "orders", standing{{}}.position)
	if want := (queue.Lag{Oldest: noon.Add(-time.Hour), Messages: 3}); err != nil || got != want {
		t.Errorf("MeasureLag = %+v, %v, want %+v", got, err, want)
	}
}

func TestMeasureLagErrors(t *testing.T) {
	e := memory.New()
	if _, err := queue.MeasureLag(t.Context(), e, "orders", standing{{}}.position); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("MeasureLag of no topic = %v, want %v", err, queue.ErrNotFound)
	}
	declare(t, e, orders(1))
	appendAt(t, e, 0, noon)
	broken := func(context.Context, queue.TopicID, int) (queue.Position, error) { return queue.Position{}, errBroken }
	if _, err := queue.MeasureLag(t.Context(), e, "orders", broken); !errors.Is(err, errBroken) {
		t.Errorf("MeasureLag = %v, want %v", err, errBroken)
	}
}
