package queuetest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/queuetest"
)

// report keeps a failure to itself.
type report struct {
	*testing.T
	failure string
}

func (*report) Logf(string, ...any) {}

func (r *report) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// play runs models of an engine beside the memory engine until one fails, and returns
// how it failed.
func play(t *testing.T, open queuetest.Open) string {
	t.Helper()
	for seed := range uint64(50) {
		r := &report{T: t}
		random := rand.New(rand.NewPCG(seed, 0))
		done := make(chan struct{})
		go func() { // Which a failure ends.
			defer close(done)
			m := queuetest.NewLogModel(r, open, memory.New(), func(_ string, n int) int { return random.IntN(n) })
			for range 100 {
				m.Step()
			}
		}()
		if <-done; r.failure != "" {
			return r.failure
		}
	}
	return ""
}

func TestAModelBelievesTheReference(t *testing.T) {
	for name, open := range map[string]queuetest.Open{
		"all of it":      func() (queue.LogEngine, error) { return memory.New(), nil },
		"a log, no more": func() (queue.LogEngine, error) { return struct{ queue.LogEngine }{memory.New()}, nil },
	} {
		if failure := play(t, open); failure != "" {
			t.Errorf("%s: %s", name, failure)
		}
	}
}

func TestAModelFindsEveryLie(t *testing.T) {
	for _, lie := range []string{
		"another ID", "everything is in order", "never full", "an entry less", "the wrong message", "nothing is lost",
		"no trim", "a byte more", "one behind", "nobody else commits", "nobody else swaps", "durable",
	} {
		failure := play(t, func() (queue.LogEngine, error) { return &liar{memory.New(), lie}, nil })
		if failure == "" {
			t.Errorf("%s: believed", lie)
		}
		t.Logf("%s: %s", lie, failure)
	}
}

// liar is an engine with one fault.
type liar struct {
	*memory.Engine
	lie string
}

func (l *liar) Caps() queue.Caps {
	c := l.Engine.Caps()
	if l.lie == "durable" {
		c.Durability = queue.DurableKill
	}
	return c
}

func (l *liar) Declare(ctx context.Context, c queue.TopicConfig) (queue.TopicID, error) {
	id, err := l.Engine.Declare(ctx, c)
	if l.lie == "another ID" && err == nil {
		id = queue.NewTopicID()
	}
	return id, err
}

func (l *liar) Append(ctx context.Context, topic string, partition int, b queue.Batch) error {
	err := l.Engine.Append(ctx, topic, partition, b)
	_, isSequence := errors.AsType[*queue.SequenceError](err)
	if l.lie == "everything is in order" && isSequence || l.lie == "never full" && errors.Is(err, queue.ErrFull) {
		return nil
	}
	return err
}

func (l *liar) Read(ctx context.Context, topic string, partition int, from queue.Position, max int) ([]queue.Entry, error) {
	entries, err := l.Engine.Read(ctx, topic, partition, from, max)
	switch n := len(entries); {
	case l.lie == "an entry less" && n > 1:
		return entries[:n-1], nil
	case l.lie == "the wrong message" && n > 1:
		entries[1].Messages[0].Body = nil
	case l.lie == "nothing is lost" && errors.Is(err, queue.ErrPositionLost):
		return nil, nil
	}
	return entries, err
}

func (l *liar) Trim(ctx context.Context, topic string, partition int, before queue.Position) error {
	if l.lie == "no trim" {
		before = queue.Position{}
	}
	return l.Engine.Trim(ctx, topic, partition, before)
}

func (l *liar) Stats(ctx context.Context, topic string) (queue.TopicStats, error) {
	stats, err := l.Engine.Stats(ctx, topic)
	if l.lie == "a byte more" && stats.Bytes > 0 {
		stats.Bytes++
	}
	return stats, err
}

func (l *liar) Backlog(ctx context.Context, topic string, partition int, from queue.Position) (queue.Lag, error) {
	lag, err := l.Engine.Backlog(ctx, topic, partition, from)
	if l.lie == "one behind" && lag.Messages > 0 {
		lag.Messages--
	}
	return lag, err
}

func (l *liar) Commit(ctx context.Context, group string, topic queue.TopicID, partition int, from, to queue.Position) error {
	err := l.Engine.Commit(ctx, group, topic, partition, from, to)
	if l.lie == "nobody else commits" {
		return nil
	}
	return err
}

func (l *liar) Swap(ctx context.Context, group, topic string, version int64, roster []byte) error {
	err := l.Engine.Swap(ctx, group, topic, version, roster)
	if l.lie == "nobody else swaps" {
		return nil
	}
	return err
}
