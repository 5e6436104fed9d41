package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

var errBroken = errors.New("broken")

func TestFailingHandlerHaltsItsPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(2)
		declare(t, e, topic)
		var seen book
		var tries []time.Time
		const failures = 6
		join(t, newLine(e), queue.GroupConfig{Topic: topic, MaxBatch: 1, Handle: func(ctx context.Context, d queue.Delivery) error {
			if d.Partition == 0 && len(seen.of(0)) == 1 && len(tries) < failures {
				if got := string(d.Entries[0].Messages[0].Body); got != "0/002" {
					t.Errorf("delivery %d is of %s, want 0/002 until it succeeds", len(tries), got)
				}
				tries = append(tries, time.Now())
				return errBroken
			}
			return seen.handle(ctx, d)
		}})
		halted, other := publish(t, e, 0, 1, 3), publish(t, e, 1, 1, 3)
		eventually(t, session, "the other partition goes on", func() bool { return len(seen.of(1)) == 3 })
		if len(seen.of(0)) > 1 {
			t.Fatal("the halted partition was done first: nothing is proved")
		}
		eventually(t, time.Minute, "the halted partition goes on", func() bool { return len(seen.of(0)) == 3 })
		wantBodies(t, "halted", seen.of(0), halted)
		wantBodies(t, "other", seen.of(1), other)
		for i := range failures - 1 {
			// 50 ms doubled each time, of which half may be cut off.
			full := 50 * time.Millisecond << i
			if pause := tries[i+1].Sub(tries[i]); pause < full/2 || pause > full {
				t.Errorf("pause %d is %s, want %s to %s", i, pause, full/2, full)
			}
		}
	})
}

// A success ends a series of failures: the next failure is a first one again.
func TestPausesStartAnewAfterASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		calls := 0
		var seen book
		join(t, newLine(e), queue.GroupConfig{Topic: topic, MaxBatch: 1, Handle: func(ctx context.Context, d queue.Delivery) error {
			if calls++; calls%2 == 1 {
				return errBroken
			}
			return seen.handle(ctx, d)
		}})
		want := publish(t, e, 0, 1, 100)
		// Each message costs one first pause, 50 ms at most.
		eventually(t, 100*50*time.Millisecond, "all are handled", func() bool { return seen.len() == 100 })
		wantBodies(t, "partition", seen.of(0), want)
	})
}

func TestPanicIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		var seen book
		panicked := false
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: func(ctx context.Context, d queue.Delivery) error {
			if !panicked {
				panicked = true
				panic("no such order")
			}
			return seen.handle(ctx, d)
		}})
		want := publish(t, e, 0, 1, 3)
		eventually(t, session, "the messages come again", func() bool { return seen.len() == 3 })
		wantBodies(t, "partition", seen.of(0), want)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestLimitEndsAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		var seen book
		stuck := true
		join(t, newLine(e), queue.GroupConfig{Topic: topic, Limit: time.Minute, Handle: func(ctx context.Context, d queue.Delivery) error {
			if stuck {
				stuck = false
				<-ctx.Done()
				return ctx.Err()
			}
			return seen.handle(ctx, d)
		}})
		want := publish(t, e, 0, 1, 3)
		took := eventually(t, time.Minute+session, "the messages come again", func() bool { return seen.len() == 3 })
		wantBodies(t, "partition", seen.of(0), want)
		if took < time.Minute {
			t.Errorf("the stuck handler was ended after %s, its limit is a minute", took)
		}
	})
}

// Outages are waited out, however long they are and in whatever way calls fail.
func TestGroupSurvivesOutages(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{
		"errors": fails(errBroken), "silence": silent,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, topic := memory.New(), orders(2)
				declare(t, e, topic)
				l := newLine(e)
				l.setFault(fault) // Down from the start.
				var seen book
				stop := join(t, l, queue.GroupConfig{Topic: topic, Handle: seen.handle, MaxBatch: 2})
				want := [2][]string{publish(t, e, 0, 1, 9), publish(t, e, 1, 1, 9)}
				time.Sleep(time.Hour)
				if n := seen.len(); n > 0 {
					t.Fatalf("%d messages came through an outage", n)
				}
				l.setFault(nil)
				eventually(t, time.Minute, "all are handled after an hour", func() bool { return seen.len() == 18 })

				l.setFault(fault) // And in the middle of its work.
				for p := range want {
					want[p] = append(want[p], publish(t, e, p, 10, 19)...)
				}
				time.Sleep(time.Minute)
				l.setFault(nil)
				eventually(t, time.Minute, "all are handled after a minute", func() bool { return seen.len() == 38 })
				for p := range want {
					wantBodies(t, "partition", seen.of(p), want[p])
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What was handled but could not be committed comes again: at least once.
func TestLostCommitBringsTheMessagesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		l := newLine(e)
		var seen book
		join(t, l, queue.GroupConfig{Topic: topic, MaxBatch: 1, Handle: func(ctx context.Context, d queue.Delivery) error {
			if seen.len() == 1 {
				l.setFault(fails(errBroken))
			}
			return seen.handle(ctx, d)
		}})
		publish(t, e, 0, 1, 3)
		eventually(t, session, "the second message is handled", func() bool { return seen.len() == 2 })
		time.Sleep(time.Second)
		l.setFault(nil)
		eventually(t, session, "all are handled", func() bool { return seen.len() == 4 })
		wantBodies(t, "partition", seen.of(0), []string{"0/001", "0/002", "0/002", "0/003"})
	})
}

