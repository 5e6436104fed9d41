package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// SubscriberConfig describes a subscriber. Topic, Engine, Handle and Lost must be set.
type SubscriberConfig struct {
	Topic  TopicConfig // Declared when Run begins.
	Engine LogEngine

	// Handle gets every message that is appended after Lost was called first, in the
	// order of its partition, one at a time. It should be quick: the next messages wait.
	Handle func(m Message)

	// Lost is called before the first message, and then whenever messages may have been
	// missed: the topic was emptied, replaced or restored, what was next is trimmed, a
	// message's content was lost before it reached the log, or Handle panicked. What is
	// appended after it is called is handled. It is not called for an outage after which
	// reading goes on where it was.
	Lost func()

	// Poll is how often to look without a wake-up. Default: 1 s, or 5 s where the
	// engine has wake-ups.
	Poll time.Duration

	MaxBatch int // Messages per read, about: entries come whole. Default: 1000.

	Logger *slog.Logger // Default: none.
}

// Subscriber reads what is appended to a topic from now on, all of it, whoever else
// does. It keeps no position: what it did not read before it ends is not for it. To
// work through a topic, or to share it, is for a [Group].
type Subscriber struct {
	cfg SubscriberConfig
	log *slog.Logger
}

// NewSubscriber checks the configuration. It does no I/O.
func NewSubscriber(cfg SubscriberConfig) (*Subscriber, error) {
	if cfg.Engine == nil || cfg.Handle == nil || cfg.Lost == nil {
		return nil, errors.New("subscriber: Engine, Handle and Lost must be set")
	}
	topic, err := cfg.Topic.Check(cfg.Engine.Caps())
	if err != nil {
		return nil, fmt.Errorf("subscriber: %w", err)
	}
	cfg.Topic = topic
	if cfg.Poll < 0 || cfg.MaxBatch < 0 {
		return nil, fmt.Errorf("subscriber of topic %q: Poll and MaxBatch must not be negative", topic.Name)
	}
	if cfg.Poll == 0 {
		cfg.Poll = defaultPoll(cfg.Engine)
	}
	if cfg.MaxBatch == 0 {
		cfg.MaxBatch = 1000
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Subscriber{cfg: cfg, log: cfg.Logger.With("topic", topic.Name)}, nil
}

// Run reads until ctx ends; the message that is being handled is finished. Outages are
// reported and waited out. It always returns nil.
func (s *Subscriber) Run(ctx context.Context) error {
	r := &subscription{Subscriber: s}
	for failures := 0; ctx.Err() == nil; {
		handled := r.handled
		err := r.follow(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if r.handled != handled {
			failures = 0
		}
		if errors.Is(err, ErrPositionLost) {
			s.log.Warn("messages may have been missed", "error", err)
			r.places = nil
		} else if failures%50 == 0 {
			s.log.Warn("topic cannot be read, will be tried again", "failures", failures+1, "error", err)
		}
		_ = pause(ctx, backoff(failures, 50*time.Millisecond, time.Second)) // The loop asks.
		failures++
	}
	return nil
}

// subscription is what one Run of a subscriber owns.
type subscription struct {
	*Subscriber
	topic   TopicID
	places  []spot // By partition; nil if there is no telling where to read.
	handled uint64 // Messages.
	seen    uint64 // Of Wait.
}

// spot is where reading goes on in a partition.
type spot struct {
	next   Position
	offset uint64 // Messages before it: the zero position does not tell if they were trimmed.
}

// follow reads until ctx ends, or returns why it cannot: with ErrPositionLost if
// something was missed.
func (r *subscription) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		if r.places == nil {
			if err := r.join(ctx); err != nil {
				return err
			}
		}
		r.seen = awaitMore(ctx, r.cfg.Engine, r.cfg.Topic.Name, r.seen, r.cfg.Poll)
		if err := r.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// join begins at the end of the topic.
func (r *subscription) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if _, err := r.cfg.Engine.Declare(ctx, r.cfg.Topic); err != nil {
		return fmt.Errorf("declare: %w", err)
	}
	stats, err := r.cfg.Engine.Stats(ctx, r.cfg.Topic.Name)
	if err != nil {
		return fmt.Errorf("find the end: %w", err)
	}
	r.topic, r.places = stats.ID, make([]spot, len(stats.Partitions))
	for p, part := range stats.Partitions {
		r.places[p] = spot{next: part.End, offset: part.Appended}
	}
	r.cfg.Lost()
	return nil
}

// catchUp reads every partition to its end.
func (r *subscription) catchUp(ctx context.Context) error {
	stats, err := r.stats(ctx)
	if err != nil {
		return err
	}
	for p, part := range stats.Partitions {
		for r.places[p].next != part.End {
			n, err := r.read(ctx, p)
			if err != nil {
				return fmt.Errorf("partition %d: %w", p, err)
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

// stats looks at the topic that was joined.
func (r *subscription) stats(ctx context.Context) (TopicStats, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	stats, err := r.cfg.Engine.Stats(ctx, r.cfg.Topic.Name)
	switch {
	case errors.Is(err, ErrNotFound):
		return stats, fmt.Errorf("the topic is gone: %w", errors.Join(err, ErrPositionLost))
	case err != nil:
		return stats, fmt.Errorf("find the end: %w", err)
	case stats.ID != r.topic:
		return stats, fmt.Errorf("the topic is another one now: %w", ErrPositionLost)
	}
	return stats, nil
}

// read handles the next messages of a partition, and returns how many entries they
// came in.
func (r *subscription) read(ctx context.Context, p int) (int, error) {
	at := &r.places[p]
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	entries, err := r.cfg.Engine.Read(limited, r.cfg.Topic.Name, p, at.next, r.cfg.MaxBatch)
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	for _, e := range entries {
		if e.Offset != at.offset {
			return 0, fmt.Errorf("message %d is next, %d was expected: %w", e.Offset, at.offset, ErrPositionLost)
		}
		for _, m := range e.Messages {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			r.handle(m)
		}
		at.next, at.offset = e.Next, e.Offset+uint64(len(e.Messages))
	}
	return len(entries), nil
}

func (r *subscription) handle(m Message) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
			r.cfg.Lost()
		}
	}()
	r.handled++
	if m.Type == TypeLost {
		r.cfg.Lost()
		return
	}
	r.cfg.Handle(m)
}
