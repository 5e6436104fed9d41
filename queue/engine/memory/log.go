package memory

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"snip/queue"
)

type topic struct {
	config     queue.TopicConfig
	id         queue.TopicID
	bytes      int64
	partitions []partition
}

type partition struct {
	appended uint64 // Messages, ever.
	entries  []entry
	next     map[queue.SegmentID]uint64
}

// entry is a batch as it is kept.
type entry struct {
	base     uint64 // Messages of the partition before it.
	check    uint32
	count    int
	segment  queue.SegmentID
	first    uint64
	earliest time.Time
	frames   []byte
}

func (n entry) name() string { return queue.FormatEntry(n.base, n.check) }

// Declare makes a topic, or changes its bound.
func (e *Engine) Declare(ctx context.Context, c queue.TopicConfig) (queue.TopicID, error) {
	c, err := c.Check(e.Caps())
	if err != nil {
		return queue.TopicID{}, err
	}
	if err := e.lock(ctx); err != nil {
		return queue.TopicID{}, err
	}
	defer e.mu.Unlock()
	t := e.topics[c.Name]
	if t == nil {
		t = &topic{id: queue.NewTopicID(), partitions: make([]partition, c.Partitions)}
		for i := range t.partitions {
			t.partitions[i].next = map[queue.SegmentID]uint64{}
		}
		e.topics[c.Name] = t
	}
	if len(t.partitions) != c.Partitions {
		return queue.TopicID{}, fmt.Errorf("topic %q: Partitions is %d, but the topic was made with %d",
			c.Name, c.Partitions, len(t.partitions))
	}
	t.config = c
	return t.id, nil
}

// Append adds a batch.
func (e *Engine) Append(ctx context.Context, name string, p int, b queue.Batch) error {
	frames := queue.AppendFrames(nil, b.Messages)
	if limit := e.Caps().MaxBatchBytes; len(frames) > limit {
		return fmt.Errorf("batch of %d bytes, at most %d are taken", len(frames), limit)
	}
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	t, part, err := e.find(name, p)
	if err != nil || len(b.Messages) == 0 {
		return err
	}
	if !b.Segment.IsZero() && part.next[b.Segment] != b.First {
		return &queue.SequenceError{Segment: b.Segment, Expected: part.next[b.Segment]}
	}
	if t.bytes+int64(len(frames)) > t.config.MaxBytes {
		return &queue.FullError{Subject: fmt.Sprintf("topic %q", name), RetryAfter: time.Second}
	}
	part.entries = append(part.entries, entry{
		base: part.appended, check: rand.Uint32(), count: len(b.Messages),
		segment: b.Segment, first: b.First, earliest: b.Earliest(), frames: frames,
	})
	part.appended += uint64(len(b.Messages))
	t.bytes += int64(len(frames))
	if !b.Segment.IsZero() {
		part.next[b.Segment] = b.First + uint64(len(b.Messages))
	}
	e.grew()
	return nil
}

// Read returns entries from a position on.
func (e *Engine) Read(ctx context.Context, name string, p int, from queue.Position, max int) ([]queue.Entry, error) {
	if err := e.lock(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	_, part, err := e.find(name, p)
	if err != nil {
		return nil, err
	}
	i, skip, err := part.seek(from)
	if err != nil {
		return nil, err
	}
	var entries []queue.Entry
	for n := 0; i < len(part.entries) && n < max; i++ {
		one, err := part.entries[i].read()
		if err != nil {
			return nil, err
		}
		entries = append(entries, one.From(skip))
		n += len(one.Messages) - skip
		skip = 0
	}
	return entries, nil
}

func (n entry) read() (queue.Entry, error) {
	messages, err := queue.DecodeFrames(append([]byte(nil), n.frames...), n.count)
	if err != nil {
		return queue.Entry{}, fmt.Errorf("entry %s: %w", n.name(), err)
	}
	return queue.Entry{
		Position: queue.Position{Entry: n.name()},
		Next:     queue.Position{Entry: n.name(), Index: n.count},
		Offset:   n.base,
		Batch:    queue.Batch{Segment: n.segment, First: n.first, Messages: messages},
	}, nil
}

// seek finds the entry to read first, and how many of its messages to skip.
func (p *partition) seek(at queue.Position) (i, skip int, err error) {
	if at == (queue.Position{}) {
		return 0, 0, nil
	}
	base, check, err := queue.ParseEntry(at.Entry)
	if err != nil {
		return 0, 0, err
	}
	i, found := slices.BinarySearchFunc(p.entries, base, func(n entry, base uint64) int { return cmp.Compare(n.base, base) })
	if found {
		n := p.entries[i]
		switch {
		case n.check != check || at.Index < 0 || at.Index > n.count:
			return 0, 0, fmt.Errorf("position %s: %w", at, queue.ErrPositionLost)
		case at.Index == n.count:
			return i + 1, 0, nil
		}
		return i, at.Index, nil
	}
	if base+uint64(at.Index) == p.oldest() && base < p.oldest() {
		return 0, 0, nil // It stands at the end of what was trimmed.
	}
	return 0, 0, fmt.Errorf("position %s: %w", at, queue.ErrPositionLost)
}

// oldest is the offset of the first message kept.
func (p *partition) oldest() uint64 {
	if len(p.entries) == 0 {
		return p.appended
	}
	return p.entries[0].base
}

// Trim forgets entries that end before a position.
func (e *Engine) Trim(ctx context.Context, name string, p int, before queue.Position) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	t, part, err := e.find(name, p)
	if err != nil || before == (queue.Position{}) {
		return err
	}
	if _, _, err := part.seek(before); err != nil {
		return err
	}
	for len(part.entries) > 0 && part.entries[0].name() < before.Entry {
		t.bytes -= int64(len(part.entries[0].frames))
		part.entries[0] = entry{} // Its memory is still the slice's.
		part.entries = part.entries[1:]
	}
	return nil
}