// A log that was replaced has another topic ID, and nothing in it was ever handled.
func TestReplacedLogIsReadFromItsOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		l := newLine(e)
		var seen book
		join(t, l, queue.GroupConfig{Topic: topic, Handle: seen.handle})
		want := publish(t, e, 0, 1, 5)
		eventually(t, session, "the first log is handled", func() bool { return seen.len() == 5 })

		replaced := memory.New()
		declare(t, replaced, topic)
		want = append(want, publish(t, replaced, 0, 101, 103)...)
		l.replaceLog(replaced)
		eventually(t, time.Minute, "the second log is handled", func() bool { return seen.len() >= 8 })
		want = append(want, publish(t, replaced, 0, 104, 104)...)
		eventually(t, session, "the group goes on in it", func() bool { return seen.len() >= 9 })
		wantBodies(t, "both logs", seen.of(0), want)
	})
}

// What a group did not handle before it was trimmed is gone; the rest is not.
func TestTrimmedPositionGoesOnAtTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		var seen book
		cfg := queue.GroupConfig{Topic: topic, Handle: seen.handle}
		want := publish(t, e, 0, 1, 2)
		stop := join(t, newLine(e), cfg)
		eventually(t, session, "the first messages are handled", func() bool { return seen.len() == 2 })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		kept := publish(t, e, 0, 3, 9)[4:]
		entries, err := e.Read(t.Context(), "orders", 0, queue.Position{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Trim(t.Context(), "orders", 0, entries[6].Position); err != nil {
			t.Fatal(err)
		}
		join(t, newLine(e), cfg)
		eventually(t, session, "what is kept is handled", func() bool { return seen.len() >= 5 })
		kept = append(kept, publish(t, e, 0, 10, 10)...)
		eventually(t, session, "the group goes on", func() bool { return seen.len() >= 6 })
		wantBodies(t, "partition", seen.of(0), append(want, kept...))
	})
}

// With Resume the handler keeps the position: the group asks it, and stores none.
func TestResumeAsksTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		id := declare(t, e, topic)
		l := newLine(e)
		var seen book
		var at queue.Position
		failed := false
		join(t, l, queue.GroupConfig{
			Topic: topic, MaxBatch: 1,
			Resume: func(_ context.Context, got queue.TopicID, partition int) (queue.Position, error) {
				if got != id || partition != 0 {
					t.Errorf("Resume(%s, %d), want %s and 0", got, partition, id)
				}
				return at, nil
			},
			Handle: func(ctx context.Context, d queue.Delivery) error {
				if d.From != at {
					t.Errorf("delivery from %v, want %v", d.From, at)
				}
				at = d.To
				if !failed && seen.len() == 1 {
					failed = true
					return errors.Join(errBroken, seen.handle(ctx, d)) // Its transaction landed all the same.
				}
				return seen.handle(ctx, d)
			},
		})
		want := publish(t, e, 0, 1, 4)
		eventually(t, session, "all are handled", func() bool { return seen.len() == 4 })
		wantBodies(t, "partition", seen.of(0), want)
		if got := l.committed(); len(got) > 0 {
			t.Errorf("%d commits, want none", len(got))
		}
	})
}

func TestMessagesLeavesTheLostOut(t *testing.T) {
	d := queue.Delivery{Entries: []queue.Entry{
		{Batch: queue.Batch{Messages: []queue.Message{{Type: "a"}, {Type: queue.TypeLost}}}},
		{Batch: queue.Batch{Messages: []queue.Message{{Type: queue.TypeLost}, {Type: "b"}, {Type: "c"}}}},
	}}
	var got []string
	for m := range d.Messages() {
		got = append(got, m.Type)
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("Messages = %v, want a, b, c", got)
	}
	for m := range d.Messages() {
		if m.Type != "a" {
			t.Errorf("the first of Messages is %s, want a", m.Type)
		}
		break
	}
}
