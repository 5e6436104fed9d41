package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

// newProducer makes one for a queue of two.
func newProducer(t *testing.T, o queue.Overflow, observer queue.Observer) (*memory.Engine, *queue.Producer[int]) {
	t.Helper()
	e := memory.New()
	p, err := queue.NewProducer[int](queue.ProducerConfig{
		Engine: e, Queue: queue.QueueConfig{Name: "mail", MaxTasks: 2, Overflow: o}, Type: "n", Observer: observer,
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if r, err := p.Push(t.Context(), n); err != nil || !r.Pushed {
			t.Fatalf("Push(%d) = %+v, %v", n, r, err)
		}
	}
	return e, p
}

// take takes a task out of the queue.
func take(t *testing.T, e *memory.Engine) string {
	t.Helper()
	pulled, err := e.Pull(t.Context(), "mail", queue.PullRequest{Types: []string{"n"}, Max: 1, Lease: time.Minute})
	if err != nil || len(pulled.Tasks) != 1 {
		t.Fatalf("Pull() = %+v, %v", pulled, err)
	}
	if _, err := e.Settle(t.Context(), "mail", []queue.Verdict{{Lease: pulled.Tasks[0].Lease, Kind: queue.Done}}); err != nil {
		t.Fatal(err)
	}
	return string(pulled.Tasks[0].Body)
}

func TestFullQueueRejects(t *testing.T) {
	e, p := newProducer(t, queue.Reject, queue.Observer{})
	_, err := p.Push(t.Context(), 2)
	full, ok := errors.AsType[*queue.FullError](err)
	if !ok || !errors.Is(err, queue.ErrFull) || full.RetryAfter < time.Second {
		t.Errorf("Push() = %v, want a *FullError with a time", err)
	}
	take(t, e)
	if r, err := p.Push(t.Context(), 2); err != nil || !r.Pushed {
		t.Errorf("Push() = %+v, %v", r, err)
	}
}

func TestFullQueueBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, p := newProducer(t, queue.Block, queue.Observer{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := p.Push(ctx, 2); !errors.Is(err, queue.ErrFull) {
			t.Errorf("Push() = %v, want that it is full", err)
		}
		if ctx.Err() == nil {
			t.Error("it did not wait")
		}
		go func() {
			time.Sleep(time.Minute)
			take(t, e)
		}()
		began := time.Now()
		if r, err := p.Push(t.Context(), 3); err != nil || !r.Pushed || time.Since(began) < time.Minute {
			t.Errorf("Push() = %+v, %v after %s", r, err, time.Since(began))
		}
	})
}

func TestFullQueueDrops(t *testing.T) {
	t.Run("the oldest", func(t *testing.T) {
		e, p := newProducer(t, queue.DropOldest, queue.Observer{})
		if r, err := p.Push(t.Context(), 2); err != nil || !r.Pushed {
			t.Errorf("Push() = %+v, %v", r, err)
		}
		if got := take(t, e) + take(t, e); got != "12" {
			t.Errorf("left were %s", got)
		}
		if s, err := e.QueueStats(t.Context(), "mail"); err != nil || s.Dropped != 1 {
			t.Errorf("QueueStats() = %+v, %v", s, err)
		}
	})
	t.Run("the newest", func(t *testing.T) {
		dropped := 0
		e, p := newProducer(t, queue.DropNewest, queue.Observer{TasksDropped: func(_ string, n int) { dropped += n }})
		if r, err := p.Push(t.Context(), 2); err != nil || r.Pushed || !r.Dropped {
			t.Errorf("Push() = %+v, %v", r, err)
		}
		if got := take(t, e) + take(t, e); got != "01" || dropped != 1 || p.Dropped() != 1 {
			t.Errorf("left were %s, %d and %d dropped", got, dropped, p.Dropped())
		}
	})
}

func TestProducerChecks(t *testing.T) {
	e := memory.New()
	for field, cfg := range map[string]queue.ProducerConfig{
		"Engine":       {Queue: mail, Type: "letter"},
		"Name":         {Engine: e, Type: "letter"},
		"Type":         {Engine: e, Queue: mail},
		"Transactions": {Engine: e, Queue: mail, Type: "letter", Transactions: true},
	} {
		if _, err := queue.NewProducer[string](cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("NewProducer() = %v, want an error that names %s", err, field)
		}
	}
	_, err := queue.NewProducer[string](queue.ProducerConfig{Engine: e, Queue: mail, Type: "letter", Transactions: true})
	if !errors.Is(err, queue.ErrUnsupported) || !strings.Contains(err.Error(), "sqlite and postgres") {
		t.Errorf("NewProducer() = %v", err)
	}
}

// TestBadTasks: each is refused at the push, by its field.
func TestBadTasks(t *testing.T) {
	now := time.Now()
	for want, task := range map[string]queue.Task{
		"Delay is -1s":                {Delay: -time.Second},
		"At and Delay are both set":   {Delay: time.Second, At: now.Add(time.Hour)},
		"is in the past":              {Deadline: now.Add(-time.Second)},
		"is before the task is due":   {Deadline: now.Add(time.Minute), Delay: time.Hour},
		"more than 10 years":          {At: now.AddDate(20, 0, 0)},
		"ID is 201 bytes":             {Message: queue.Message{ID: strings.Repeat("x", 201)}},
		`ID "a\x00b" must be UTF-8`:   {Message: queue.Message{ID: "a\x00b"}},
		"Body and Headers: the task ": {Message: queue.Message{Headers: map[string]string{"h": strings.Repeat("x", 17<<20)}}},
	} {
		d := newDesk(t)
		task, err := d.mail.Task("a", task)
		if err != nil {
			t.Fatal(err)
		}
		good, err := d.mail.Task("b", queue.Task{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.mail.PushTasks(t.Context(), good, task); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "task 1") {
			t.Errorf("PushTasks() = %v, want %q in it, and the number of the task", err, want)
		}
		if s := d.stats(); s.Ready+s.Delayed != 0 {
			t.Errorf("%s: something was pushed", want)
		}
	}
	p, err := queue.NewProducer[func()](queue.ProducerConfig{Engine: memory.New(), Queue: mail, Type: "letter"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Push(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "encode") {
		t.Errorf("Push() of a function = %v", err)
	}
}
