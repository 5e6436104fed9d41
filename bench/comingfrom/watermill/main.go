// Command watermill does with Watermill what ../topic does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Order is what a message holds.
type Order struct {
	Number int `json:"number"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	logger := watermill.NopLogger{}
	if err := publish(sql.BeginnerFromPgx(pool), logger); err != nil {
		return err
	}
	subscriber, err := sql.NewSubscriber(sql.BeginnerFromPgx(pool), sql.SubscriberConfig{
		ConsumerGroup:    "receipts",
		SchemaAdapter:    sql.DefaultPostgreSQLSchema{},
		OffsetsAdapter:   sql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true,
	}, logger)
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, logger)
	if err != nil {
		return err
	}
	router.AddMiddleware(middleware.Recoverer, middleware.Retry{
		MaxRetries: 4, InitialInterval: time.Second, Multiplier: 2,
	}.Middleware)
	router.AddConsumerHandler("receipts", "orders", subscriber, writeReceipt)
	return router.Run(ctx)
}

func publish(db sql.Beginner, logger watermill.LoggerAdapter) error {
	publisher, err := sql.NewPublisher(db, sql.PublisherConfig{
		SchemaAdapter: sql.DefaultPostgreSQLSchema{}, AutoInitializeSchema: true,
	}, logger)
	if err != nil {
		return err
	}
	body, err := json.Marshal(Order{Number: 17})
	if err != nil {
		return err
	}
	if err := publisher.Publish("orders", message.NewMessage(watermill.NewUUID(), body)); err != nil {
		return err
	}
	return publisher.Close()
}

func writeReceipt(m *message.Message) error {
	var o Order
	if err := json.Unmarshal(m.Payload, &o); err != nil {
		return err // It comes again.
	}
	fmt.Println("receipt of order", o.Number)
	return nil
}
