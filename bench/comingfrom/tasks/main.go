// Command tasks pushes a task and works on tasks until it is interrupted.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"snip/queue"
	"snip/queue/engine/sqlite"
)

// Welcome is what a task holds.
type Welcome struct {
	Address string `json:"address"`
}

func sendWelcome(ctx context.Context, w Welcome) error {
	fmt.Println("welcome,", w.Address)
	return nil // Any error is a failure: the task is tried again.
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	engine, err := sqlite.Open(ctx, sqlite.Config{Path: os.Getenv("QUEUE_FILE")})
	if err != nil {
		return err
	}
	defer engine.Close()
	mails := queue.QueueConfig{Name: "mails"}

	producer, err := queue.NewProducer[Welcome](queue.ProducerConfig{Engine: engine, Queue: mails, Type: "welcome"})
	if err != nil {
		return err
	}
	if _, err := producer.Push(ctx, Welcome{Address: "ada@example.com"}); err != nil {
		return err
	}

	worker, err := queue.NewWorker(queue.WorkerConfig{Engine: engine, Queues: []queue.QueueConfig{mails}})
	if err != nil {
		return err
	}
	if err := queue.Handle(worker, "mails", "welcome", sendWelcome, queue.HandlerConfig{Attempts: 5}); err != nil {
		return err
	}
	return worker.Run(ctx)
}
