package queue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

func TestGroupWorksThroughInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(3)
		declare(t, e, topic)
		want := make([][]string, 3)
		for p := range want {
			want[p] = publish(t, e, p, 1, 40)
		}
		var seen book
		stop := join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: seen.handle, MaxBatch: 7})
		eventually(t, session, "everything that was there is handled", func() bool { return seen.len() == 120 })
		for p := range want {
			want[p] = append(want[p], publish(t, e, p, 41, 50)...)
		}
		synctest.Wait() // The wake-up alone brings it: no time passes.
		for p := range want {
			wantBodies(t, "partition", seen.of(p), want[p])
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}

		var later book
		more := publish(t, e, 1, 51, 51)
		join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: later.handle})
		eventually(t, session, "the new message is handled", func() bool { return later.len() > 0 })
		time.Sleep(session)
		if got := later.partitions(); !slices.Equal(got, []int{1}) {
			t.Errorf("partitions %v brought something, want only 1", got)
		}
		wantBodies(t, "after the restart", later.of(1), more)
	})
}

func TestGroupsDoNotDisturbEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		want := publish(t, e, 0, 1, 5)
		for _, name := range []string{"receipts", "analytics"} {
			var seen book
			g, err := queue.NewGroup(queue.GroupConfig{Name: name, Topic: topic, Engine: e, Store: e, Handle: seen.handle})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := g.Run(ctx); err != nil {
				t.Fatal(err)
			}
			wantBodies(t, name, seen.of(0), want)
		}
	})
}

func TestMembersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(4)
		var busy [4]atomic.Bool
		// slow fails the test when two work on one partition at a time.
		slow := func(b *book) queue.Handler {
			return func(ctx context.Context, d queue.Delivery) error {
				if busy[d.Partition].Swap(true) {
					t.Errorf("partition %d is worked on twice", d.Partition)
				}
				defer busy[d.Partition].Store(false)
				time.Sleep(10 * time.Millisecond)
				return b.handle(ctx, d)
			}
		}
		declare(t, e, topic)
		var first, second book
		want := make([][]string, 4)
		round := func(from, to int) {
			for p := range want {
				want[p] = append(want[p], publish(t, e, p, from, to)...)
			}
		}
		all := func(n int) func() bool { return func() bool { return first.len()+second.len() == 4*n } }

		join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: slow(&first), MaxBatch: 1})
		round(1, 20)
		eventually(t, session, "one member works on everything", all(20))

		leave := join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: slow(&second), MaxBatch: 1})
		round(21, 200) // Partitions change hands in the middle of it.
		eventually(t, 2*session, "two members work on everything", all(200))
		if n := len(second.partitions()); n != 2 {
			t.Errorf("the second member got %d of 4 partitions, want 2", n)
		}
		for p := range want {
			got := append(first.of(p), second.of(p)...)
			slices.Sort(got) // Who was first changed once; the sum tells what is missing or twice.
			wantBodies(t, "both members", got, want[p])
		}

		if err := leave(); err != nil {
			t.Fatal(err)
		}
		had := first.len()
		round(201, 201)
		eventually(t, session/4+100*time.Millisecond, "the first takes over at its next heartbeat", func() bool {
			return first.len() == had+4
		})
	})
}

// TestMoreMembersThanPartitions: who has nothing to do waits, and steps in.
func TestMoreMembersThanPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		declare(t, e, topic)
		var seen book
		leave := join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: seen.handle})
		publish(t, e, 0, 1, 1)
		eventually(t, session, "the first works", func() bool { return seen.len() == 1 })
		var spare book
		join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: spare.handle})
		time.Sleep(3 * session)
		publish(t, e, 0, 2, 2)
		eventually(t, session, "the first still works", func() bool { return seen.len() == 2 })
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		want := publish(t, e, 0, 3, 3)
		eventually(t, session, "the spare steps in", func() bool { return spare.len() == 1 })
		wantBodies(t, "spare", spare.of(0), want)
	})
}

func TestDeadMemberIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(2)
		declare(t, e, topic)
		var dead, alive book
		deadLine := newLine(e)
		join(t, deadLine, queue.GroupConfig{Topic: topic, Handle: dead.handle})
		join(t, newLine(e), queue.GroupConfig{Topic: topic, Handle: alive.handle})
		eventually(t, 2*session, "each works on one partition", func() bool {
			publish(t, e, 0, 0, 0)
			publish(t, e, 1, 1, 1)
			synctest.Wait()
			return len(alive.partitions()) > 0 && dead.len() > 0
		})
		deadLine.setFault(silent)
		synctest.Wait()
		had := alive.len()
		publish(t, e, 0, 2, 2)
		publish(t, e, 1, 2, 2)
		took := eventually(t, session+session/4+time.Millisecond, "the other handles both partitions", func() bool {
			return alive.len() >= had+2
		})
		if took < session/2 {
			t.Errorf("the dead member was given up after %s, its session is %s", took, session)
		}
	})
}

// A stalled member wakes up after another took over: its commit changes nothing,
// and what it worked on was handled by the other too.
func TestStalledMemberIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, topic := memory.New(), orders(1)
		id := declare(t, e, topic)
		stalledLine := newLine(e)
		var lost atomic.Bool
		handling, wake := make(chan struct{}), make(chan struct{})
		stop := join(t, stalledLine, queue.GroupConfig{Topic: topic, Member: "stalled", Handle: func(ctx context.Context, _ queue.Delivery) error {
			close(handling)
			<-wake
			lost.Store(ctx.Err() != nil)
			return nil
		}})
		want := publish(t, e, 0, 1, 3)
		<-handling
		stalledLine.setFault(silent)

		var other book
		join(t, newLine(e), queue.GroupConfig{Topic: topic, Member: "other", Handle: other.handle})
		eventually(t, 2*session, "the other took over", func() bool { return other.len() > 0 })
		wantBodies(t, "the other", other.of(0), want)
		before, err := e.Position(t.Context(), "receipts", id, 0)
		if err != nil {
			t.Fatal(err)
		}

		time.Sleep(session) // By now the stalled one knows, too.
		stalledLine.setFault(nil)
		close(wake)
		synctest.Wait()
		if !lost.Load() {
			t.Error("the stalled handler's context did not end with its session")
		}
		if got := stalledLine.committed(); len(got) != 1 || !errors.Is(got[0], queue.ErrFenced) {
			t.Errorf("the stalled member's commits returned %v, want one %v", got, queue.ErrFenced)
		}
		if after, err := e.Position(t.Context(), "receipts", id, 0); err != nil || after != before {
			t.Errorf("Position = %v, %v, want %v as before", after, err, before)
		}
		more := publish(t, e, 0, 4, 4)
		eventually(t, session, "the other goes on", func() bool { return other.len() == 4 })
		wantBodies(t, "the other", other.of(0), append(want, more...))
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestNewGroupNamesTheField(t *testing.T) {
	e := memory.New()
	valid := queue.GroupConfig{Name: "receipts", Topic: orders(1), Engine: e, Store: e, Handle: new(book).handle}
	if _, err := queue.NewGroup(valid); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*queue.GroupConfig){
		"Name":       func(c *queue.GroupConfig) { c.Name = "no spaces" },
		"Partitions": func(c *queue.GroupConfig) { c.Topic.Partitions = -1 },
		"Durability": func(c *queue.GroupConfig) { c.Topic.Durability = queue.DurablePower },
		"Engine":     func(c *queue.GroupConfig) { c.Engine = nil },
		"Store":      func(c *queue.GroupConfig) { c.Store = nil },
		"Handle":     func(c *queue.GroupConfig) { c.Handle = nil },
		"Session":    func(c *queue.GroupConfig) { c.Session = time.Millisecond },
		"MaxBatch":   func(c *queue.GroupConfig) { c.MaxBatch = -1 },
		"Poll":       func(c *queue.GroupConfig) { c.Poll = -1 },
		"Limit":      func(c *queue.GroupConfig) { c.Limit = -1 },
		"Drain":      func(c *queue.GroupConfig) { c.Drain = -1 },
	} {
		cfg := valid
		spoil(&cfg)
		if _, err := queue.NewGroup(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("NewGroup with a wrong %s = %v, want an error that names it", field, err)
		}
	}
	cfg := valid
	cfg.Topic.Durability = queue.DurablePower
	if _, err := queue.NewGroup(cfg); !errors.Is(err, queue.ErrUnsupported) {
		t.Errorf("NewGroup with a durability the engine lacks = %v, want %v", err, queue.ErrUnsupported)
	}
}
