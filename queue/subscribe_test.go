package queue_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/sqlite"
)

// diary is what a subscriber was told, in order: bodies, and "lost".
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// subscribe runs a subscriber until the end of the test, and returns once it hears.
func subscribe(t *testing.T, e queue.LogEngine, topic queue.TopicConfig) (d *diary, stop func()) {
	t.Helper()
	d = &diary{}
	return d, runSubscriber(t, d, queue.SubscriberConfig{
		Topic: topic, Engine: e, Handle: func(m queue.Message) { d.write(string(m.Body)) },
	})
}

func runSubscriber(t *testing.T, d *diary, cfg queue.SubscriberConfig) (stop func()) {
	t.Helper()
	cfg.Lost = func() { d.write("lost") }
	s, err := queue.NewSubscriber(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	d.await(t, "lost")
	return stop
}

// await waits until the diary holds these lines and no others.
func (d *diary) await(t *testing.T, want ...string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got := d.read()
		if slices.Equal(got, want) {
			return
		}
		if len(got) > len(want) || time.Now().After(limit) {
			t.Fatalf("the subscriber was told %q, want %q", got, want)
		}
	}
}

func TestSubscribersHearWhatHappensFromNowOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		declare(t, e, orders(2))
		publish(t, e, 0, 1, 3)
		first, _ := subscribe(t, e, orders(2))
		second, stop := subscribe(t, e, orders(2))
		want := append([]string{"lost"}, publish(t, e, 0, 4, 6)...)
		first.await(t, want...)
		second.await(t, want...)
		want = append(want, publish(t, e, 1, 1, 2)...)
		first.await(t, want...)
		second.await(t, want...)
		stop()
		publish(t, e, 0, 7, 7)
		first.await(t, append(want, "0/007")...)
		second.await(t, want...)
		again, _ := subscribe(t, e, orders(2)) // There is no stored position.
		again.await(t, "lost")
	})
}

// A wake-up brings a message at once; without one it is found by polling.
func TestSubscriberWaitsForAWakeUpOrPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		d, _ := subscribe(t, e, orders(1))
		began := time.Now()
		publish(t, e, 0, 1, 1)
		d.await(t, "lost", "0/001")
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("with a wake-up a message came after %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		d, _ := subscribe(t, struct{ queue.LogEngine }{e}, orders(1)) // It cannot wait.
		began := time.Now()
		publish(t, e, 0, 1, 1)
		d.await(t, "lost", "0/001")
		if took := time.Since(began); took > time.Second {
			t.Errorf("without a wake-up a message came after %s", took)
		}
	})
}

func TestSubscriberSurvivesOutages(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{"errors": fails(errBroken), "silence": silent} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := memory.New()
				l := newLine(e)
				d, _ := subscribe(t, l, orders(1))
				publish(t, e, 0, 1, 1)
				d.await(t, "lost", "0/001")
				l.setFault(fault)
				publish(t, e, 0, 2, 3)
				time.Sleep(10 * time.Minute)
				l.setFault(nil)
				publish(t, e, 0, 4, 4)
				// Nothing was missed: it only comes late.
				d.await(t, "lost", "0/001", "0/002", "0/003", "0/004")
			})
		})
	}
}

// An outage at the beginning: what is told as lost is all that came before.
func TestSubscriberJoinsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		l := newLine(e)
		l.setFault(fails(errBroken))
		time.AfterFunc(30*time.Second, func() { l.setFault(nil) })
		d, _ := subscribe(t, l, orders(1))
		publish(t, e, 0, 1, 1)
		d.await(t, "lost", "0/001")
	})
}

