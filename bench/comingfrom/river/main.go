// Command river does with River what ../tasks does.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Welcome is what a job holds.
type Welcome struct {
	Address string `json:"address"`
}

func (Welcome) Kind() string { return "welcome" }

type WelcomeWorker struct {
	river.WorkerDefaults[Welcome]
}

func (*WelcomeWorker) Work(ctx context.Context, job *river.Job[Welcome]) error {
	fmt.Println("welcome,", job.Args.Address)
	return nil // Any error is a failure: the job is tried again.
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
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}

	workers := river.NewWorkers()
	river.AddWorker(workers, &WelcomeWorker{})
	client, err := river.NewClient(driver, &river.Config{
		Queues:          map[string]river.QueueConfig{"mails": {MaxWorkers: 10}},
		Workers:         workers,
		SoftStopTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	opts := &river.InsertOpts{Queue: "mails", MaxAttempts: 5}
	if _, err := client.Insert(ctx, Welcome{Address: "ada@example.com"}, opts); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	<-client.Stopped()
	return nil
}
