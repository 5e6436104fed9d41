package queuetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"snip/queue"
)

// OpenStore opens an engine on the store of a name, such as a path or a URL, by which
// several processes can find it.
type OpenStore func(ctx context.Context, store string) (queue.LogEngine, error)

const (
	appenders = 4
	appends   = 60 // Of each process.

	// By these a process learns that it is an appender.
	storeVariable    = "QUEUETEST_LOG_STORE"
	appenderVariable = "QUEUETEST_LOG_APPENDER"
)

// LogProcesses starts processes that make one store together and append to it, and
// reads all they append, in the order of each. They are copies of the test binary, so
// its TestMain must call [LogAppender] first:
//
//	func TestMain(m *testing.M) {
//		queuetest.LogAppender(openStore)
//		os.Exit(m.Run())
//	}
//
//	func TestProcesses(t *testing.T) {
//		queuetest.LogProcesses(t, filepath.Join(t.TempDir(), "log.db"), openStore)
//	}
func LogProcesses(t *testing.T, store string, open OpenStore) {
	t.Helper()
	if os.Getenv(storeVariable) != "" {
		t.Fatal("TestMain does not call LogAppender first")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for i := range appenders {
		all.Go(func() {
			if err := runCopy(ctx, storeVariable+"="+store, appenderVariable+"="+strconv.Itoa(i)); err != nil {
				t.Errorf("process %d: %v", i, err)
				cancel() // What it did not append will never come.
			}
		})
	}
	s := &suite{T: t, openOne: func() (queue.LogEngine, error) { return open(ctx, store) }}
	s.engine = s.open()
	s.declare("orders", 1)
	s.readNumbers(ctx)
}

// LogAppender is what TestMain calls before anything else. In a process that
// LogProcesses started it appends and ends the process; in any other it does nothing.
func LogAppender(open OpenStore) {
	store := os.Getenv(storeVariable)
	if store == "" {
		return
	}
	if err := appendNumbers(context.Background(), store, os.Getenv(appenderVariable), open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runCopy runs the test binary with more in its environment. What it complains of is
// part of the error.
func runCopy(ctx context.Context, env ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, &complaints)
	}
	return nil
}

// appendNumbers appends messages that hold 0, 1, 2 and so on under the key.
func appendNumbers(ctx context.Context, store, key string, open OpenStore) error {
	e, err := open(ctx, store)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if _, err := e.Declare(ctx, queue.TopicConfig{Name: "orders"}); err != nil {
		return fmt.Errorf("declare: %w", err)
	}
	segment := queue.NewSegmentID()
	for n := range appends {
		b := queue.Batch{Messages: []queue.Message{{Key: key, Body: []byte(strconv.Itoa(n))}}}
		if sequences(e) {
			b.Segment, b.First = segment, uint64(n)
		}
		if err := e.Append(ctx, "orders", 0, b); err != nil {
			return fmt.Errorf("append %d: %w", n, err)
		}
	}
	if c, ok := e.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// readNumbers reads until all that the appenders append is there. Where the engine is
// a Waiter, nothing else says when to look again.
func (s *suite) readNumbers(ctx context.Context) {
	s.Helper()
	var at queue.Position
	var seen, offset uint64
	next := map[string]int{}
	for offset < appenders*appends {
		entries, err := s.engine.Read(ctx, "orders", 0, at, 10)
		if err != nil {
			s.Fatalf("after %d messages: Read() = %v", offset, err)
		}
		for _, e := range entries {
			m := e.Messages[0]
			if e.Offset != offset || string(m.Body) != strconv.Itoa(next[m.Key]) {
				s.Fatalf("offset %d, message %s of process %s, want offset %d, message %d",
					e.Offset, m.Body, m.Key, offset, next[m.Key])
			}
			next[m.Key]++
			offset++
			at = e.Next
		}
		if len(entries) > 0 {
			continue
		}
		if !waits(s.engine) {
			time.Sleep(10 * time.Millisecond) // Read tells when ctx has ended.
			continue
		}
		if seen, err = s.engine.(queue.Waiter).Wait(ctx, "orders", seen); err != nil {
			s.Fatalf("after %d messages: Wait() = %v", offset, err)
		}
	}
}
