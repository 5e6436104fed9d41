package worker_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/sqlite"
	"snip/store"
	"snip/worker"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// engine is what a worker needs of one.
type engine interface {
	queue.LogEngine
	queue.GroupStore
}

// bench is a store with links, whose clicks a worker counts.
type bench struct {
	t     testing.TB
	store *store.Store
	links []snip.Link
	event *event.Clicks
}

func setup(t testing.TB, links int) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "snip.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	clicks, err := event.NewClicks()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: s, event: clicks}
	for range links {
		l, _, err := s.CreateLink(t.Context(), snip.NewLink{Settings: snip.Settings{Target: "https://example.com/"}})
		if err != nil {
			t.Fatal(err)
		}
		b.links = append(b.links, l)
	}
	return b
}

func openLog(t *testing.T, path string) *sqlite.Engine {
	t.Helper()
	e, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// topic asks for no durability, so that the memory engine may have it too.
func topic() queue.TopicConfig {
	c := worker.ClicksTopic(0)
	c.Durability = queue.DurableNothing
	return c
}

// batch holds clicks of one link each, a minute apart from noon on.
func (b *bench) batch(segment queue.SegmentID, first int, links ...int) queue.Batch {
	b.t.Helper()
	out := queue.Batch{Segment: segment, First: uint64(first)}
	for i, l := range links {
		at := noon.Add(time.Duration(first+i) * time.Minute)
		body, err := b.event.Append(nil, snip.Click{Link: b.links[l].ID, At: at})
		if err != nil {
			b.t.Fatal(err)
		}
		out.Messages = append(out.Messages, queue.Message{Type: event.ClickType, Time: at, Body: body})
	}
	return out
}

func (b *bench) append(e queue.LogEngine, partition int, batch queue.Batch) {
	b.t.Helper()
	if _, err := e.Declare(b.t.Context(), topic()); err != nil {
		b.t.Fatal(err)
	}
	if err := e.Append(b.t.Context(), "clicks", partition, batch); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) worker(e engine) *worker.Count {
	b.t.Helper()
	c, err := worker.NewCount(worker.CountConfig{
		Store: b.store, Engine: e, Roster: e, Topic: topic(), Session: time.Second, Drain: 200 * time.Millisecond,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// count lets a worker drain the topic.
func (b *bench) count(e engine) {
	b.t.Helper()
	c := b.worker(e)
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	deadline := time.Now().Add(20 * time.Second)
	for {
		lag, err := c.Lag(b.t.Context())
		if err == nil && lag.Messages == 0 {
			break
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not counted in time: Lag() = %v, %v", lag, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		b.t.Fatalf("Run() = %v", err)
	}
}

// clicks checks what was counted, in the links and in the statistics.
func (b *bench) clicks(want ...int64) {
	b.t.Helper()
	for i, n := range want {
		s := b.stats(i)
		l, err := b.store.Link(b.t.Context(), snip.Ref{Code: b.links[i].Code})
		if err != nil {
			b.t.Fatal(err)
		}
		if want := (snip.Counts{Clicks: n, HumanClicks: n}); s.Counts != want || l.Clicks != n || l.HumanClicks != n {
			b.t.Errorf("link %d: %+v, and %d with %d of people in its row, want %d of each", i, s.Counts, l.Clicks, l.HumanClicks, n)
		}
	}
}

// stats are those of the day on which all clicks are, by the hour.
func (b *bench) stats(link int) snip.Stats {
	b.t.Helper()
	day := snip.DateOf(noon)
	s, err := b.store.Stats(b.t.Context(), snip.StatsQuery{
		Codes: []string{b.links[link].Code}, Range: snip.Range{From: day, To: day}, Step: snip.StepHour, Top: 10,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestCount(t *testing.T) {
	b := setup(t, 3)
	e := memory.New()
	s1, s2 := queue.NewSegmentID(), queue.NewSegmentID()
	b.append(e, 0, b.batch(s1, 0, 0, 0, 1))
	b.append(e, 0, b.batch(s1, 3, 0))
	b.append(e, 3, b.batch(s2, 0, 2, 0))
	b.count(e)
	b.clicks(4, 1, 1)
}

// L22's kind: a click belongs to the period in which it happened.
func TestCountInItsHour(t *testing.T) {
	b := setup(t, 1)
	e := memory.New()
	links := make([]int, 121) // A click a minute.
	b.append(e, 0, b.batch(queue.NewSegmentID(), 0, links...))
	b.count(e)
	got := b.stats(0).Series
	for hour, want := range map[int]int64{11: 0, 12: 60, 13: 60, 14: 1, 15: 0} {
		if got[hour].Clicks != want {
			t.Errorf("%d clicks from %s on, want %d", got[hour].Clicks, got[hour].Start, want)
		}
	}
}

func TestCountIgnoresDeletedLinks(t *testing.T) {
	b := setup(t, 2)
	e := memory.New()
	b.append(e, 0, b.batch(queue.NewSegmentID(), 0, 0, 1, 1))
	if err := b.store.DeleteLink(t.Context(), snip.Ref{Code: b.links[1].Code}, 0); err != nil {
		t.Fatal(err)
	}
	b.count(e)
	b.clicks(1)
}

// The log is emptied while the inbox stands: what comes again is skipped, what is
// new is counted.
func TestCountAfterLogWasReplaced(t *testing.T) {
	b := setup(t, 2)
	s := queue.NewSegmentID()
	before := memory.New()
	b.append(before, 0, b.batch(s, 0, 0, 0, 1))
	b.count(before)

	after := memory.New()
	b.append(after, 0, b.batch(s, 0, 0, 0, 1, 1)) // The segment is sent again from its start, and one more.
	b.count(after)
	b.clicks(2, 2)
}

// A copy of the log that was made earlier comes back: the same topic, with another
// end than the one that was counted.
func TestCountAfterLogWasRestored(t *testing.T) {
	b := setup(t, 1)
	path := filepath.Join(t.TempDir(), "log.db")
	s1, s2 := queue.NewSegmentID(), queue.NewSegmentID()
	e := openLog(t, path)
	b.append(e, 0, b.batch(s1, 0, 0))
	copied := filepath.Join(t.TempDir(), "log.db")
	if err := backup(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	b.append(e, 0, b.batch(s1, 1, 0, 0))
	b.count(e)
	b.clicks(3)

	restored := openLog(t, copied)
	b.append(restored, 0, b.batch(s1, 1, 0, 0))
	b.append(restored, 0, b.batch(s2, 0, 0))
	b.count(restored)
	b.clicks(4)
}

// Messages that are missing from the log are an error and nothing is skipped: the
// partition halts where they should be, the others go on.
func TestCountHaltsAtGap(t *testing.T) {
	b := setup(t, 2)
	s := queue.NewSegmentID()
	before := memory.New()
	b.append(before, 0, b.batch(s, 0, 0))
	b.count(before)

	after := forgetful{memory.New()}
	b.append(after, 0, b.batch(s, 3, 0)) // Numbers 1 and 2 never came.
	b.append(after, 1, b.batch(queue.NewSegmentID(), 0, 1))
	c := b.worker(after)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	poll(t, func() bool {
		lag, err := c.Lag(t.Context())
		return err == nil && lag.Messages == 1 && c.Counted() == 1
	})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	b.clicks(1, 1)
}

// Two workers on one topic, one store and several segments.
func TestTwoWorkers(t *testing.T) {
	b := setup(t, 2)
	e := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	const batches = 30
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			s := queue.NewSegmentID()
			for i := range batches {
				b.append(e, p, b.batch(s, i*3, 0, 1, 0))
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := b.worker(e), b.worker(e)
	ended := make(chan error, 2)
	go func() { ended <- first.Run(ctx) }()
	go func() { ended <- second.Run(ctx) }()
	wg.Wait()
	poll(t, func() bool {
		lag, err := first.Lag(t.Context())
		return err == nil && lag.Messages == 0
	})
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	b.clicks(4*batches*2, 4*batches)
	if got := first.Counted() + second.Counted(); got != 4*batches*3 {
		t.Errorf("the two counted %d clicks together, want %d", got, 4*batches*3)
	}
}

// A message of a newer program is not skipped: it waits for a newer worker.
func TestCountHaltsAtUnknownType(t *testing.T) {
	b := setup(t, 1)
	e := memory.New()
	b.append(e, 0, queue.Batch{Messages: []queue.Message{{Type: "snip.other", Time: noon}}})
	b.append(e, 1, b.batch(queue.NewSegmentID(), 0, 0))
	c := b.worker(e)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	poll(t, func() bool { return c.Counted() == 1 })
	lag, err := c.Lag(t.Context())
	if err != nil || lag.Messages != 1 || !lag.Oldest.Equal(noon) {
		t.Errorf("Lag() = %v, %v, want the one message of %v", lag, err, noon)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// forgetful does not remember segments, so that a gap can be appended.
type forgetful struct{ *memory.Engine }

func (f forgetful) Append(ctx context.Context, topic string, p int, b queue.Batch) error {
	if b.First == 0 {
		return f.Engine.Append(ctx, topic, p, b)
	}
	filler := queue.Batch{Segment: b.Segment, Messages: make([]queue.Message, b.First)}
	if err := f.Engine.Append(ctx, topic, p, filler); err != nil {
		return err
	}
	if err := f.Engine.Append(ctx, topic, p, b); err != nil {
		return err
	}
	entries, err := f.Read(ctx, topic, p, queue.Position{}, 1<<20)
	if err != nil {
		return err
	}
	// Keeps the entry it points at: the filler goes.
	return f.Trim(ctx, topic, p, entries[len(entries)-1].Position)
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("did not happen in time")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
