package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

// daily appends an entry for each of the last days, the oldest first: the first is
// days-1 days old at noon, the last was made at noon.
func daily(t *testing.T, e queue.LogEngine, partition, days int) {
	t.Helper()
	for d := days - 1; d >= 0; d-- {
		appendAt(t, e, partition, noon.AddDate(0, 0, -d))
	}
}

func pass(t *testing.T, r queue.Retention) {
	t.Helper()
	r.Topic = "orders"
	if r.Now == nil {
		r.Now = func() time.Time { return noon }
	}
	if err := r.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantKept(t *testing.T, e queue.LogEngine, partition, want int) {
	t.Helper()
	if got := len(read(t, e, partition)); got != want {
		t.Errorf("partition %d keeps %d entries, want %d", partition, got, want)
	}
}

func TestRetentionTrimsByAge(t *testing.T) {
	e := memory.New()
	declare(t, e, orders(2))
	daily(t, e, 0, 10)
	daily(t, e, 1, 3)
	done := standing{read(t, e, 0)[9].Next, read(t, e, 1)[2].Next}
	// Exactly seven days is not older. Of what is, one entry stays: the one that the
	// trim's position stands at the end of.
	pass(t, queue.Retention{Engine: e, Waits: done.position})
	wantKept(t, e, 0, 8+1)
	wantKept(t, e, 1, 3)
	pass(t, queue.Retention{Engine: e, Waits: done.position, MaxAge: 36 * time.Hour})
	wantKept(t, e, 0, 2+1)
	wantKept(t, e, 1, 2+1)
	pass(t, queue.Retention{Engine: e, Waits: done.position, MaxAge: 36 * time.Hour}) // Nothing more to do.
	wantKept(t, e, 0, 2+1)
	if _, err := e.Read(t.Context(), "orders", 0, done[0], 1); err != nil {
		t.Errorf("the group's position: %v", err)
	}
}

func TestRetentionWaitsForNobody(t *testing.T) {
	e := memory.New()
	declare(t, e, orders(2)) // Nothing was ever appended to the second partition.
	daily(t, e, 0, 10)
	pass(t, queue.Retention{Engine: e})
	wantKept(t, e, 0, 8+1)
	pass(t, queue.Retention{Engine: e, Now: func() time.Time { return noon.AddDate(0, 1, 0) }})
	wantKept(t, e, 0, 1) // The position at which it ends.
}

func TestRetentionWaitsForTheGroup(t *testing.T) {
	e := memory.New()
	declare(t, e, orders(3))
	for p := range 3 {
		daily(t, e, p, 100)
	}
	inside := read(t, e, 1)[40]
	at := standing{{}, inside.Next, inside.Position}
	before := read(t, e, 1)
	pass(t, queue.Retention{Engine: e, Waits: at.position})
	wantKept(t, e, 0, 100) // The group never read this one.
	wantKept(t, e, 1, 60)
	next, err := e.Read(t.Context(), "orders", 1, at[1], 1)
	if err != nil || len(next) != 1 || next[0].Position != before[41].Position {
		t.Errorf("the group reads %v, %v, want the entry at %v", next, err, before[41].Position)
	}
	wantKept(t, e, 2, 100) // Its position is of another partition: it says nothing.
}

func TestRetentionIgnoresAForeignPosition(t *testing.T) {
	old := memory.New()
	declare(t, old, orders(1))
	daily(t, old, 0, 50)
	at := standing{read(t, old, 0)[49].Next}
	e := memory.New()
	declare(t, e, orders(1))
	daily(t, e, 0, 50)
	pass(t, queue.Retention{Engine: e, Waits: at.position})
	wantKept(t, e, 0, 50)
}

func TestRetentionMakesRoom(t *testing.T) {
	e, topic := memory.New(), orders(1)
	topic.MaxBytes = 64 << 10
	declare(t, e, topic)
	fill := func() (n int) {
		for {
			m := queue.Message{Time: noon, Body: make([]byte, 1000)}
			err := e.Append(t.Context(), "orders", 0, queue.Batch{Messages: []queue.Message{m}})
			if errors.Is(err, queue.ErrFull) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	n := fill()
	entries := read(t, e, 0)
	pass(t, queue.Retention{Engine: e, Waits: standing{{}}.position})
	wantKept(t, e, 0, n)
	pass(t, queue.Retention{Engine: e, Waits: standing{entries[9].Next}.position})
	wantKept(t, e, 0, n-9) // Young as they are.
	pass(t, queue.Retention{Engine: e, Waits: standing{entries[n-1].Next}.position})
	stats, err := e.Stats(t.Context(), "orders")
	if err != nil || stats.Bytes > stats.MaxBytes*3/4 {
		t.Errorf("%d bytes of %d are kept, %v, want three quarters at most", stats.Bytes, stats.MaxBytes, err)
	}
	if fill() == 0 {
		t.Error("there is no room after the pass")
	}
}

func TestRetentionErrors(t *testing.T) {
	e := memory.New()
	r := queue.Retention{Engine: e, Topic: "orders", Waits: standing{{}}.position}
	if err := r.Pass(t.Context()); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("Pass without a topic = %v, want %v", err, queue.ErrNotFound)
	}
	declare(t, e, orders(1))
	r.Waits = func(context.Context, queue.TopicID, int) (queue.Position, error) { return queue.Position{}, errBroken }
	if err := r.Pass(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("Pass = %v, want %v", err, errBroken)
	}
}

// Run goes on through outages and ends with its context.
func TestRetentionRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		l := newLine(e)
		declare(t, e, orders(1))
		for range 9 {
			appendAt(t, e, 0, time.Now())
		}
		done := standing{read(t, e, 0)[8].Next}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- queue.Retention{Engine: l, Topic: "orders", MaxAge: time.Hour, Waits: done.position}.Run(ctx)
		}()
		time.Sleep(30 * time.Minute)
		wantKept(t, e, 0, 9)
		l.setFault(fails(errBroken))
		time.Sleep(time.Hour)
		wantKept(t, e, 0, 9)
		l.setFault(nil)
		time.Sleep(2 * time.Minute)
		wantKept(t, e, 0, 1)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

func TestPositionCompare(t *testing.T) {
	ordered := []queue.Position{{}, {Entry: "a", Index: 0}, {Entry: "a", Index: 2}, {Entry: "b", Index: 1}}
	for i, p := range ordered {
		for j, q := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := p.Compare(q); got != want {
				t.Errorf("%q.Compare(%q) = %d, want %d", p, q, got, want)
			}
		}
	}
}
