package spool_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/spool"
)

func TestRecordDoesNotAllocate(t *testing.T) {
	s := open(t, spool.Config{Dir: t.TempDir(), Topic: "clicks", Sync: -1})
	payload, at := make([]byte, 150), time.Now()
	if n := testing.AllocsPerRun(1000, func() {
		if err := s.Record(at, payload); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("Record() allocates %v times", n)
	}
}

// BenchmarkRecord records as fast as it can, for which no disk has room for long:
// the oldest segments are dropped, and where the next one is not made in time,
// records are refused.
func BenchmarkRecord(b *testing.B) {
	payload := make([]byte, 150)
	for _, recorders := range []int{1, 8} {
		b.Run(fmt.Sprint(recorders), func(b *testing.B) {
			s, err := spool.Open(spool.Config{Dir: b.TempDir(), Topic: "clicks", SegmentBytes: 32 << 20, Sync: -1})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.ReportAllocs()
			var refused atomic.Int64
			var running sync.WaitGroup
			for range recorders {
				running.Go(func() {
					for range b.N / recorders {
						if s.Record(time.Now(), payload) != nil {
							refused.Add(1)
						}
					}
				})
			}
			running.Wait()
			b.ReportMetric(float64(refused.Load())/float64(b.N), "refused/op")
		})
	}
}

// BenchmarkShip measures how fast a backlog goes to an engine that costs nothing.
func BenchmarkShip(b *testing.B) {
	cfg := spool.Config{Dir: b.TempDir(), Topic: "clicks", MaxBytes: 4 << 30, Sync: -1}
	s, err := spool.Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	payload := make([]byte, 150)
	for range b.N {
		for s.Record(time.Now(), payload) != nil {
			time.Sleep(time.Millisecond) // The next segment is being made.
		}
	}
	s.CloseIntake()
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	b.ReportAllocs()
	b.ResetTimer()
	if err := s.Ship(ended, nothing{}, plain); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if n := s.Stats().Unsent; n > 0 {
		b.Fatalf("%d messages were not sent", n)
	}
}

// nothing is an engine that takes everything and keeps nothing.
type nothing struct{ queue.LogEngine }

func (nothing) Caps() queue.Caps { return queue.Caps{} }

func (nothing) Append(context.Context, string, int, queue.Batch) error { return nil }
