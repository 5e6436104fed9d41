package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/outbox"
)

var (
	errDead   = errors.New("dead")
	errBroken = errors.New("broken")
)

// fate ends a process at one of its steps: before or after one of the calls with
// which it changes a store or a topic. From then on it changes nothing any more.
type fate struct {
	steps atomic.Int64 // That are left.
	die   context.CancelFunc
}

func (f *fate) step() error {
	if f.steps.Add(-1) < 0 {
		f.die()
		return errDead
	}
	return nil
}

type mortalStore struct {
	outbox.Store
	*fate
}

func (m mortalStore) Write(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	if err := m.step(); err != nil {
		return err
	}
	if err := m.Store.Write(ctx, fn); err != nil {
		return err
	}
	return m.step()
}

type mortalEngine struct {
	queue.LogEngine
	*fate
}

func (m mortalEngine) Append(ctx context.Context, topic string, p int, b queue.Batch) error {
	if err := m.step(); err != nil {
		return err
	}
	if err := m.LogEngine.Append(ctx, topic, p, b); err != nil {
		return err
	}
	return m.step()
}

// TestKilledAtAnyPoint kills a forwarder before and after each of its steps, once at
// each: the next one sends every message once, and in order.
func TestKilledAtAnyPoint(t *testing.T) {
	const partitions = 2
	survived := false
	for n := int64(0); !survived; n++ {
		t.Run(fmt.Sprint("after ", n, " steps"), func(t *testing.T) {
			s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{Partitions: partitions}), memory.New()
			for i := range 3 {
				write(t, s, o, order(1, i), order(2, i))
			}
			ctx, die := context.WithCancel(t.Context())
			defer die()
			doomed := &fate{die: die}
			doomed.steps.Store(n)
			f, err := outbox.NewForwarder(outbox.ForwarderConfig{
				Outbox: o, Store: mortalStore{s, doomed}, Engine: mortalEngine{e, doomed}, Topic: orders(partitions), Poll: time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = f.Run(ctx) // Always nil.
			}()
			eventually(t, "the forwarder died or is done", func() bool {
				return ctx.Err() != nil || waiting(t, s, o) == 0
			})
			survived = ctx.Err() == nil
			die()
			<-ended
			write(t, s, o, order(1, 3), order(3, 0))
			forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(partitions)})
			awaitEmpty(t, s, o)
			write(t, s, o, order(1, 4))
			awaitEmpty(t, s, o)
			mustHave(t, e, partitions, map[int]int{1: 5, 2: 3, 3: 1})
		})
	}
}

// Many processes write and forward at the same time, and forwarders die.
func TestManyForwardersSendOnce(t *testing.T) {
	const partitions, processes, each = 2, 4, 60
	path, e := somewhere(t), memory.New()
	var tasks sync.WaitGroup
	want := map[int]int{}
	for i := range processes {
		s, o := openStore(t, path), newOutbox(t, outbox.Config{Partitions: partitions})
		want[i] = each
		tasks.Go(func() {
			for n := range each {
				write(t, s, o, order(i, n))
				o.Wake()
			}
		})
		tasks.Go(func() {
			for life := range int64(6) {
				ctx, die := context.WithCancel(t.Context())
				doomed := &fate{die: die}
				doomed.steps.Store(5 + 7*life + int64(i))
				f, err := outbox.NewForwarder(outbox.ForwarderConfig{
					Outbox: o, Store: mortalStore{s, doomed}, Engine: mortalEngine{e, doomed}, Topic: orders(partitions),
					Poll: 2 * time.Millisecond, Lease: 100 * time.Millisecond,
				})
				if err != nil {
					t.Error(err)
				} else {
					time.AfterFunc(300*time.Millisecond, die) // It may find nothing to do.
					_ = f.Run(ctx)                            // Always nil.
				}
				die()
			}
		})
	}
	tasks.Wait()
	s, o := openStore(t, path), newOutbox(t, outbox.Config{Partitions: partitions})
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(partitions)})
	awaitEmpty(t, s, o)
	mustHave(t, e, partitions, want)
}

// The others leave a forwarder alone while it beats, also if it gets nowhere.
func TestLeaseOfALivingForwarderIsLeftAlone(t *testing.T) {
	path := somewhere(t)
	s, o, e := openStore(t, path), newOutbox(t, outbox.Config{}), memory.New()
	broken := &faulty{LogEngine: e}
	broken.fail.Store(true)
	write(t, s, o, order(1, 0))
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: broken, Topic: orders(1), Lease: 400 * time.Millisecond})
	eventually(t, "the first one has tried", func() bool { return broken.calls.Load() > 0 })
	other := &faulty{LogEngine: e}
	stop := forward(t, outbox.ForwarderConfig{Outbox: o, Store: openStore(t, path), Engine: other, Topic: orders(1), Lease: 400 * time.Millisecond})
	eventually(t, "the first one has tried for longer than a lease", func() bool { return broken.calls.Load() > 8 })
	stop()
	if n := other.calls.Load(); n > 0 {
		t.Errorf("the second forwarder appended %d times while the first one lived", n)
	}
	broken.fail.Store(false)
	awaitEmpty(t, s, o)
	mustHave(t, e, 1, map[int]int{1: 1})
}

// A forwarder that is stopped gives its lease back: another one need not wait.
func TestStoppedForwarderReleases(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), memory.New()
	broken := &faulty{LogEngine: e}
	broken.fail.Store(true)
	write(t, s, o, order(1, 0))
	stop := forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: broken, Topic: orders(1), Lease: time.Hour})
	eventually(t, "it has tried", func() bool { return broken.calls.Load() > 0 })
	stop()
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1), Lease: time.Hour})
	awaitEmpty(t, s, o)
	mustHave(t, e, 1, map[int]int{1: 1})
}

