package snip_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const small = `package main

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
	write("main.go", small)
	write("go.mod", "module example\n\ngo 1.26\n\nrequire snip v0.0.0\n\nreplace snip => "+here+"\n")

	// What this module was built from is all there is: nothing is fetched.
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "off")
	program := filepath.Join(dir, "example")
	goCommand(t, dir, "build", "-o", program, ".")
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	if want := "paid: order 17\n"; err != nil || string(out) != want {
		t.Errorf("the program printed %q, %v, want %q", out, err, want)
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
