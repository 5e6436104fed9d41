package snip_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const smallTasks = `package main

import (
	"context"
	"fmt"

	"snip/queue"
	"snip/queue/engine/memory"
)

func main() {
	ctx, engine, mail := context.Background(), memory.New(), queue.QueueConfig{Name: "mail"}
	letters, _ := queue.NewProducer[string](queue.ProducerConfig{Engine: engine, Queue: mail, Type: "letter"})
	letters.Push(ctx, "dear Ada")
	worker, _ := queue.NewWorker(queue.WorkerConfig{Engine: engine, Queues: []queue.QueueConfig{mail}})
	queue.Handle(worker, "mail", "letter", func(_ context.Context, letter string) error {
		fmt.Println("sent:", letter)
		return nil
	}, queue.HandlerConfig{})
	worker.RunUntilEmpty(ctx)
}
`

const smallLog = `package main

import (
	"context"
	"fmt"

	"snip/queue"
	"snip/queue/engine/memory"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	engine, topic := memory.New(), queue.TopicConfig{Name: "orders"}
	engine.Declare(ctx, topic)
	engine.Append(ctx, "orders", 0, queue.Batch{Messages: []queue.Message{{Type: "paid", Body: []byte("order 17")}}})
	group, _ := queue.NewGroup(queue.GroupConfig{Name: "receipts", Topic: topic, Engine: engine, Store: engine,
		Handle: func(_ context.Context, d queue.Delivery) error {
			defer stop()
			fmt.Printf("%s: %s\n", d.Entries[0].Messages[0].Type, d.Entries[0].Messages[0].Body)
			return nil
		}})
	group.Run(ctx)
}
`

// TestSmallProgramBuildsOneEngine is the promise to whoever imports queue alone: in
// another module, a program with one engine is built from that engine, queue and
// the standard library.
func TestSmallProgramBuildsOneEngine(t *testing.T) {
	for name, program := range map[string]struct{ text, prints string }{
		"tasks": {smallTasks, "sent: dear Ada\n"},
		"log":   {smallLog, "paid: order 17\n"},
	} {
		t.Run(name, func(t *testing.T) { buildAndRun(t, program.text, program.prints) })
	}
}

func buildAndRun(t *testing.T, text, prints string) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", text)
	write("go.mod", "module example\n\ngo 1.26\n\nrequire snip v0.0.0\n\nreplace snip => "+here+"\n")

	// What this module was built from is all there is: nothing is fetched.
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "off")
	program := filepath.Join(dir, "example")
	goCommand(t, dir, "build", "-o", program, ".")
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	if err != nil || string(out) != prints {
		t.Errorf("the program printed %q, %v, want %q", out, err, prints)
	}

	var got []string
	for _, p := range goList(t, dir, "-deps", ".") {
		if !p.Standard {
			got = append(got, p.ImportPath)
		}
	}
	slices.Sort(got)
	if want := []string{"example", "snip/queue", "snip/queue/engine/memory"}; !slices.Equal(got, want) {
		t.Errorf("it is built from %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}