// faulty is an engine that fails when a test wants it.
type faulty struct {
	queue.LogEngine
	fail  atomic.Bool
	calls atomic.Int64
	lie   bool // What fails was done all the same.
}

func (f *faulty) Append(ctx context.Context, topic string, p int, b queue.Batch) error {
	f.calls.Add(1)
	if !f.fail.Load() {
		return f.LogEngine.Append(ctx, topic, p, b)
	}
	if f.lie {
		_ = f.LogEngine.Append(ctx, topic, p, b) // As if the reply was lost.
	}
	return errBroken
}

func TestOutagesAreWaitedOut(t *testing.T) {
	for name, lie := range map[string]bool{"nothing is done": false, "replies are lost": true} {
		t.Run(name, func(t *testing.T) {
			s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), &faulty{LogEngine: memory.New(), lie: lie}
			forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
			for i := range 5 {
				e.fail.Store(true)
				before := e.calls.Load()
				write(t, s, o, order(1, 2*i))
				eventually(t, "it was tried", func() bool { return e.calls.Load() > before+1 })
				write(t, s, o, order(1, 2*i+1))
				e.fail.Store(false)
				awaitEmpty(t, s, o)
			}
			mustHave(t, e, 1, map[int]int{1: 10})
		})
	}
}

func TestFullTopicIsWaitedOut(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), memory.New()
	topic := orders(1)
	topic.MaxBytes = 64 << 10
	write(t, s, o, queue.Message{Body: make([]byte, 60<<10)})
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: topic})
	awaitEmpty(t, s, o)
	write(t, s, o, queue.Message{Body: make([]byte, 10<<10)})
	topic.MaxBytes = 1 << 20
	if n := waiting(t, s, o); n != 1 {
		t.Errorf("%d rows wait for a full topic, want 1", n)
	}
	if _, err := e.Declare(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	awaitEmpty(t, s, o)
	if got := len(sent(t, e, 0)); got != 2 {
		t.Errorf("%d messages were sent, want 2", got)
	}
}

// replaceable is an engine whose place another one takes.
type replaceable struct {
	mu sync.Mutex
	*memory.Engine
}

func (r *replaceable) now() *memory.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Engine
}

func (r *replaceable) replace(e *memory.Engine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Engine = e
}

func (r *replaceable) Declare(ctx context.Context, t queue.TopicConfig) (queue.TopicID, error) {
	return r.now().Declare(ctx, t)
}

func (r *replaceable) Append(ctx context.Context, topic string, p int, b queue.Batch) error {
	return r.now().Append(ctx, topic, p, b)
}

// An engine that was emptied or replaced knows no segment any more.
func TestReplacedTopicIsSentTo(t *testing.T) {
	for _, declared := range []bool{false, true} {
		s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), &replaceable{Engine: memory.New()}
		forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
		write(t, s, o, order(1, 0), order(1, 1))
		awaitEmpty(t, s, o)
		other := memory.New()
		if declared {
			if _, err := other.Declare(t.Context(), orders(1)); err != nil {
				t.Fatal(err)
			}
		}
		e.replace(other)
		for i := range 3 {
			write(t, s, o, order(2, 2*i), order(2, 2*i+1))
			awaitEmpty(t, s, o)
		}
		mustHave(t, other, 1, map[int]int{2: 6})
	}
}

// More than one append can carry.
func TestBacklogIsSentInOrder(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), memory.New()
	var all []queue.Message
	for i := range 2500 {
		all = append(all, order(1, i))
	}
	write(t, s, o, all...)
	large := order(2, 0)
	large.Headers = map[string]string{"filler": string(make([]byte, 200<<10))}
	for i := range 12 {
		large.Body = order(2, i).Body
		write(t, s, o, large)
	}
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
	awaitEmpty(t, s, o)
	mustHave(t, e, 1, map[int]int{1: 2500, 2: 12})
}

// A database that was restored holds rows that were sent since, and lacks what was
// written since: the first are not sent again, and new rows are not taken for sent.
func TestRestoredRowsAreSentOnce(t *testing.T) {
	s, o, e := openStore(t, somewhere(t)), newOutbox(t, outbox.Config{}), memory.New()
	write(t, s, o, order(1, 0), order(1, 1), order(1, 2))
	ctx, die := context.WithCancel(t.Context())
	doomed := &fate{die: die}
	doomed.steps.Store(2) // It gives the rows their numbers, and no more.
	f, err := outbox.NewForwarder(outbox.ForwarderConfig{
		Outbox: o, Store: mortalStore{s, doomed}, Engine: mortalEngine{e, doomed}, Topic: orders(1), Poll: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Run(ctx) // Always nil.
	run := func(statement string) {
		t.Helper()
		err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE TABLE saved AS SELECT * FROM outbox")
	stop := forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
	awaitEmpty(t, s, o)
	write(t, s, o, order(1, 3), order(1, 4))
	awaitEmpty(t, s, o)
	stop()
	run("INSERT INTO outbox SELECT * FROM saved")
	forward(t, outbox.ForwarderConfig{Outbox: o, Store: s, Engine: e, Topic: orders(1)})
	write(t, s, o, order(2, 0), order(2, 1))
	awaitEmpty(t, s, o)
	mustHave(t, e, 1, map[int]int{1: 5, 2: 2})
}
