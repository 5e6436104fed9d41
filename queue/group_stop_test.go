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

// slowly handles each delivery in a second, and tells whether it was ended early.
func slowly(seen *book, ended *error) queue.Handler {
	return func(ctx context.Context, d queue.Delivery) error {
		select {
		case <-ctx.Done():
			*ended = ctx.Err()
			return ctx.Err()
		case <-time.After(time.Second):
			return seen.handle(ctx, d)
		}
	}
}

func TestStopFinishesTheBatchInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		id := declare(t, e, topic)
		want := publish(t, e, 0, 1, 10)
		var seen book
		var ended error
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, MaxBatch: 1, Handle: slowly(&seen, &ended)})
		time.Sleep(2500 * time.Millisecond) // In the middle of the third.
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("stopping took %s, the batch in flight a second at most", took)
		}
		wantBodies(t, "before the stop", seen.of(0), want[:3])
		if ended != nil {
			t.Errorf("the batch in flight was ended: %v", ended)
		}
		at, err := e.Position(t.Context(), "receipts", id, 0)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := e.Read(t.Context(), "orders", 0, at, 1)
		if err != nil || len(entries) == 0 || string(entries[0].Messages[0].Body) != want[3] {
			t.Errorf("the group stands before %v, %v, want %s: what is done is committed", entries, err, want[3])
		}
	})
}

func TestDrainReadsToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(2)
		declare(t, e, topic)
		want := [2][]string{publish(t, e, 0, 1, 30), publish(t, e, 1, 1, 10)}
		var seen book
		var ended error
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, MaxBatch: 1, Drain: time.Minute, Handle: slowly(&seen, &ended)})
		time.Sleep(1500 * time.Millisecond)
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for p := range want {
			wantBodies(t, "when Run returned", seen.of(p), want[p])
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("draining took %s, there was work for 28.5 s", took)
		}
	})
}

// A producer that does not stop must not keep a member from stopping.
func TestDrainEndsWhereItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		want := publish(t, e, 0, 1, 10)
		var seen book
		next := 10
		handle := func(ctx context.Context, d queue.Delivery) error {
			time.Sleep(time.Second)
			for range 2 { // Twice as fast as it is worked off.
				next++
				publish(t, e, 0, next, next)
			}
			return seen.handle(ctx, d)
		}
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, MaxBatch: 1, Drain: time.Hour, Handle: handle})
		time.Sleep(1500 * time.Millisecond)
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("draining took %s", took)
		}
		if got := seen.of(0); len(got) < len(want) || len(got) > 20 {
			t.Errorf("%d were handled, want those that were there at the stop: 10 and a few more", len(got))
		}
	})
}

func TestDrainHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		want := publish(t, e, 0, 1, 30)
		var seen book
		var ended error
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, MaxBatch: 1, Drain: 5 * time.Second, Handle: slowly(&seen, &ended)})
		time.Sleep(1500 * time.Millisecond)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		// Drained from 1.5 to 6.5 s; the batch in flight then ends at 7.
		wantBodies(t, "when Run returned", seen.of(0), want[:7])
		if ended != nil {
			t.Errorf("the batch in flight was ended: %v", ended)
		}
	})
}

// While a member drains, it stays the owner, however long that takes.
func TestDrainingMemberKeepsItsPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		want := publish(t, e, 0, 1, 20)
		l := newLine(e)
		var seen, other book
		var ended error
		stop := join(t, l, queue.GroupConfig{Topic: topic, MaxBatch: 1, Drain: time.Minute, Handle: slowly(&seen, &ended)})
		time.Sleep(time.Second / 2)
		join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: other.handle})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		wantBodies(t, "the draining member", seen.of(0), want)
		want = publish(t, e, 0, 21, 21)
		eventually(t, session, "the other takes over then", func() bool { return other.len() == 1 })
		wantBodies(t, "the other", other.of(0), want)
	})
}

func TestStopIsPrompt(t *testing.T) {
	broken := func(context.Context, queue.Delivery) error { return errBroken }
	for name, c := range map[string]struct {
		handle queue.Handler
		drain  time.Duration
	}{
		"idle":             {handle: new(book).handle},
		"idle, with drain": {handle: new(book).handle, drain: time.Minute},
		"in a pause":       {handle: broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, topic := memory.New(), orders(4)
				declare(t, e, topic)
				for p := range 4 {
					publish(t, e, p, 1, 1)
				}
				stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: c.handle, Drain: c.drain})
				time.Sleep(10 * session)
				began := time.Now()
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("stopping took %s of the fake clock, want none", took)
				}
			})
		})
	}
}

// A handler that is stuck is ended by its limit; the stop waits no longer.
func TestStopEndsAStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		publish(t, e, 0, 1, 1)
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, Limit: 10 * time.Second, Handle: func(ctx context.Context, _ queue.Delivery) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		time.Sleep(time.Second)
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("stopping took %s, the handler's limit is 10 s", took)
		}
	})
}

// With the engine away, the stop is over within limits and tells that the others
// were not told.
func TestStopDuringAnOutage(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{
		"errors": fails(errBroken), "silence": silent,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, topic := memory.New(), orders(2)
				declare(t, e, topic)
				l := newLine(e)
				stop := join(t, l, queue.GroupConfig{Topic: topic, Handle: new(book).handle})
				time.Sleep(session)
				l.setFault(fault)
				time.Sleep(10 * time.Minute)
				began := time.Now()
				err := stop()
				if !errors.Is(err, errBroken) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Run = %v, want why leaving failed", err)
				}
				if took := time.Since(began); took > 2*session {
					t.Errorf("stopping took %s, the session is %s", took, session)
				}
			})
		})
	}
}
