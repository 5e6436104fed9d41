package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"snip/queue"
)

const (
	watermillRead    = 1000    // Rows that are asked for at a time. Its default, 100, is slower, more are no faster.
	watermillBacklog = 100_000 // Messages that are there to be consumed: with more it gets slower.
)

// watermillQueue is a topic of Watermill's SQL publisher and subscriber with its queue
// schema: a row per message, locked while it is worked on, deleted once acknowledged.
// It has the client that Snip has, bodies as bytes, and no deadline to watch for each
// message.
type watermillQueue struct {
	pool    *pgxpool.Pool
	topic   string
	schema  sql.PostgreSQLQueueSchema
	offsets sql.PostgreSQLQueueOffsetsAdapter
}

func newWatermillQueue(pool *pgxpool.Pool, topic string) *watermillQueue {
	return &watermillQueue{
		pool: pool, topic: topic,
		schema: sql.PostgreSQLQueueSchema{
			GeneratePayloadType: func(string) string { return "BYTEA" },
			SubscribeBatchSize:  watermillRead,
		},
		offsets: sql.PostgreSQLQueueOffsetsAdapter{DeleteOnAck: true},
	}
}

// publish publishes the same batch again and again. To make the messages is not
// measured, neither here nor of Snip.
func (q *watermillQueue) publish(messages []queue.Message) func(ctx context.Context, length time.Duration) (float64, error) {
	return func(ctx context.Context, length time.Duration) (float64, error) {
		publisher, err := q.publisher()
		if err != nil {
			return 0, err
		}
		batch := envelopes(ctx, messages)
		published, began := 0, time.Now()
		for time.Since(began) < length {
			if err := publisher.Publish(q.topic, batch...); err != nil {
				return 0, err
			}
			published += len(batch)
		}
		return float64(published) / time.Since(began).Seconds(), publisher.Close()
	}
}

func (q *watermillQueue) publisher() (*sql.Publisher, error) {
	return sql.NewPublisher(sql.BeginnerFromPgx(q.pool), sql.PublisherConfig{SchemaAdapter: q.schema, AutoInitializeSchema: true}, nil)
}

func envelopes(ctx context.Context, messages []queue.Message) []*message.Message {
	var all []*message.Message
	for _, m := range messages {
		all = append(all, message.NewMessageWithContext(ctx, watermill.NewUUID(), m.Body))
	}
	return all
}

// consume works through one backlog after the other. To publish them is not measured.
func (q *watermillQueue) consume(ctx context.Context, length time.Duration) (float64, error) {
	messages := randomMessages(watermillRead)
	consumed, took := 0, time.Duration(0)
	for took < length {
		if err := q.fill(ctx, messages); err != nil {
			return 0, err
		}
		began := time.Now()
		n, err := q.consumeOnce(ctx, messages)
		if err != nil {
			return 0, err
		}
		took += time.Since(began)
		consumed += n
		if err := q.empty(ctx); err != nil {
			return 0, err
		}
	}
	return float64(consumed) / took.Seconds(), nil
}

func (q *watermillQueue) fill(ctx context.Context, messages []queue.Message) error {
	table := q.schema.MessagesTable(q.topic)
	if _, err := q.pool.Exec(ctx, "TRUNCATE "+table); err != nil {
		return err
	}
	publisher, err := q.publisher()
	if err != nil {
		return err
	}
	batch := envelopes(ctx, messages)
	for range watermillBacklog / len(batch) {
		if err := publisher.Publish(q.topic, batch...); err != nil {
			return err
		}
	}
	_, err = q.pool.Exec(ctx, "VACUUM ANALYZE "+table)
	return errors.Join(err, publisher.Close())
}

func (q *watermillQueue) consumeOnce(ctx context.Context, messages []queue.Message) (int, error) {
	ctx, stop := context.WithTimeout(ctx, passLimit)
	defer stop()
	subscriber, err := sql.NewSubscriber(sql.BeginnerFromPgx(q.pool), sql.SubscriberConfig{
		SchemaAdapter: q.schema, OffsetsAdapter: q.offsets, AckDeadline: new(time.Duration),
	}, nil)
	if err != nil {
		return 0, err
	}
	arriving, err := subscriber.Subscribe(ctx, q.topic)
	if err != nil {
		return 0, err
	}
	got := newTally(messages, watermillBacklog)
	for m := range arriving {
		last := got.take(m.Payload)
		m.Ack()
		if last {
			break
		}
	}
	// It ends when what was acknowledged is stored.
	return got.total, errors.Join(subscriber.Close(), got.check())
}

func (q *watermillQueue) empty(ctx context.Context) error {
	var left int
	err := q.pool.QueryRow(ctx, "SELECT count(*) FROM "+q.schema.MessagesTable(q.topic)).Scan(&left)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d messages are left that were acknowledged", left)
	}
	return err
}
