package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"snip/queue"
)

// groupRead is how many messages a group is handed at a time, about: each delivery is a
// commit.
const groupRead = 10_000

// passLimit ends one pass over a backlog, which takes some seconds at most.
const passLimit = 2 * time.Minute

// readByGroup has one new group after the other read the topic to its end and store
// where it stands, joining and leaving included.
func (b *logBench) readByGroup(ctx context.Context, length time.Duration) (float64, error) {
	return b.repeat(length, func() (int, error) {
		b.groups++
		return b.readOnce(ctx, fmt.Sprint("readers-", b.groups))
	})
}

func (b *logBench) readOnce(ctx context.Context, name string) (int, error) {
	ctx, stop := context.WithTimeout(ctx, passLimit)
	defer stop()
	got := newTally(b.batch.Messages, int(b.batch.First))
	g, err := queue.NewGroup(queue.GroupConfig{
		Name: name, Topic: b.config(), Engine: b.engine, Store: b.engine, MaxBatch: groupRead,
		Handle: func(_ context.Context, d queue.Delivery) error {
			for m := range d.Messages() {
				if got.take(m.Body) {
					stop() // What is in flight is finished, and its position stored.
				}
			}
			return nil
		},
	})
	if err != nil {
		return 0, err
	}
	if err := g.Run(ctx); err != nil {
		return 0, err
	}
	if err := got.check(); err != nil {
		return 0, err
	}
	ctx = context.WithoutCancel(ctx)
	stats, err := b.engine.Stats(ctx, b.topic)
	if err != nil {
		return 0, err
	}
	at, err := b.engine.Position(ctx, name, stats.ID, 0)
	if err == nil && at != stats.Partitions[0].End {
		err = fmt.Errorf("the group stored %q, the topic ends at %q", at, stats.Partitions[0].End)
	}
	return got.total, err
}

// tally tells whether a backlog arrives that consists of the same messages again and
// again, in order.
type tally struct {
	messages []queue.Message
	want     int
	total    int
	strange  int // Of those that arrived: with another body than that which was due.
}

func newTally(messages []queue.Message, want int) *tally {
	return &tally{messages: messages, want: want}
}

// take notes a message, and reports whether it was the last.
func (t *tally) take(body []byte) bool {
	if !bytes.Equal(body, t.messages[t.total%len(t.messages)].Body) {
		t.strange++
	}
	t.total++
	return t.total == t.want
}

func (t *tally) check() error {
	if t.total != t.want || t.strange > 0 {
		return fmt.Errorf("%d messages arrived, %d of them were not due; there are %d", t.total, t.strange, t.want)
	}
	return nil
}
