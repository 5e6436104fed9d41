package spool_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/spool"
)

// filled returns a directory in which a process that is gone left n messages.
func filled(t *testing.T, cfg spool.Config, n int) []string {
	t.Helper()
	s := open(t, cfg)
	payloads, _ := recordMany(t, s, "left", n)
	closeSpool(t, s)
	return payloads
}

func TestReplyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t, config(t.TempDir())), newEngine()
		var lost atomic.Int32
		e.on(nil, func(queue.Batch) error {
			if lost.Add(1) <= 3 {
				return errOutage
			}
			return nil
		})
		stop := ship(t, s, e)
		var want []string
		for i := range 20 {
			payloads, _ := recordMany(t, s, fmt.Sprint(i), 10)
			want = append(want, payloads...)
			time.Sleep(time.Second)
		}
		stop()
		e.checkOnce(t, want)
		if lost.Load() < 4 {
			t.Errorf("only %d appends were made, too few to go on after lost replies", lost.Load())
		}
	})
}

func TestDelayedAppendLandsAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t, config(t.TempDir())), newEngine()
		var delayed []queue.Batch
		e.on(func(b queue.Batch) error {
			if len(delayed) < 2 {
				messages := append([]queue.Message(nil), b.Messages...)
				delayed = append(delayed, queue.Batch{Segment: b.Segment, First: b.First, Messages: messages})
				return errOutage
			}
			return nil
		}, nil)
		stop := ship(t, s, e)
		want, _ := recordMany(t, s, "first", 5)
		time.Sleep(time.Millisecond)
		more, _ := recordMany(t, s, "more", 5)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for _, b := range delayed {
			if err := e.add("clicks", e.parts[b.Segment], b); err == nil {
				t.Error("the engine took a delayed append again")
			}
			if b.First != delayed[0].First || len(b.Messages) != len(delayed[0].Messages) {
				t.Errorf("an append in doubt was repeated as %d+%d, was %d+%d",
					b.First, len(b.Messages), delayed[0].First, len(delayed[0].Messages))
			}
		}
		stop()
		e.checkOnce(t, append(want, more...))
	})
}

func TestEngineLosesItsTail(t *testing.T) {
	for _, kept := range []int{0, 7} {
		t.Run(fmt.Sprint("keeps ", kept), func(t *testing.T) {
			s, e := open(t, config(t.TempDir())), newEngine()
			stop := ship(t, s, e)
			want, _ := recordMany(t, s, "m", 100)
			eventually(t, "all is sent", func() bool { return s.Stats().Unsent == 0 })
			e.truncate(kept)
			want = append(want, "next")
			record(t, s, "next")
			stop()
			e.checkOnce(t, want)
		})
	}
}

func TestEngineOutageCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t.TempDir())
		cfg.Partitions = 2
		s, e := open(t, cfg), newEngine()
		e.on(func(queue.Batch) error { return errOutage }, nil)
		stop := ship(t, s, e)
		want, drops := recordMany(t, s, "m", 5000)
		time.Sleep(time.Hour)
		synctest.Wait()
		if st := s.Stats(); st.Unsent != 5000 || st.Dropped != drops {
			t.Errorf("during the outage %d messages are unsent and %d dropped, want 5000 and %d", st.Unsent, st.Dropped, drops)
		}
		e.on(nil, nil)
		time.Sleep(10 * time.Second)
		if n := s.Stats().Unsent; n != 0 {
			t.Errorf("ten seconds after the outage %d messages are unsent", n)
		}
		stop()
		e.checkOnce(t, want)
	})
}

func TestFullEngineIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := open(t, config(t.TempDir())), newEngine()
		var asked []time.Time
		e.on(func(queue.Batch) error {
			if asked = append(asked, time.Now()); len(asked) <= 3 {
				return &queue.FullError{Subject: "topic", RetryAfter: time.Duration(len(asked)) * 3 * time.Second}
			}
			return nil
		}, nil)
		stop := ship(t, s, e)
		want, _ := recordMany(t, s, "m", 3)
		time.Sleep(time.Minute)
		stop()
		e.checkOnce(t, want)
		for i, atLeast := range []time.Duration{3 * time.Second, 5 * time.Second, 5 * time.Second} {
			if got := asked[i+1].Sub(asked[i]); got < atLeast || got > atLeast+100*time.Millisecond {
				t.Errorf("full the %d. time, the engine was asked again after %s, want %s", i+1, got, atLeast)
			}
		}
	})
}

func TestOnePartitionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t.TempDir())
		cfg.Partitions = 2
		filled(t, cfg, 5000)
		s, e := open(t, cfg), newEngine()
		broken := map[queue.SegmentID]bool{}
		failing := &onePartition{engine: e, broken: 1, seen: broken}
		stop := ship(t, s, failing)
		time.Sleep(time.Minute)
		synctest.Wait()
		working := 0
		for _, p := range e.parts {
			working += 1 - p
		}
		if working < 2 || len(broken) != 1 {
			t.Errorf("%d segments of the working partition were sent, %d of the other tried, want several and 1", working, len(broken))
		}
		failing.repair()
		time.Sleep(time.Minute)
		stop()
		if got, _ := e.bodies(); len(got) != 5000 {
			t.Errorf("the log has %d messages, want 5000", len(got))
		}
	})
}

func TestLargeMessages(t *testing.T) {
	s, e := open(t, config(t.TempDir())), newEngine()
	e.maxBatch = 2000
	var sizes []int
	e.on(func(b queue.Batch) error {
		n := 0
		for _, m := range b.Messages {
			n += len(m.Body)
		}
		sizes = append(sizes, n)
		return nil
	}, nil)
	stop := ship(t, s, e)
	for range 10 {
		record(t, s, string(make([]byte, 900)))
	}
	record(t, s, string(make([]byte, 3000))) // Fits into no batch of this engine.
	record(t, s, "last")
	stop()
	got, lost := e.bodies()
	if lost != 1 || got["last"] != 1 {
		t.Errorf("the log has %d lost messages and %d times the last, want 1 and 1", lost, got["last"])
	}
	for _, n := range sizes {
		if n > 2000 {
			t.Errorf("a batch holds %d bytes, the engine takes 2000", n)
		}
	}
	closeSpool(t, s)
	if st := s.Stats(); st.Dropped != 1 || st.Lost != 1 {
		t.Errorf("Dropped, Lost = %d, %d, want 1, 1", st.Dropped, st.Lost)
	}
}

func TestTwoAdoptAtOnce(t *testing.T) {
	cfg := config(t.TempDir())
	want := filled(t, cfg, 5000)
	e := newEngine()
	first, second := open(t, cfg), open(t, cfg)
	stopFirst, stopSecond := ship(t, first, e), ship(t, second, e)
	eventually(t, "all is sent", func() bool { return first.Stats().Unsent == 0 })
	stopFirst()
	stopSecond()
	e.checkOnce(t, want)
	closeSpool(t, first)
	closeSpool(t, second)
	if files := segmentFiles(t, cfg.Dir); len(files) > 0 {
		t.Errorf("%d segments are left after everything was sent", len(files))
	}
}

func TestCopiedDirectory(t *testing.T) {
	cfg := config(t.TempDir())
	want := filled(t, cfg, 3000)
	copied := cfg
	copied.Dir = t.TempDir()
	if err := os.CopyFS(copied.Dir, os.DirFS(cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	e := newEngine()
	for _, s := range []*spool.Spool{open(t, cfg), open(t, copied)} {
		stop := ship(t, s, e)
		eventually(t, "all is sent", func() bool { return s.Stats().Unsent == 0 })
		want = append(want, fmt.Sprintf("%p", s))
		record(t, s, fmt.Sprintf("%p", s))
		stop()
		if st := s.Stats(); st.Lost != 0 || st.Aside != 0 {
			t.Errorf("Lost, Aside = %d, %d, want none", st.Lost, st.Aside)
		}
	}
	e.checkOnce(t, want)
}

func TestSetAsideByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t.TempDir())
		want := filled(t, cfg, 30)
		before := open(t, cfg).Stats().Dropped
		time.Sleep(28 * 24 * time.Hour)
		younger := open(t, cfg)
		want2, _ := recordMany(t, younger, "young", 3)
		closeSpool(t, younger)
		time.Sleep(2 * 24 * time.Hour)

		s, e := open(t, cfg), newEngine()
		stop := ship(t, s, e)
		time.Sleep(time.Minute)
		stop()
		e.checkOnce(t, want2)
		if st := s.Stats(); st.Aside != 1 || st.Dropped != before+int64(len(want)) {
			t.Errorf("Aside, Dropped = %d, %d, want 1, %d", st.Aside, st.Dropped, before+int64(len(want)))
		}
	})
}

func TestSegmentsAreReplacedByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t.TempDir())
		cfg.MaxAge = time.Minute
		s, e := open(t, cfg), newEngine()
		stop := ship(t, s, e)
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprint(i))
			record(t, s, want[i])
			time.Sleep(cfg.MaxAge / 2)
		}
		stop()
		e.checkOnce(t, want)
		if n := len(e.copy()); n < 30 {
			t.Errorf("records of 60 times half of MaxAge went into %d segments, want one for every one or two", n)
		}
		if st := s.Stats(); st.Aside != 0 || st.Dropped != 0 {
			t.Errorf("Aside, Dropped = %d, %d, want none", st.Aside, st.Dropped)
		}
	})
}
