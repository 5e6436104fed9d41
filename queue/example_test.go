package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"snip/queue"
	"snip/queue/engine/memory"
)

type receipt struct {
	Order int
	To    string
}

var receipts = queue.QueueConfig{Name: "receipts"}

// newReceipts makes a producer of receipts.
func newReceipts(e queue.TaskEngine, q queue.QueueConfig) *queue.Producer[receipt] {
	p, err := queue.NewProducer[receipt](queue.ProducerConfig{Engine: e, Queue: q, Type: "receipt"})
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// workOff works until no receipt is left to be handled.
func workOff(e queue.TaskEngine, cfg queue.HandlerConfig, handle func(ctx context.Context, r receipt) error) {
	w, err := queue.NewWorker(queue.WorkerConfig{Engine: e, Queues: []queue.QueueConfig{receipts}, Concurrency: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := queue.Handle(w, "receipts", "receipt", handle, cfg); err != nil {
		log.Fatal(err)
	}
	if err := w.RunUntilEmpty(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func send(_ context.Context, r receipt) error {
	fmt.Printf("receipt of order %d to %s\n", r.Order, r.To)
	return nil
}

// A producer pushes, a worker handles.
func Example() {
	ctx := context.Background()
	engine := memory.New()
	p := newReceipts(engine, receipts)
	if _, err := p.Push(ctx, receipt{17, "ada@example.com"}); err != nil {
		log.Fatal(err)
	}
	workOff(engine, queue.HandlerConfig{}, send)
	// Output: receipt of order 17 to ada@example.com
}

// A task whose ID is there, or was done a short while ago, is not pushed again.
func ExampleProducer_PushTasks_twice() {
	ctx := context.Background()
	engine := memory.New()
	p := newReceipts(engine, receipts)
	for range 2 {
		task, err := p.Task(receipt{17, "ada@example.com"}, queue.Task{Message: queue.Message{ID: "receipt-17"}})
		if err != nil {
			log.Fatal(err)
		}
		results, err := p.PushTasks(ctx, task)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(results[0].ID, results[0].Pushed)
	}
	workOff(engine, queue.HandlerConfig{}, send)
	// Output:
	// receipt-17 true
	// receipt-17 false
	// receipt of order 17 to ada@example.com
}

// A task can be due later, and not be worth doing after a while.
func ExampleProducer_PushTasks_later() {
	ctx := context.Background()
	engine := memory.New()
	p := newReceipts(engine, receipts)
	task, err := p.Task(receipt{17, "ada@example.com"}, queue.Task{Delay: time.Hour, Deadline: time.Now().Add(24 * time.Hour)})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := p.PushTasks(ctx, task); err != nil {
		log.Fatal(err)
	}
	stats, err := engine.QueueStats(ctx, "receipts")
	fmt.Println(stats.Ready, "ready,", stats.Delayed, "delayed", err)
	// Output: 0 ready, 1 delayed <nil>
}

// A failure is tried again, with growing pauses, until its attempts are used up. What
// cannot be mended by trying is given up at once.
func ExampleGiveUp() {
	ctx := context.Background()
	engine := memory.New()
	p := newReceipts(engine, receipts)
	for _, to := range []string{"ada@example.com", "nobody"} {
		if _, err := p.Push(ctx, receipt{17, to}); err != nil {
			log.Fatal(err)
		}
	}
	first := true
	workOff(engine, queue.HandlerConfig{Backoff: func(int) time.Duration { return 0 }}, func(ctx context.Context, r receipt) error {
		if r.To == "nobody" {
			return queue.GiveUp(errors.New("no such address"))
		}
		if first {
			first = false
			return errors.New("the mail server is busy")
		}
		return send(ctx, r)
	})
	dead, err := engine.ListDead(ctx, "receipts", 0, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range dead {
		fmt.Printf("dead: %s, %s: %s\n", l.Body, l.Reason, l.Error)
	}
	// Output:
	// receipt of order 17 to ada@example.com
	// dead: {"Order":17,"To":"nobody"}, failed: no such address
}

// Dead letters are put back once what killed them is mended.
func ExampleRedriveAll() {
	ctx := context.Background()
	engine := memory.New()
	p := newReceipts(engine, receipts)
	if _, err := p.Push(ctx, receipt{17, "ada@example.com"}); err != nil {
		log.Fatal(err)
	}
	workOff(engine, queue.HandlerConfig{Attempts: 1}, func(context.Context, receipt) error { return errors.New("the mail server is gone") })

	n, err := queue.RedriveAll(ctx, engine, "receipts", 100)
	fmt.Println(n, "redriven", err)
	workOff(engine, queue.HandlerConfig{}, send)
	// Output:
	// 1 redriven <nil>
	// receipt of order 17 to ada@example.com
}

// A full queue says what it does with more.
func ExampleQueueConfig() {
	ctx := context.Background()
	for _, overflow := range []queue.Overflow{queue.Reject, queue.DropOldest, queue.DropNewest} {
		p := newReceipts(memory.New(), queue.QueueConfig{Name: "receipts", MaxTasks: 1, Overflow: overflow})
		if _, err := p.Push(ctx, receipt{17, "ada@example.com"}); err != nil {
			log.Fatal(err)
		}
		result, err := p.Push(ctx, receipt{18, "bob@example.com"})
		fmt.Printf("%s: pushed %t, dropped %t, %v\n", overflow, result.Pushed, result.Dropped, err)
	}
	// Output:
	// reject: pushed false, dropped false, push to queue "receipts": queue "receipts" is full, retry after 1s
	// drop oldest: pushed true, dropped false, <nil>
	// drop newest: pushed false, dropped true, <nil>
}

// Middleware sees every task of a worker.
func ExampleMiddleware() {
	ctx := context.Background()
	engine := memory.New()
	if _, err := newReceipts(engine, receipts).Push(ctx, receipt{17, "ada@example.com"}); err != nil {
		log.Fatal(err)
	}
	trace := func(next queue.TaskHandler) queue.TaskHandler {
		return func(ctx context.Context, t *queue.RunningTask) error {
			err := next(ctx, t)
			fmt.Printf("%s in queue %s, after %d failures: %v\n", t.Type, t.Queue, t.Failed, err)
			return err
		}
	}
	w, err := queue.NewWorker(queue.WorkerConfig{Engine: engine, Queues: []queue.QueueConfig{receipts}, Middleware: []queue.Middleware{trace}})
	if err != nil {
		log.Fatal(err)
	}
	if err := queue.Handle(w, "receipts", "receipt", send, queue.HandlerConfig{}); err != nil {
		log.Fatal(err)
	}
	if err := w.RunUntilEmpty(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// receipt of order 17 to ada@example.com
	// receipt in queue receipts, after 0 failures: <nil>
}

// A task that is kept when it is done can be asked for its result.
func ExampleRunningTask_SetResult() {
	ctx := context.Background()
	engine := memory.New()
	kept := queue.QueueConfig{Name: "receipts", KeepDone: time.Hour}
	p := newReceipts(engine, kept)
	pushed, err := p.Push(ctx, receipt{17, "ada@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	w, err := queue.NewWorker(queue.WorkerConfig{Engine: engine, Queues: []queue.QueueConfig{kept}})
	if err != nil {
		log.Fatal(err)
	}
	err = queue.Handle(w, "receipts", "receipt", func(ctx context.Context, r receipt) error {
		return queue.TaskFrom(ctx).SetResult([]byte("sent"))
	}, queue.HandlerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.RunUntilEmpty(ctx); err != nil {
		log.Fatal(err)
	}
	info, err := engine.Get(ctx, "receipts", pushed.ID)
	fmt.Printf("%s: %s %v\n", info.State, info.Result, err)
	// Output: done: sent <nil>
}

// A task that waits can be cancelled.
func ExampleControls() {
	ctx := context.Background()
	engine := memory.New()
	pushed, err := newReceipts(engine, receipts).Push(ctx, receipt{17, "ada@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	var controls queue.Controls = engine
	fmt.Println(controls.Cancel(ctx, "receipts", pushed.ID))
	_, err = controls.Get(ctx, "receipts", pushed.ID)
	fmt.Println(errors.Is(err, queue.ErrNotFound))
	// Output:
	// <nil>
	// true
}
