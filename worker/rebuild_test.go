package worker_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"snip"
	"snip/queue"
	"snip/queue/engine/sqlite"
	"snip/store"
	"snip/worker"
)

func (b *bench) rebuild(ctx context.Context, e engine) (worker.Rebuilt, error) {
	return worker.Rebuild(ctx, worker.RebuildConfig{Store: b.store, Engine: e, Roster: e, Topic: topic()})
}

// TestRebuild rebuilds twice while clicks come in and are counted by a worker that
// goes on all the while: a reader sees no total that is less than before, and at the
// end all is counted once.
func TestRebuild(t *testing.T) {
	b := setup(t, 2)
	e := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	s := queue.NewSegmentID()
	const before, during = 40, 40
	for i := range before {
		b.append(e, i%4, b.batch(segmentOf(s, i%4), i/4*3, 0, 1, 0))
	}
	b.count(e)
	b.clicks(before*2, before)

	c := b.worker(e)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	rebuilt := make(chan error, 1)
	go func() {
		_, first := b.rebuild(ctx, e)
		n, second := b.rebuild(ctx, e)
		if n.Clicks < before*3 || !n.Since.IsZero() {
			second = errors.Join(second, fmt.Errorf("it counted %+v, want all", n))
		}
		rebuilt <- errors.Join(first, second)
	}()
	seen := int64(before * 2)
	for i := before; ; i++ {
		if i < before+during {
			b.append(e, i%4, b.batch(segmentOf(s, i%4), i/4*3, 0, 1, 0))
		}
		got := b.stats(0)
		var sum int64
		for _, v := range got.Dimensions[snip.ByBrowser].Top {
			sum += v.Clicks
		}
		if got.Clicks < seen || sum != got.Clicks {
			t.Fatalf("%d clicks, %d by browser, after there were %d", got.Clicks, sum, seen)
		}
		seen = got.Clicks
		select {
		case err := <-rebuilt:
			if err != nil {
				t.Fatal(err)
			}
			for ; i < before+during-1; i++ {
				b.append(e, (i+1)%4, b.batch(segmentOf(s, (i+1)%4), (i+1)/4*3, 0, 1, 0))
			}
		default:
			continue
		}
		break
	}
	poll(t, func() bool {
		lag, err := c.Lag(t.Context())
		return err == nil && lag.Messages == 0
	})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	b.clicks((before+during)*2, before+during)
}

// segmentOf makes a segment a partition of one.
func segmentOf(s queue.SegmentID, partition int) queue.SegmentID {
	s[0] ^= byte(partition + 1)
	return s
}

// TestRebuildOfATrimmedTopic: days of which clicks were trimmed stay as they are, and
// the count goes on.
func TestRebuildOfATrimmedTopic(t *testing.T) {
	for name, segments := range map[string]int{"a whole segment": 3, "part of one": 1} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, 1)
			e := openLog(t, filepath.Join(t.TempDir(), "log.db"))
			for i := range 3 {
				s := segmentOf(queue.SegmentID{15: 1}, i%segments)
				b.append(e, 0, b.batch(s, i/segments*2, 0, 0))
			}
			b.count(e)
			trimFirst(t, e)
			done, err := b.rebuild(t.Context(), e)
			if tomorrow := noon.Truncate(24*time.Hour).AddDate(0, 0, 1); err != nil || done.Clicks != 4 || !done.Since.Equal(tomorrow) {
				t.Errorf("Rebuild() = %+v, %v, want 4 clicks and nothing replaced before %s", done, err, tomorrow)
			}
			b.clicks(6)
			b.append(e, 0, b.batch(queue.NewSegmentID(), 0, 0))
			b.count(e)
			b.clicks(7)
		})
	}
}

func trimFirst(t *testing.T, e *sqlite.Engine) {
	t.Helper()
	entries, err := e.Read(t.Context(), "clicks", 0, queue.Position{}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Trim(t.Context(), "clicks", 0, entries[1].Position); err != nil {
		t.Fatal(err)
	}
}

// TestRebuildStopped: one that is stopped halfway changes nothing, nor does one that
// another took over from.
func TestRebuildStopped(t *testing.T) {
	b := setup(t, 1)
	e := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	b.append(e, 0, b.batch(queue.NewSegmentID(), 0, 0, 0, 0))
	b.count(e)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.rebuild(ctx, e); err == nil {
		t.Error("Rebuild() with an ended context = nil, want an error")
	}
	b.clicks(3)

	held := &held{engine: e, begun: make(chan struct{}), goOn: make(chan struct{})}
	first := make(chan error, 1)
	go func() { _, err := b.rebuild(t.Context(), held); first <- err }()
	<-held.begun
	if _, err := b.rebuild(t.Context(), e); err != nil {
		t.Errorf("Rebuild() beside another = %v", err)
	}
	close(held.goOn)
	if err := <-first; !errors.Is(err, store.ErrGeneration) {
		t.Errorf("Rebuild() that another took over from = %v, want %v", err, store.ErrGeneration)
	}
	b.clicks(3)
}

// held reads nothing before it may.
type held struct {
	engine
	begun, goOn chan struct{}
	once        bool
}

func (h *held) Read(ctx context.Context, topic string, p int, from queue.Position, most int) ([]queue.Entry, error) {
	if p == 0 {
		if !h.once {
			h.once = true
			close(h.begun)
		}
		select {
		case <-h.goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return h.engine.Read(ctx, topic, p, from, most)
}

// TestRetain compacts what is old, in the zone that is asked for, and nothing else.
func TestRetain(t *testing.T) {
	b := setup(t, 1)
	e := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	links := make([]int, 60)
	b.append(e, 0, b.batch(queue.NewSegmentID(), 0, links...))
	b.count(e)
	rows := func() (n int) {
		if err := b.store.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM rollups WHERE link_id > 0`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, test := range []struct {
		now  time.Time
		days int
		want int
	}{
		{noon.AddDate(1, 0, 0), 0, 4},
		{noon.AddDate(0, 0, 10), 10, 4},
		{noon.AddDate(0, 0, 11), 10, 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c := b.worker(e)
		var asked atomic.Int64
		go func() {
			ended <- c.Retain(ctx, worker.Retention{FineDays: test.days, Now: func() time.Time {
				asked.Add(1)
				return test.now
			}})
		}()
		poll(t, func() bool { return asked.Load() == 2 || test.days == 0 && asked.Load() == 1 })
		if test.want == 1 {
			poll(t, func() bool { return rows() == 1 })
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n := rows(); n != test.want {
			t.Errorf("%d rows at %s with %d fine days, want %d", n, test.now, test.days, test.want)
		}
	}
	b.clicks(60)
}
