package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"time"

	"snip/queue"
)

// Store is the database that has the outbox's tables.
type Store interface {
	Read() *sql.DB
	// Write runs fn in a transaction and returns once it is on disk. It may run fn more
	// than once, each time in a transaction of its own.
	Write(ctx context.Context, fn func(context.Context, *sql.Tx) error) error
}

// ForwarderConfig describes a forwarder. Outbox, Store, Engine and Topic must be set.
type ForwarderConfig struct {
	Outbox *Outbox
	Store  Store
	Engine queue.LogEngine
	Topic  queue.TopicConfig // Declared before anything is sent; of the outbox's name and partitions.

	Lease time.Duration // How long a silent forwarder is waited for. At least 100 ms. Default: 2 s.

	// Gather is how long to let messages come together after some were sent. The first
	// after a while are sent at once. Default: 50 ms.
	Gather time.Duration

	// Poll is how often to look, about, for what was written by processes that died, or
	// that have no forwarder. A look that finds nothing costs some 0.4 ms of processor
	// time on SQLite, most of it the waking up. Default: 400 ms.
	Poll time.Duration

	Logger *slog.Logger // Default: none.
}

// Forwarder sends what an outbox holds to its topic. Any number of processes may run
// one: the others watch the one that sends, and take over when it dies.
type Forwarder struct {
	cfg ForwarderConfig
	log *slog.Logger
}

// callLimit ends one call of the engine or the store.
const callLimit = 10 * time.Second

