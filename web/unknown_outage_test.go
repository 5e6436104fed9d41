package web_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snip"
)

// With its store away the report waits, whatever the store does, and visitors
// notice nothing.
func TestUnknownCodesWaitForTheirStore(t *testing.T) {
	for name, away := range map[string]func(context.Context) error{
		"refuses": func(context.Context) error { return errAway },
		"hangs":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, time.Now)
				w.report.answers(away)
				w.ask("/none", 3)
				for range 60 {
					time.Sleep(5 * time.Second)
					began := time.Now()
					w.ask("/none", 1)
					if took := time.Since(began); took > 0 {
						t.Errorf("an answer waited %s", took)
					}
				}
				w.wantKept(map[string]int64{})
				w.wantMetrics(63, 0)
				w.report.answers(nil)
				time.Sleep(2 * aWhile)
				w.wantKept(map[string]int64{"00:00 none": 63})
				w.wantMetrics(0, 0)
				w.stop()
				if lines := strings.Count(w.log.String(), "unknown codes"); lines != 1 {
					t.Errorf("the log has %d lines about an outage, want 1:\n%s", lines, &w.log)
				}
			})
		})
	}
}

// While its store is away for weeks the report stays small, and tells what is
// missing in it.
func TestUnknownCodesOfALongOutageAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{now: time.Now()} // The writer need not try all those weeks.
		w := watch(t, c.Now)
		w.report.answers(func(context.Context) error { return errAway })
		const slots, codes = 2500, 2
		for i := range slots {
			w.ask("/none", 1)
			w.ask("/None", 1)
			c.add(snip.Slot)
			if i%500 == 0 {
				time.Sleep(aWhile)
			}
		}
		// 500 slots have room for their codes, 1000 more for a sum, the others for nothing.
		const kept, dropped = 1500 * codes, 1000 * codes
		w.wantMetrics(kept, dropped)
		w.report.answers(nil)
		time.Sleep(aWhile)
		if sum := total(w.report.all()); sum != kept {
			t.Errorf("%d hits were kept, want %d", sum, kept)
		}
		if _, n := w.report.asked(); n != 2000 {
			t.Errorf("%d sums were told at once, want 2000", n)
		}
		w.wantMetrics(0, dropped)
	})
}

// A stop does not wait for a store that does not come back, and says what is lost.
func TestUnknownCodesThatCannotBeWrittenAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, time.Now)
		w.report.answers(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		w.ask("/none", 3)
		time.Sleep(10 * time.Second) // It is being written.
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the stop took %s", took)
		}
		w.wantMetrics(0, 3)
		if !strings.Contains(w.log.String(), "hits=3") {
			t.Errorf("the log does not say that 3 hits are lost:\n%s", &w.log)
		}
	})
}
