// Command asynq does with Asynq what ../tasks does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/hibiken/asynq"
)

// Welcome is what a task holds.
type Welcome struct {
	Address string `json:"address"`
}

func sendWelcome(ctx context.Context, t *asynq.Task) error {
	var w Welcome
	if err := json.Unmarshal(t.Payload(), &w); err != nil {
		return err
	}
	fmt.Println("welcome,", w.Address)
	return nil // Any error is a failure: the task is tried again.
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	redis, err := asynq.ParseRedisURI(os.Getenv("REDIS_URL"))
	if err != nil {
		return err
	}
	client := asynq.NewClient(redis)
	defer client.Close()
	payload, err := json.Marshal(Welcome{Address: "ada@example.com"})
	if err != nil {
		return err
	}
	task := asynq.NewTask("welcome", payload)
	if _, err := client.Enqueue(task, asynq.Queue("mails"), asynq.MaxRetry(4)); err != nil {
		return err
	}

	server := asynq.NewServer(redis, asynq.Config{Concurrency: 10, Queues: map[string]int{"mails": 1}})
	mux := asynq.NewServeMux()
	mux.HandleFunc("welcome", sendWelcome)
	return server.Run(mux) // It waits for signals by itself.
}
