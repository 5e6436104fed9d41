package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ProducerConfig describes a producer. Engine, Queue and Type must be set.
type ProducerConfig struct {
	Engine TaskEngine

	// Queue is declared at the first push. Who shares a queue shares its configuration:
	// the last to declare it decides.
	Queue QueueConfig

	Type  string // Of the tasks: names the handler.
	Codec Codec  // Of the payload. Default: JSON.

	// Transactions asks for PushTx, which engines without SQL refuse here.
	Transactions bool

	Observer Observer
}

// Producer pushes tasks of one type whose body is a T. It is safe for concurrent use.
type Producer[T any] struct {
	cfg     ProducerConfig
	dropped atomic.Int64

	mu       sync.Mutex
	declared bool
}

// NewProducer checks the configuration. It does no I/O.
func NewProducer[T any](cfg ProducerConfig) (*Producer[T], error) {
	if cfg.Engine == nil {
		return nil, errors.New("producer: Engine must be set")
	}
	caps := cfg.Engine.Caps()
	q, err := cfg.Queue.Check(caps)
	if err != nil {
		return nil, fmt.Errorf("producer: %w", err)
	}
	cfg.Queue = q
	if len(cfg.Type) < 1 || len(cfg.Type) > maxTaskType {
		return nil, fmt.Errorf("producer: Type is %d bytes long, must be 1 to %d", len(cfg.Type), maxTaskType)
	}
	if _, ok := cfg.Engine.(TxPusher); cfg.Transactions && !ok {
		return nil, fmt.Errorf("producer: Transactions wanted, engine %s is in no SQL database (sqlite and postgres are): %w", caps.Engine, ErrUnsupported)
	}
	if cfg.Codec == nil {
		cfg.Codec = JSON{}
	}
	return &Producer[T]{cfg: cfg}, nil
}

// Push pushes a payload as a task, due at once. At the bound it does what the queue's
// Overflow says; *FullError is an ErrFull with a time after which to try again.
func (p *Producer[T]) Push(ctx context.Context, payload T) (PushResult, error) {
	t, err := p.Task(payload, Task{})
	if err != nil {
		return PushResult{}, err
	}
	results, err := p.PushTasks(ctx, t)
	if err != nil {
		return PushResult{}, err
	}
	return results[0], nil
}

// Task makes a task of a payload. What the other one says of ID, Key, Headers, Time, At,
// Delay and Deadline is kept.
func (p *Producer[T]) Task(payload T, t Task) (Task, error) {
	err := recovered(func() (err error) {
		t.Body, err = p.cfg.Codec.Encode(payload)
		return err
	})
	if err != nil {
		return t, fmt.Errorf("push to queue %q: encode: %w", p.cfg.Queue.Name, err)
	}
	t.Type = p.cfg.Type
	return t, nil
}

// PushTasks pushes all of the tasks or none, made by Task. The results are in their
// order.
func (p *Producer[T]) PushTasks(ctx context.Context, tasks ...Task) ([]PushResult, error) {
	if err := p.Declare(ctx); err != nil {
		return nil, err
	}
	results, err := p.cfg.Engine.Push(ctx, p.cfg.Queue.Name, tasks)
	for failures := 0; p.cfg.Queue.Overflow == Block && errors.Is(err, ErrFull); failures++ {
		if ctxErr := pause(ctx, backoff(failures, 10*time.Millisecond, time.Second)); ctxErr != nil {
			break // What is wrong is that the queue is full.
		}
		results, err = p.cfg.Engine.Push(ctx, p.cfg.Queue.Name, tasks)
	}
	if p.cfg.Queue.Overflow == DropNewest && errors.Is(err, ErrFull) {
		return p.drop(tasks), nil
	}
	if err != nil {
		return nil, fmt.Errorf("push to queue %q: %w", p.cfg.Queue.Name, err)
	}
	return results, nil
}

func (p *Producer[T]) drop(tasks []Task) []PushResult {
	results := make([]PushResult, len(tasks))
	for i, t := range tasks {
		results[i] = PushResult{ID: t.ID, Dropped: true}
	}
	p.dropped.Add(int64(len(tasks)))
	p.cfg.Observer.tasksDropped(p.cfg.Queue.Name, len(tasks))
	return results
}

// Dropped is how many tasks this producer dropped, because the queue was full and its
// Overflow is DropNewest.
func (p *Producer[T]) Dropped() int64 { return p.dropped.Load() }

// PushTx pushes all of the tasks in the caller's transaction, which is on the engine's
// database, or none: the caller rolls back after an error. At the bound it refuses,
// whatever the queue's Overflow says of waiting or of what comes. Call Wake after the
// commit: until then nobody can see the tasks, and without it they are found by polling.
func (p *Producer[T]) PushTx(ctx context.Context, tx *sql.Tx, tasks ...Task) ([]PushResult, error) {
	e, ok := p.cfg.Engine.(TxPusher)
	if !ok {
		return nil, fmt.Errorf("push to queue %q: engine %s is in no SQL database: %w", p.cfg.Queue.Name, p.cfg.Engine.Caps().Engine, ErrUnsupported)
	}
	results, err := e.PushTx(ctx, tx, p.cfg.Queue.Name, tasks)
	if err != nil {
		return nil, fmt.Errorf("push to queue %q: %w", p.cfg.Queue.Name, err)
	}
	return results, nil
}

// Wake tells workers that there may be more, after a PushTx was committed.
func (p *Producer[T]) Wake(ctx context.Context) {
	if e, ok := p.cfg.Engine.(TxPusher); ok {
		e.Wake(ctx, p.cfg.Queue.Name)
	}
}

// Declare makes the queue, so that it is there before the first PushTx, which cannot
// make it inside of a transaction. Push does it by itself.
func (p *Producer[T]) Declare(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.declared {
		return nil
	}
	if err := p.cfg.Engine.DeclareQueue(ctx, p.cfg.Queue); err != nil {
		return fmt.Errorf("declare queue %q: %w", p.cfg.Queue.Name, err)
	}
	p.declared = true
	return nil
}
