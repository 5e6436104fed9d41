package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
)

// taskConcurrency is best where a task takes no time.
const taskConcurrency = 2000

// snipTask is what a task holds, for River too.
type snipTask struct {
	Number int `json:"number"`
}

// tasksQueue has room for whatever is measured.
var tasksQueue = queue.QueueConfig{Name: "numbers", MaxTasks: 100_000_000, MaxDead: 100_000_000}

// taskEngine is an engine that is closed.
type taskEngine interface {
	queue.TaskEngine
	io.Closer
}

func snipOnServer() taskLibrary {
	return snipOn("PostgreSQL", func(ctx context.Context, at place, s settings) (taskEngine, error) {
		return postgres.Open(ctx, postgres.Config{URL: at.withConnections(s)})
	})
}

func snipOnFiles() taskLibrary {
	return snipOn("SQLite", func(ctx context.Context, at place, _ settings) (taskEngine, error) {
		return sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(at.dir, "tasks.db")})
	})
}

func snipInMemory() taskLibrary {
	return snipOn("memory", func(context.Context, place, settings) (taskEngine, error) { return memory.New(), nil })
}

func snipOn(name string, open func(context.Context, place, settings) (taskEngine, error)) taskLibrary {
	return taskLibrary{name: "Snip, " + name, open: func(ctx context.Context, at place, s settings) (taskQueue, error) {
		e, err := open(ctx, at, s)
		if err != nil {
			return nil, err
		}
		p, err := queue.NewProducer[snipTask](queue.ProducerConfig{Engine: e, Queue: tasksQueue, Type: "number"})
		if err != nil {
			return nil, err
		}
		return &snipQueue{engine: e, producer: p, settings: s}, nil
	}}
}

// snipQueue is a queue of Snip's library.
type snipQueue struct {
	engine   taskEngine
	producer *queue.Producer[snipTask]
	settings settings
}

func (q *snipQueue) push(ctx context.Context, numbers ...int) error {
	if len(numbers) == 1 {
		_, err := q.producer.Push(ctx, snipTask{numbers[0]})
		return err
	}
	tasks := make([]queue.Task, len(numbers))
	for i, n := range numbers {
		t, err := q.producer.Task(snipTask{n}, queue.Task{})
		if err != nil {
			return err
		}
		tasks[i] = t
	}
	_, err := q.producer.PushTasks(ctx, tasks...)
	return err
}

func (q *snipQueue) pushFast(ctx context.Context, numbers ...int) error {
	return q.push(ctx, numbers...)
}

func (q *snipQueue) work(ctx context.Context, on taskEvents) error {
	cfg := queue.WorkerConfig{Engine: q.engine, Queues: []queue.QueueConfig{tasksQueue}}
	cfg.Observer.TaskEnded = func(e queue.TaskEnd) {
		if e.Outcome == queue.OutcomeDone {
			on.done()
		}
	}
	if q.settings == atBest {
		cfg.Concurrency = taskConcurrency
	}
	w, err := queue.NewWorker(cfg)
	if err != nil {
		return err
	}
	err = queue.Handle(w, tasksQueue.Name, "number", func(_ context.Context, t snipTask) error {
		on.started(t.Number)
		return nil
	}, queue.HandlerConfig{})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

func (q *snipQueue) left(ctx context.Context) (int, error) {
	s, err := q.engine.QueueStats(ctx, tasksQueue.Name)
	return int(s.Ready + s.Leased), err
}

func (q *snipQueue) close() error { return q.engine.Close() }

// withConnections is the URL with as many connections as the settings have: at best
// more than the pools of both libraries open by themselves.
func (p place) withConnections(s settings) string {
	if s == byDefault {
		return p.url
	}
	separator := "?"
	if strings.Contains(p.url, "?") {
		separator = "&"
	}
	return p.url + separator + "pool_max_conns=20"
}
