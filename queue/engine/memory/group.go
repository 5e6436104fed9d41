package memory

import (
	"context"
	"time"

	"snip/queue"
)

type groupTopic struct{ group, topic string }

type roster struct {
	bytes   []byte
	version int64
}

// place names a position that a group keeps.
type place struct {
	group     string
	topic     queue.TopicID
	partition int
}

// Roster returns a group's roster.
func (e *Engine) Roster(ctx context.Context, group, topic string) ([]byte, int64, time.Duration, error) {
	if err := e.lock(ctx); err != nil {
		return nil, 0, 0, err
	}
	defer e.mu.Unlock()
	now := time.Since(e.started)
	r := e.groups[groupTopic{group, topic}]
	if r == nil {
		return nil, 0, now, nil
	}
	return append([]byte(nil), r.bytes...), r.version, now, nil
}

// Swap puts a roster in the place of that of a version.
func (e *Engine) Swap(ctx context.Context, group, topic string, version int64, bytes []byte) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	key := groupTopic{group, topic}
	r := e.groups[key]
	if r == nil {
		r = &roster{}
	}
	if r.version != version {
		return queue.ErrConflict
	}
	e.groups[key] = &roster{bytes: append([]byte(nil), bytes...), version: version + 1}
	return nil
}

// Position returns where a group stands.
func (e *Engine) Position(ctx context.Context, group string, topic queue.TopicID, partition int) (queue.Position, error) {
	if err := e.lock(ctx); err != nil {
		return queue.Position{}, err
	}
	defer e.mu.Unlock()
	return e.places[place{group, topic, partition}], nil
}

// Commit moves a group's position.
func (e *Engine) Commit(ctx context.Context, group string, topic queue.TopicID, partition int, from, to queue.Position) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	key := place{group, topic, partition}
	if e.places[key] != from {
		return queue.ErrFenced
	}
	e.places[key] = to
	return nil
}
