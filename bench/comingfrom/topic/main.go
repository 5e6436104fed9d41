// Command topic publishes to a topic and consumes it in a group until it is interrupted.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"snip/queue"
	"snip/queue/engine/postgres"
)

// Order is what a message holds.
type Order struct {
	Number int `json:"number"`
}

var orders = queue.TopicConfig{Name: "orders"} // With one partition.

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	engine, err := postgres.Open(ctx, postgres.Config{URL: os.Getenv("DATABASE_URL")})
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := publish(ctx, engine); err != nil {
		return err
	}
	group, err := queue.NewGroup(queue.GroupConfig{
		Name: "receipts", Topic: orders, Engine: engine, Store: engine, Handle: writeReceipts,
	})
	if err != nil {
		return err
	}
	return group.Run(ctx)
}

func publish(ctx context.Context, engine queue.LogEngine) error {
	if _, err := engine.Declare(ctx, orders); err != nil {
		return err
	}
	body, err := json.Marshal(Order{Number: 17})
	if err != nil {
		return err
	}
	placed := queue.Message{Type: "order placed", Time: time.Now(), Body: body}
	return engine.Append(ctx, orders.Name, 0, queue.Batch{Messages: []queue.Message{placed}})
}

func writeReceipts(ctx context.Context, d queue.Delivery) error {
	for m := range d.Messages() {
		var o Order
		if err := json.Unmarshal(m.Body, &o); err != nil {
			return err // It comes again, after growing pauses, until it is done.
		}
		fmt.Println("receipt of order", o.Number)
	}
	return nil
}
