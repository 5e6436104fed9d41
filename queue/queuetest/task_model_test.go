package queuetest_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/queuetest"
)

// playTasks runs models of a task engine beside the memory engine until one fails, and
// returns how it failed.
func playTasks(t *testing.T, open func() (queue.TaskEngine, error)) (failure string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(60) {
			r := &report{T: t}
			random := rand.New(rand.NewPCG(seed, 0))
			done := make(chan struct{})
			go func() { // Which a failure ends.
				defer close(done)
				choose := func(_ string, n int) int { return random.IntN(n) }
				m := queuetest.NewTaskModel(r, queuetest.TaskStore{Open: open}, memory.New(), choose)
				for range 150 {
					m.Step()
					time.Sleep(time.Microsecond) // What comes later is later.
				}
			}()
			if <-done; r.failure != "" {
				failure = r.failure
				return
			}
		}
	})
	return failure
}

func TestATaskModelBelievesTheReference(t *testing.T) {
	for name, open := range map[string]func() (queue.TaskEngine, error){
		"all of it":        func() (queue.TaskEngine, error) { return memory.New(), nil },
		"a queue, no more": func() (queue.TaskEngine, error) { return struct{ queue.TaskEngine }{memory.New()}, nil },
	} {
		if failure := playTasks(t, open); failure != "" {
			t.Errorf("%s: %s", name, failure)
		}
	}
}

func TestATaskModelFindsEveryLie(t *testing.T) {
	for _, lie := range []string{
		"never full", "takes an ID twice", "another order", "a task less", "nobody is alone", "never lost", "a failure more",
		"a stale lease holds", "forgets progress", "buries twice", "keeps what is cancelled", "replaces what is leased",
		"never paused", "redrives less", "a task more", "durable",
	} {
		failure := playTasks(t, func() (queue.TaskEngine, error) { return &taskLiar{memory.New(), lie}, nil })
		if failure == "" {
			t.Errorf("%s: believed", lie)
		}
		t.Logf("%s: %s", lie, failure)
	}
}

// taskLiar is a task engine with one fault.
type taskLiar struct {
	*memory.Engine
	lie string
}

func (l *taskLiar) Caps() queue.Caps {
	c := l.Engine.Caps()
	if l.lie == "durable" {
		c.Durability = queue.DurableKill
	}
	return c
}

func (l *taskLiar) DeclareQueue(ctx context.Context, c queue.QueueConfig) error {
	if l.lie == "never full" {
		c.MaxTasks = 0
	}
	return l.Engine.DeclareQueue(ctx, c)
}

func (l *taskLiar) Push(ctx context.Context, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	results, err := l.Engine.Push(ctx, name, tasks)
	if l.lie == "takes an ID twice" && len(results) > 0 {
		results[len(results)-1].Pushed = true
	}
	return results, err
}

func (l *taskLiar) Pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	if l.lie == "nobody is alone" {
		p.AloneFrom = 0
	}
	pulled, err := l.Engine.Pull(ctx, name, p)
	if n := len(pulled.Tasks); n > 1 {
		switch l.lie {
		case "another order":
			pulled.Tasks[0], pulled.Tasks[1] = pulled.Tasks[1], pulled.Tasks[0]
		case "a task less":
			pulled.Tasks = pulled.Tasks[:n-1]
		}
	}
	for i := range pulled.Tasks {
		switch l.lie {
		case "never lost":
			pulled.Tasks[i].Lost = 0
		case "a failure more":
			pulled.Tasks[i].Failed++
		case "forgets progress":
			pulled.Tasks[i].Progress = nil
		}
	}
	return pulled, err
}

func (l *taskLiar) Settle(ctx context.Context, name string, verdicts []queue.Verdict) ([]error, error) {
	results, err := l.Engine.Settle(ctx, name, verdicts)
	for i, v := range verdicts {
		switch {
		case l.lie == "a stale lease holds" && err == nil:
			results[i] = nil
		case l.lie == "buries twice" && v.Kind == queue.Bury && err == nil && results[i] == nil:
			_, _ = l.Engine.Push(ctx, name, []queue.Task{{Message: queue.Message{Type: "send"}}})
		}
	}
	return results, err
}

func (l *taskLiar) Cancel(ctx context.Context, name, id string) error {
	if l.lie == "keeps what is cancelled" {
		_, err := l.Get(ctx, name, id)
		return err
	}
	return l.Engine.Cancel(ctx, name, id)
}

func (l *taskLiar) Replace(ctx context.Context, name string, t queue.Task) error {
	err := l.Engine.Replace(ctx, name, t)
	if l.lie == "replaces what is leased" {
		return nil
	}
	return err
}

func (l *taskLiar) Pause(ctx context.Context, name string) error {
	if l.lie == "never paused" {
		return nil
	}
	return l.Engine.Pause(ctx, name)
}

func (l *taskLiar) Redrive(ctx context.Context, name string, numbers []int64, limit int) (int, error) {
	if l.lie == "redrives less" {
		limit = min(limit, 1)
	}
	return l.Engine.Redrive(ctx, name, numbers, limit)
}

func (l *taskLiar) QueueStats(ctx context.Context, name string) (queue.QueueStats, error) {
	stats, err := l.Engine.QueueStats(ctx, name)
	if l.lie == "a task more" && stats.Ready > 0 {
		stats.Ready++
	}
	return stats, err
}