// Stats describes a topic.
func (e *Engine) Stats(ctx context.Context, name string) (queue.TopicStats, error) {
	if err := e.lock(ctx); err != nil {
		return queue.TopicStats{}, err
	}
	defer e.mu.Unlock()
	t, _, err := e.find(name, 0)
	if err != nil {
		return queue.TopicStats{}, err
	}
	s := queue.TopicStats{ID: t.id, Bytes: t.bytes, MaxBytes: t.config.MaxBytes}
	for _, p := range t.partitions {
		one := queue.PartitionStats{Appended: p.appended}
		// Trim keeps the entry its position stands at: only a partition that never
		// had one is empty.
		if n := len(p.entries); n > 0 {
			one.End = queue.Position{Entry: p.entries[n-1].name(), Index: p.entries[n-1].count}
			one.Oldest = p.entries[0].earliest
		}
		s.Partitions = append(s.Partitions, one)
	}
	return s, nil
}

// Backlog says what stands behind a position.
func (e *Engine) Backlog(ctx context.Context, name string, p int, from queue.Position) (queue.Lag, error) {
	if err := e.lock(ctx); err != nil {
		return queue.Lag{}, err
	}
	defer e.mu.Unlock()
	_, part, err := e.find(name, p)
	if err != nil {
		return queue.Lag{}, err
	}
	i, skip, err := part.seek(from)
	if err != nil || i == len(part.entries) {
		return queue.Lag{}, err
	}
	lag := queue.Lag{Messages: part.appended - part.entries[i].base - uint64(skip)}
	for _, n := range part.entries[i:] {
		if lag.Oldest.IsZero() || !n.earliest.IsZero() && n.earliest.Before(lag.Oldest) {
			lag.Oldest = n.earliest
		}
	}
	return lag, nil
}

// Wait returns when any topic has grown since the call that returned seen.
func (e *Engine) Wait(ctx context.Context, name string, seen uint64) (uint64, error) {
	return e.await(ctx, seen, func() error {
		_, _, err := e.find(name, 0)
		return err
	})
}

func (e *Engine) await(ctx context.Context, seen uint64, find func() error) (uint64, error) {
	if err := e.lock(ctx); err != nil {
		return seen, err
	}
	err := find()
	version, grown := e.version, e.grown
	e.mu.Unlock()
	if err != nil || version != seen {
		return version, err
	}
	select {
	case <-grown:
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.version, e.usable()
	case <-ctx.Done():
		return seen, ctx.Err()
	}
}

// lock takes the lock, unless the call has no chance any more.
func (e *Engine) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.mu.Lock()
	if err := e.usable(); err != nil {
		e.mu.Unlock()
		return err
	}
	return nil
}

func (e *Engine) usable() error {
	if e.closed {
		return queue.ErrClosed
	}
	return nil
}

func (e *Engine) find(name string, p int) (*topic, *partition, error) {
	t := e.topics[name]
	if t == nil {
		return nil, nil, fmt.Errorf("topic %q: %w", name, queue.ErrNotFound)
	}
	if p < 0 || p >= len(t.partitions) {
		return nil, nil, fmt.Errorf("topic %q: partition %d of %d: %w", name, p, len(t.partitions), queue.ErrNotFound)
	}
	return t, &t.partitions[p], nil
}
