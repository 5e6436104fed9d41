package store

import (
	"context"
	"strconv"
	"time"

	"snip/event"
	"snip/queue"
	"snip/queue/outbox"
)

// LinksTopic describes the topic that is told of every link that is made, changed or
// deleted. Whoever sends to it or reads it declares the same one.
func LinksTopic() queue.TopicConfig {
	return queue.TopicConfig{
		Name: event.Links, Partitions: 1, MaxBytes: 1 << 30,
		Durability: queue.DurablePower, Sequences: true,
	}
}

// Outbox holds what is to be sent to topic "links". It is woken for each change.
func (s *Store) Outbox() *outbox.Outbox { return s.outbox }

func newOutbox(rows int64) (*outbox.Outbox, error) {
	topic := LinksTopic()
	return outbox.New(outbox.Config{Topic: topic.Name, Partitions: topic.Partitions, MaxRows: rows})
}

// change is a write that tells what it does.
func (s *Store) change(ctx context.Context, fn func(context.Context, session) error) error {
	err := s.write(ctx, fn)
	if err == nil {
		s.outbox.Wake()
		s.audits.Wake()
	}
	return err
}

// tell writes to the outbox, in the transaction of a change. Whoever calls it has locked
// the link before, so that changes of one link are told in their order.
func (s *Store) tell(ctx context.Context, tx session, at time.Time, c event.LinkChange) error {
	body, err := c.Encode()
	if err != nil {
		return err
	}
	return s.outbox.Write(ctx, tx.later(), queue.Message{
		Key: strconv.FormatInt(c.Link, 10), Type: event.LinkType, Time: at, Body: body,
	})
}
