package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"snip/internal/postgrestest"
	"snip/queue"
	"snip/queue/engine/postgres"
)

const (
	appenders = 4
	appends   = 60 // Of each process.
)

// TestMain makes this program one of the appenders of TestProcesses.
func TestMain(m *testing.M) {
	url := os.Getenv("POSTGRES_TEST_URL")
	if url == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := appendNumbers(context.Background(), url, os.Getenv("POSTGRES_TEST_KEY")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func appendNumbers(ctx context.Context, url, key string) error {
	e, err := postgres.Open(ctx, postgres.Config{URL: url})
	if err != nil {
		return err
	}
	if _, err := e.Declare(ctx, queue.TopicConfig{Name: "orders"}); err != nil {
		return err
	}
	segment := queue.NewSegmentID()
	for n := range appends {
		b := queue.Batch{Segment: segment, First: uint64(n), Messages: []queue.Message{{Key: key, Body: []byte(strconv.Itoa(n))}}}
		if err := e.Append(ctx, "orders", 0, b); err != nil {
			return fmt.Errorf("append %d: %w", n, err)
		}
	}
	return e.Close()
}

// TestProcesses starts processes that make the tables together and append, and reads
// what they append without polling.
func TestProcesses(t *testing.T) {
	url := postgrestest.Start(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for key := range appenders {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), "POSTGRES_TEST_URL="+url, "POSTGRES_TEST_KEY="+strconv.Itoa(key))
		cmd.Stderr = new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	e := open(t, postgres.Config{URL: url})
	mustDeclare(t, e, 1)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var at queue.Position
	var seen, offset uint64
	next := map[string]int{}
	for offset < appenders*appends {
		entries, err := e.Read(ctx, "orders", 0, at, 10)
		if err != nil {
			t.Errorf("after %d messages: Read() = %v", offset, err)
			break
		}
		for _, entry := range entries {
			m := entry.Messages[0]
			if entry.Offset != offset || string(m.Body) != strconv.Itoa(next[m.Key]) {
				t.Fatalf("offset %d, message %s of process %s, want offset %d, message %d", entry.Offset, m.Body, m.Key, offset, next[m.Key])
			}
			next[m.Key]++
			offset++
			at = entry.Next
		}
		if len(entries) > 0 {
			continue
		}
		if seen, err = e.Wait(ctx, "orders", seen); err != nil {
			t.Errorf("after %d messages: Wait() = %v", offset, err)
			break
		}
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process: %v: %s", err, cmd.Stderr)
		}
	}
}