// doubts are ways in which messages can be missed.
var doubts = map[string]func(t *testing.T, l *line, e *memory.Engine) *memory.Engine{
	"replaced": func(t *testing.T, l *line, _ *memory.Engine) *memory.Engine {
		other := memory.New()
		declare(t, other, orders(2))
		publish(t, other, 0, 101, 105)
		l.replaceLog(other)
		return other
	},
	"deleted": func(_ *testing.T, l *line, _ *memory.Engine) *memory.Engine {
		other := memory.New()
		l.replaceLog(other)
		return other
	},
	"trimmed": func(t *testing.T, l *line, e *memory.Engine) *memory.Engine {
		l.setFault(fails(errBroken))
		for p := range 2 {
			publish(t, e, p, 101, 105)
			entries := read(t, e, p)
			if err := e.Trim(t.Context(), "orders", p, entries[len(entries)-1].Position); err != nil {
				t.Fatal(err)
			}
		}
		l.setFault(nil)
		return e
	},
}

func TestSubscriberTellsOfDoubt(t *testing.T) {
	for name, doubt := range doubts {
		for _, before := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s after %d messages", name, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := memory.New()
					l := newLine(e)
					d, _ := subscribe(t, l, orders(2))
					want := append([]string{"lost"}, publish(t, e, 0, 1, before)...)
					d.await(t, want...)
					now := doubt(t, l, e)
					d.await(t, append(want, "lost")...)
					want = append(append(want, "lost"), publish(t, now, 0, 201, 202)...)
					d.await(t, want...)
				})
			})
		}
	}
}

func TestSubscriberTellsOfWhatItCouldNotHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := memory.New(), &diary{}
		runSubscriber(t, d, queue.SubscriberConfig{Topic: orders(1), Engine: e, Handle: func(m queue.Message) {
			if string(m.Body) == "bad" {
				panic("as the test wants")
			}
			d.write(string(m.Body))
		}})
		for _, m := range []queue.Message{{Body: []byte("one")}, {Body: []byte("bad")}, {Type: queue.TypeLost}, {Body: []byte("two")}} {
			if err := e.Append(t.Context(), "orders", 0, queue.Batch{Messages: []queue.Message{m}}); err != nil {
				t.Fatal(err)
			}
		}
		d.await(t, "lost", "one", "lost", "lost", "two")
	})
}

// Two processes, as far as SQLite can tell.
func TestSubscriberOnSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	var engines [2]*sqlite.Engine
	for i := range engines {
		e, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		engines[i] = e
	}
	want := []string{"lost"}
	declare(t, engines[0], orders(1))
	publish(t, engines[0], 0, 1, 2)
	own, _ := subscribe(t, engines[0], orders(1))
	other, _ := subscribe(t, engines[1], orders(1))
	for i := range 5 {
		want = append(want, publish(t, engines[0], 0, 10*i+3, 10*i+5)...)
		own.await(t, want...)
		other.await(t, want...)
	}
}

func TestNewSubscriberNamesTheField(t *testing.T) {
	good := queue.SubscriberConfig{
		Topic: orders(1), Engine: memory.New(), Handle: func(queue.Message) {}, Lost: func() {},
	}
	for field, spoil := range map[string]func(*queue.SubscriberConfig){
		"Engine":     func(c *queue.SubscriberConfig) { c.Engine = nil },
		"Handle":     func(c *queue.SubscriberConfig) { c.Handle = nil },
		"Lost":       func(c *queue.SubscriberConfig) { c.Lost = nil },
		"Name":       func(c *queue.SubscriberConfig) { c.Topic.Name = "" },
		"Partitions": func(c *queue.SubscriberConfig) { c.Topic.Partitions = -1 },
		"Poll":       func(c *queue.SubscriberConfig) { c.Poll = -1 },
		"MaxBatch":   func(c *queue.SubscriberConfig) { c.MaxBatch = -1 },
		"Durability": func(c *queue.SubscriberConfig) { c.Topic.Durability = queue.DurablePower },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := queue.NewSubscriber(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("NewSubscriber with a wrong %s: %v, want an error that names it", field, err)
		}
	}
	cfg := good
	cfg.Topic.Durability = queue.DurablePower
	if _, err := queue.NewSubscriber(cfg); !errors.Is(err, queue.ErrUnsupported) {
		t.Errorf("NewSubscriber on an engine that keeps nothing: %v, want ErrUnsupported", err)
	}
}
