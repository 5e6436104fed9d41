package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"snip/queue"
	"snip/queue/engine/postgres"
)

const (
	logBody    = 150     // Bytes of a message, about a click's.
	logRead    = 1000    // Messages that are asked for at a time.
	logBacklog = 250_000 // Messages that are there to be consumed, for each second of a measurement,
	logBatches = 5_000   // in so many batches at most.
)

// publishAndConsume measures the log engine on a server, with one producer and one
// consumer, against Watermill, and against inserts and selects of rows that hold the
// same bytes, by the same client: what a batch costs beyond being stored. The last
// reference neither frames nor reads messages.
func publishAndConsume(ctx context.Context, b *bench) (rows []row, err error) {
	at, err := b.newPlace(ctx, true)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, at.url)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	e, err := postgres.Open(ctx, postgres.Config{URL: at.url})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	for _, size := range []int{1, 100, 1000} {
		one := &logBench{engine: e, pool: pool, size: size, topic: fmt.Sprint("batches-of-", size), table: fmt.Sprint("rows_of_", size)}
		if err := one.prepare(ctx); err != nil {
			return rows, err
		}
		more, err := one.compare(ctx, b.rounds, b.length)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// logBench is a topic and a table that hold the same.
type logBench struct {
	engine *postgres.Engine
	pool   *pgxpool.Pool
	size   int // Messages of a batch.
	topic  string
	table  string

	batch  queue.Batch
	frames []byte // The batch, as it is stored.
	rows   int64
	groups int // That have read the topic.
}

func (b *logBench) compare(ctx context.Context, rounds int, length time.Duration) (all []row, err error) {
	peer := newWatermillQueue(b.pool, b.topic)
	in := fmt.Sprintf(" in batches of %d", b.size)
	snip := &contestant{name: "publish" + in + ", PostgreSQL", measure: b.publish}
	watermill := &contestant{name: "Watermill, queue schema", measure: peer.publish(b.batch.Messages)}
	insert := &contestant{name: "pgx, INSERT of the same bytes", measure: b.insert}
	if err := inTurns(ctx, rounds, length, snip, watermill, insert); err != nil {
		return nil, err
	}
	all = append(all, snip.beside(insert, "/s", ratioAtLeast(0.7)), snip.beside(watermill, "/s", ratioAtLeast(3)))
	if err := b.fill(ctx, length); err != nil {
		return all, err
	}
	group := &contestant{name: "consume" + in + " by a group, PostgreSQL", measure: b.readByGroup}
	read := &contestant{name: "read" + in + ", PostgreSQL", measure: b.read}
	watermill = &contestant{name: "Watermill, queue schema", measure: peer.consume}
	decoded := &contestant{name: "pgx, SELECT, decoded to messages", measure: b.scan(true)}
	bytes := &contestant{name: "pgx, SELECT of the same bytes", measure: b.scan(false)}
	if err := inTurns(ctx, rounds, length, group, watermill, read, decoded, bytes); err != nil {
		return all, err
	}
	return append(all, read.beside(bytes, "/s", ratioAtLeast(0.7)), read.beside(decoded, "/s", bar{}),
		group.beside(watermill, "/s", ratioAtLeast(3))), nil
}

func (b *logBench) config() queue.TopicConfig {
	return queue.TopicConfig{Name: b.topic, MaxBytes: 1 << 40}
}

func (b *logBench) prepare(ctx context.Context) error {
	if _, err := b.engine.Declare(ctx, b.config()); err != nil {
		return err
	}
	b.batch.Segment = queue.NewSegmentID()
	b.batch.Messages = randomMessages(b.size)
	b.frames = queue.AppendFrames(nil, b.batch.Messages)
	_, err := b.pool.Exec(ctx, "CREATE TABLE "+b.table+" (id bigint PRIMARY KEY, count int NOT NULL, frames bytea NOT NULL)")
	return err
}

// randomMessages are nothing that the server could compress, for one side or the other.
func randomMessages(n int) []queue.Message {
	messages := make([]queue.Message, n)
	for i := range messages {
		body := make([]byte, logBody)
		rand.Read(body) // Never fails, by its documentation.
		messages[i] = queue.Message{Type: "click", Time: time.Now(), Body: body}
	}
	return messages
}

func (b *logBench) append(ctx context.Context) error {
	err := b.engine.Append(ctx, b.topic, 0, b.batch)
	b.batch.First += uint64(b.size)
	return err
}

func (b *logBench) insertOne(ctx context.Context) error {
	_, err := b.pool.Exec(ctx, "INSERT INTO "+b.table+" (id, count, frames) VALUES ($1, $2, $3)", b.rows, b.size, b.frames)
	b.rows++
	return err
}

func (b *logBench) publish(ctx context.Context, length time.Duration) (float64, error) {
	return b.repeat(length, func() (int, error) { return b.size, b.append(ctx) })
}

func (b *logBench) insert(ctx context.Context, length time.Duration) (float64, error) {
	return b.repeat(length, func() (int, error) { return b.size, b.insertOne(ctx) })
}

// repeat returns how many messages a second do gets through.
func (b *logBench) repeat(length time.Duration, do func() (int, error)) (float64, error) {
	messages, began := 0, time.Now()
	for time.Since(began) < length {
		n, err := do()
		if err != nil {
			return 0, err
		}
		messages += n
	}
	return float64(messages) / time.Since(began).Seconds(), nil
}

// fill brings topic and table to the same length, and has them looked after as they
// would be by now.
func (b *logBench) fill(ctx context.Context, length time.Duration) error {
	want := int64(length.Seconds() * float64(min(logBacklog/b.size, logBatches)))
	for b.rows < want {
		if err := b.insertOne(ctx); err != nil {
			return err
		}
	}
	for int64(b.batch.First) < want*int64(b.size) {
		if err := b.append(ctx); err != nil {
			return err
		}
	}
	_, err := b.pool.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// read reads the topic, from the start again at its end.
func (b *logBench) read(ctx context.Context, length time.Duration) (float64, error) {
	var at queue.Position
	return b.repeat(length, func() (int, error) {
		entries, err := b.engine.Read(ctx, b.topic, 0, at, logRead)
		if err != nil || len(entries) == 0 {
			at = queue.Position{}
			return 0, err
		}
		at = entries[len(entries)-1].Next
		n := 0
		for _, e := range entries {
			n += len(e.Messages)
		}
		return n, nil
	})
}

// scan does it to the table.
func (b *logBench) scan(decode bool) func(ctx context.Context, length time.Duration) (float64, error) {
	type row struct {
		ID     int64
		Count  int
		Frames []byte
	}
	return func(ctx context.Context, length time.Duration) (float64, error) {
		next := int64(0)
		return b.repeat(length, func() (int, error) {
			rows, err := b.pool.Query(ctx, "SELECT id, count, frames FROM "+b.table+" WHERE id >= $1 ORDER BY id LIMIT $2", next, logRead/b.size)
			if err != nil {
				return 0, err
			}
			all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
			if err != nil || len(all) == 0 {
				next = 0
				return 0, err
			}
			next = all[len(all)-1].ID + 1
			for _, r := range all {
				if !decode {
					continue
				}
				if _, err := queue.DecodeFrames(r.Frames, r.Count); err != nil {
					return 0, err
				}
			}
			return len(all) * b.size, nil
		})
	}
}