// NewForwarder checks the configuration. It does no I/O.
func NewForwarder(cfg ForwarderConfig) (*Forwarder, error) {
	if cfg.Outbox == nil || cfg.Store == nil || cfg.Engine == nil {
		return nil, errors.New("outbox: forwarder: Outbox, Store and Engine must be set")
	}
	caps := cfg.Engine.Caps()
	cfg.Topic.Sequences = true
	topic, err := cfg.Topic.Check(caps)
	if err != nil {
		return nil, fmt.Errorf("outbox: forwarder: %w", err)
	}
	cfg.Topic = topic
	if o := cfg.Outbox.cfg; topic.Name != o.Topic || topic.Partitions != o.Partitions {
		return nil, fmt.Errorf("outbox: forwarder: Topic is %q with %d partitions, the outbox is of %q with %d",
			topic.Name, topic.Partitions, o.Topic, o.Partitions)
	}
	if caps.MaxBatchBytes > 0 && caps.MaxBatchBytes < maxBatchBytes+MaxMessageBytes {
		return nil, fmt.Errorf("outbox: forwarder: engine %s takes batches of %d bytes, %d are needed: %w",
			caps.Engine, caps.MaxBatchBytes, maxBatchBytes+MaxMessageBytes, queue.ErrUnsupported)
	}
	if cfg.Lease == 0 {
		cfg.Lease = 2 * time.Second
	}
	if cfg.Lease < 100*time.Millisecond {
		return nil, fmt.Errorf("outbox: forwarder: Lease is %s, must be at least 100ms", cfg.Lease)
	}
	if cfg.Poll < 0 || cfg.Gather < 0 {
		return nil, fmt.Errorf("outbox: forwarder: Poll is %s and Gather %s, must not be negative", cfg.Poll, cfg.Gather)
	}
	if cfg.Gather == 0 {
		cfg.Gather = 50 * time.Millisecond
	}
	if cfg.Poll == 0 {
		cfg.Poll = 400 * time.Millisecond
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Forwarder{cfg: cfg, log: cfg.Logger.With("outbox", topic.Name)}, nil
}

// Run sends until ctx ends, then gives up the lease. Outages of engine and store are
// reported and waited out. It always returns nil: a lease that could not be given up
// costs the others a wait for Lease, no more. What is left is sent by another process,
// or by the next Run.
func (f *Forwarder) Run(ctx context.Context) error {
	r := &run{
		Forwarder: f,
		lease:     lease{topic: f.cfg.Topic.Name, me: queue.NewSegmentID().String(), length: f.cfg.Lease},
		lanes:     map[int]*lane{},
		sent:      map[int]sent{},
	}
	for failures := 0; ctx.Err() == nil; {
		// Asked for first, so that what is committed from here on is not missed.
		woken := f.cfg.Outbox.woken()
		wait := f.cfg.Poll
		idle, err := r.forward(ctx)
		switch {
		case err == nil:
			if failures > 0 {
				f.log.Info("sending works again")
			}
			failures = 0
			if !idle {
				wait /= 4 // It may let go of the lease without having seen every row.
			}
		case ctx.Err() == nil:
			// At the longest pause this is about once in a minute.
			if failures++; failures%50 == 1 {
				f.log.Warn("messages cannot be sent, will be tried again", "failures", failures, "error", err)
			}
			// The lease lives on retries.
			woken, wait = nil, min(50*time.Millisecond<<min(failures, 10), f.cfg.Lease/2)
		}
		timer := time.NewTimer(wait - rand.N(wait/4+1))
		select {
		case <-ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
	if err := r.leave(context.WithoutCancel(ctx)); err != nil {
		f.log.Warn("the lease was not given up", "error", err)
	}
	return nil
}

// run is what one Run of a forwarder owns.
type run struct {
	*Forwarder
	lease    lease
	held     bool // As far as we know.
	declared bool

	lanes map[int]*lane // By partition.
	sent  map[int]sent  // By partition: what can be deleted.
}

// sent tells which rows of a partition are in the topic: those of a segment whose
// number is smaller than next. The others must be numbered again if again is set.
type sent struct {
	segment queue.SegmentID
	next    uint64
	again   bool
}

// forward sends until nothing is left, and is idle then, or until another forwarder
// turns out to be at it.
func (r *run) forward(ctx context.Context) (idle bool, err error) {
	some, err := r.look(ctx)
	if err != nil || !some {
		return !some, err
	}
	if free, err := r.lease.look(ctx, r.cfg.Store.Read()); err != nil || !free {
		return false, err
	}
	for {
		batches, err := r.step(ctx)
		if errors.Is(err, errHeld) {
			return false, nil
		}
		if err != nil || len(batches) == 0 {
			return true, err
		}
		for p, b := range batches {
			if err := r.send(ctx, p, b); err != nil {
				return false, err
			}
		}
		r.gather(ctx)
	}
}

// gather lets messages come together, which are sent for the price of one: each append,
// and what it leaves to do, is a commit. If ctx ends, what was sent is settled by leave.
func (r *run) gather(ctx context.Context) {
	timer := time.NewTimer(r.cfg.Gather)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// look reports whether there is something to do.
func (r *run) look(ctx context.Context) (some bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	err = r.cfg.Store.Read().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM outbox WHERE topic = $1)`, r.cfg.Topic.Name).Scan(&some)
	if err != nil {
		return false, fmt.Errorf("look for messages: %w", err)
	}
	return some || r.held, nil
}

// step deletes what was sent, gives rows their numbers, and returns what to send next
// by partition. If that is nothing, the lease is released.
func (r *run) step(ctx context.Context) (map[int]queue.Batch, error) {
	var batches map[int]queue.Batch
	var given map[int]int64
	now := r.copy()
	err := r.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		batches, given = map[int]queue.Batch{}, map[int]int64{}
		if err := now.settle(ctx, tx); err != nil {
			return err
		}
		for p := range r.cfg.Topic.Partitions {
			b, n, err := now.next(ctx, tx, p)
			if err != nil {
				return fmt.Errorf("partition %d: %w", p, err)
			}
			if len(b.Messages) > 0 {
				batches[p], given[p] = b, n
			}
		}
		if len(batches) == 0 {
			return now.lease.release(ctx, tx)
		}
		return nil
	})
	if errors.Is(err, errHeld) {
		r.held = false
		clear(r.sent) // The other one finds that out, too.
		return nil, err
	}
	if err != nil {
		// It may have been committed all the same. Then we hold the lease, and the numbers
		// are taken: other rows get those of a new segment.
		r.held = true
		clear(r.lanes)
		return nil, err
	}
	for p, n := range given {
		r.lane(p).next += uint64(n)
	}
	clear(r.sent)
	r.held = len(batches) > 0
	return batches, nil
}

// copy is what a transaction may read: when its time is over it may still be running
// while we go on.
func (r *run) copy() *run {
	now := &run{Forwarder: r.Forwarder, lease: r.lease, lanes: map[int]*lane{}, sent: maps.Clone(r.sent)}
	for p := range r.cfg.Topic.Partitions {
		one := *r.lane(p)
		now.lanes[p] = &one
	}
	return now
}

// next returns what to send in a partition, and how many rows were given a number of
// our lane for it.
func (r *run) next(ctx context.Context, tx *sql.Tx, p int) (queue.Batch, int64, error) {
	b, err := numbered(ctx, tx, r.cfg.Topic.Name, p)
	if err != nil || len(b.Messages) > 0 {
		return b, 0, err
	}
	n, err := number(ctx, tx, r.cfg.Topic.Name, p, *r.lane(p))
	if err != nil || n == 0 {
		return b, 0, err
	}
	b, err = numbered(ctx, tx, r.cfg.Topic.Name, p)
	return b, n, err
}

func (r *run) lane(p int) *lane {
	if r.lanes[p] == nil {
		r.lanes[p] = &lane{segment: queue.NewSegmentID()}
	}
	return r.lanes[p]
}

// settle takes the lease and does what is left to do for what was sent.
func (r *run) settle(ctx context.Context, tx *sql.Tx) error {
	if err := r.lease.take(ctx, tx); err != nil {
		return err
	}
	for p, s := range r.sent {
		if err := remove(ctx, tx, r.cfg.Topic.Name, p, s.segment, s.next); err != nil {
			return err
		}
		if s.again {
			if err := forgetNumbers(ctx, tx, r.cfg.Topic.Name, p, s.segment); err != nil {
				return err
			}
		}
	}
	return nil
}

// send appends a batch, or as much of it as is not in the topic yet.
func (r *run) send(ctx context.Context, p int, b queue.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if !r.declared {
		if _, err := r.cfg.Engine.Declare(ctx, r.cfg.Topic); err != nil {
			return fmt.Errorf("declare topic %q: %w", r.cfg.Topic.Name, err)
		}
		r.declared = true
	}
	end := b.First + uint64(len(b.Messages))
	for {
		err := r.cfg.Engine.Append(ctx, r.cfg.Topic.Name, p, b)
		moved, ok := errors.AsType[*queue.SequenceError](err)
		switch {
		case err == nil, ok && moved.Expected >= end:
			r.sent[p] = sent{segment: b.Segment, next: end}
			return nil
		case ok && moved.Expected > b.First:
			b.Messages = b.Messages[moved.Expected-b.First:]
			b.First = moved.Expected
		case ok:
			// It was emptied, restored, or had no message of the segment for too long. What
			// is still here is not in the topic.
			r.log.Warn("the engine has forgotten a segment, going on with another one", "partition", p,
				"segment", b.Segment, "expected", moved.Expected, "number", b.First)
			r.sent[p] = sent{segment: b.Segment, next: moved.Expected, again: true}
			delete(r.lanes, p)
			return nil
		default:
			r.declared = false // The topic may be gone.
			return fmt.Errorf("append to partition %d: %w", p, err)
		}
	}
}

// leave settles what was sent last and releases the lease, if it is ours.
func (r *run) leave(ctx context.Context) error {
	if !r.held {
		return nil
	}
	now := r.copy()
	err := r.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := now.settle(ctx, tx); err != nil {
			return err
		}
		return now.lease.release(ctx, tx)
	})
	if errors.Is(err, errHeld) {
		return nil
	}
	return err
}

func (r *run) write(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return r.cfg.Store.Write(ctx, fn)
}
