package queue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

// session of the groups of these tests. They run on the fake clock of synctest,
// which also fails a test that leaves a goroutine behind.
const session = 4 * time.Second

// line stands between a member and its engine. A test can break it.
type line struct {
	mu    sync.Mutex
	log   *memory.Engine
	store *memory.Engine
	fault func(ctx context.Context) error // Before each call. Nil: none.

	commits []error // What Commit returned, in order.
}

func newLine(e *memory.Engine) *line { return &line{log: e, store: e} }

// fails makes each call return an error.
func fails(err error) func(context.Context) error { return func(context.Context) error { return err } }

// silent makes each call wait for an answer that does not come.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (l *line) setFault(fault func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

func (l *line) replaceLog(e *memory.Engine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = e
}

func (l *line) pass(ctx context.Context) (log, store *memory.Engine, err error) {
	l.mu.Lock()
	fault := l.fault
	log, store = l.log, l.store
	l.mu.Unlock()
	if fault != nil {
		err = fault(ctx)
	}
	return log, store, err
}

func (l *line) Caps() queue.Caps { return l.log.Caps() }

func (l *line) Declare(ctx context.Context, t queue.TopicConfig) (queue.TopicID, error) {
	log, _, err := l.pass(ctx)
	if err != nil {
		return queue.TopicID{}, err
	}
	return log.Declare(ctx, t)
}

func (l *line) Append(ctx context.Context, topic string, p int, b queue.Batch) error {
	log, _, err := l.pass(ctx)
	if err != nil {
		return err
	}
	return log.Append(ctx, topic, p, b)
}

func (l *line) Read(ctx context.Context, topic string, p int, from queue.Position, max int) ([]queue.Entry, error) {
	log, _, err := l.pass(ctx)
	if err != nil {
		return nil, err
	}
	return log.Read(ctx, topic, p, from, max)
}

func (l *line) Trim(ctx context.Context, topic string, p int, before queue.Position) error {
	log, _, err := l.pass(ctx)
	if err != nil {
		return err
	}
	return log.Trim(ctx, topic, p, before)
}

func (l *line) Stats(ctx context.Context, topic string) (queue.TopicStats, error) {
	log, _, err := l.pass(ctx)
	if err != nil {
		return queue.TopicStats{}, err
	}
	return log.Stats(ctx, topic)
}

func (l *line) Wait(ctx context.Context, topic string, seen uint64) (uint64, error) {
	log, _, err := l.pass(ctx)
	if err != nil {
		return seen, err
	}
	return log.Wait(ctx, topic, seen)
}

func (l *line) Roster(ctx context.Context, group, topic string) ([]byte, int64, time.Duration, error) {
	_, store, err := l.pass(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	return store.Roster(ctx, group, topic)
}

func (l *line) Swap(ctx context.Context, group, topic string, version int64, roster []byte) error {
	_, store, err := l.pass(ctx)
	if err != nil {
		return err
	}
	return store.Swap(ctx, group, topic, version, roster)
}

func (l *line) Position(ctx context.Context, group string, topic queue.TopicID, p int) (queue.Position, error) {
	_, store, err := l.pass(ctx)
	if err != nil {
		return queue.Position{}, err
	}
	return store.Position(ctx, group, topic, p)
}

func (l *line) Commit(ctx context.Context, group string, topic queue.TopicID, p int, from, to queue.Position) error {
	_, store, err := l.pass(ctx)
	if err == nil {
		err = store.Commit(ctx, group, topic, p, from, to)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, err)
	return err
}

func (l *line) committed() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.commits)
}

// book is what handlers saw: the bodies, per partition, in order.
type book struct {
	mu   sync.Mutex
	seen map[int][]string
}

func (b *book) handle(_ context.Context, d queue.Delivery) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[int][]string{}
	}
	for m := range d.Messages() {
		b.seen[d.Partition] = append(b.seen[d.Partition], string(m.Body))
	}
	return nil
}

func (b *book) of(partition int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen[partition])
}

func (b *book) partitions() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []int
	for p := range b.seen {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

func (b *book) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, bodies := range b.seen {
		n += len(bodies)
	}
	return n
}

func orders(partitions int) queue.TopicConfig {
	return queue.TopicConfig{Name: "orders", Partitions: partitions}
}

func declare(t *testing.T, e queue.LogEngine, topic queue.TopicConfig) queue.TopicID {
	t.Helper()
	id, err := e.Declare(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// publish appends messages first to last to a partition, each as an entry of its
// own, and returns their bodies.
func publish(t *testing.T, e queue.LogEngine, partition, first, last int) []string {
	t.Helper()
	var bodies []string
	for n := first; n <= last; n++ {
		body := fmt.Sprintf("%d/%03d", partition, n)
		m := queue.Message{Type: "order", Time: time.Now(), Body: []byte(body)}
		if err := e.Append(t.Context(), "orders", partition, queue.Batch{Messages: []queue.Message{m}}); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// join runs a member on a line and returns what stops it and gives Run's error. The
// end of the test stops it too.
func join(t *testing.T, l *line, cfg queue.GroupConfig) (stop func() error) {
	t.Helper()
	cfg.Name, cfg.Engine, cfg.Store = "receipts", l, l
	if cfg.Session == 0 {
		cfg.Session = session
	}
	g, err := queue.NewGroup(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// eventually waits on the fake clock, and returns how long it took.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > within {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

func wantBodies(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: handled %q, want %q", what, got, want)
	}
}
