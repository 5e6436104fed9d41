package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// consumer works through one partition for as long as its member owns it.
type consumer struct {
	group     *Group
	partition int
	drain     context.Context // The group's: once it ended, the end of the partition is the end.

	topic    TopicID
	stored   Position // Where the group stands.
	next     Position // Where reading goes on: stored, or the start after that position was lost.
	failures int

	draining bool
	end      uint64 // Messages the partition ever got when draining began; the end of the drain.
}

// consume returns when going ended and the batch in flight is done, when life
// ended, or when the group's context ended and the partition was read to its end.
func (c *consumer) consume(life, going context.Context) {
	for c.mayGoOn(going) {
		err := c.resume(life)
		if err == nil {
			err = c.work(life, going)
		}
		if err != nil && life.Err() == nil {
			c.report(err)
			_ = pause(going, backoff(c.failures, 50*time.Millisecond, 5*time.Second)) // mayGoOn tells.
			c.failures++
		}
		if c.atEnd(err) {
			return
		}
	}
}

// mayGoOn is false once the run was stopped, or once the group ends without
// draining.
func (c *consumer) mayGoOn(going context.Context) bool {
	return going.Err() == nil && (c.drain.Err() == nil || c.group.cfg.Drain > 0)
}

func (c *consumer) atEnd(err error) bool { return err == nil && c.drain.Err() != nil }

// resume finds out where the group stands.
func (c *consumer) resume(ctx context.Context) error {
	id, err := c.group.declare(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var at Position
	if c.group.cfg.Resume != nil {
		at, err = c.group.cfg.Resume(ctx, id, c.partition)
	} else {
		at, err = c.group.cfg.Store.Position(ctx, c.group.cfg.Name, id, c.partition)
	}
	if err != nil {
		return fmt.Errorf("read position: %w", err)
	}
	c.topic, c.stored, c.next = id, at, at
	return nil
}

// work delivers until there is a reason to look up the position again, which is
// its error, or to end.
func (c *consumer) work(life, going context.Context) error {
	var seen uint64
	for c.mayGoOn(going) {
		entries, err := c.read(life)
		if errors.Is(err, ErrPositionLost) && c.next != (Position{}) {
			// The log was emptied, replaced or restored. What it holds may be new, and
			// what is not is for the handler to tell by its number.
			c.group.log.Error("position lost, reading from the oldest entry kept",
				"partition", c.partition, "position", c.next.String())
			id, err := c.group.declare(life)
			if err != nil {
				return err
			}
			if id != c.topic {
				return fmt.Errorf("topic %q is another one now: %w", c.group.cfg.Topic.Name, ErrPositionLost)
			}
			c.next = Position{}
			continue
		}
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			if c.drain.Err() != nil {
				return nil
			}
			seen = c.wait(going, seen)
			continue
		}
		if err := c.deliver(life, entries); err != nil {
			return err
		}
		c.failures = 0
		if c.drained(life, entries[len(entries)-1]) {
			return nil
		}
	}
	return nil
}

// drained tells, after an entry was delivered, whether that was the last of those that
// were there when the drain began. What comes later is for others: a drain that follows
// an end that moves has none.
func (c *consumer) drained(ctx context.Context, last Entry) bool {
	if c.drain.Err() == nil {
		return false
	}
	if !c.draining {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		stats, err := c.group.cfg.Engine.Stats(ctx, c.group.cfg.Topic.Name)
		if err != nil {
			return false // Reading finds an end, too, or the limit does.
		}
		c.draining, c.end = true, stats.Partitions[c.partition].Appended
	}
	return last.Offset+uint64(len(last.Messages)) >= c.end
}

func (c *consumer) read(ctx context.Context) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	entries, err := c.group.cfg.Engine.Read(ctx, c.group.cfg.Topic.Name, c.partition, c.next, c.group.cfg.MaxBatch)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return entries, nil
}

func (c *consumer) deliver(ctx context.Context, entries []Entry) error {
	d := Delivery{
		Group: c.group.cfg.Name, Topic: c.group.cfg.Topic.Name, TopicID: c.topic, Partition: c.partition,
		Entries: entries, From: c.stored, To: entries[len(entries)-1].Next,
	}
	handling, cancel := context.WithTimeout(ctx, c.group.cfg.Limit)
	defer cancel()
	if err := c.handle(handling, d); err != nil {
		return err
	}
	if c.group.cfg.Resume == nil {
		// The work is done: its commit must not die with the member's stop.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
		defer cancel()
		if err := c.group.cfg.Store.Commit(ctx, d.Group, d.TopicID, d.Partition, d.From, d.To); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
	c.stored, c.next = d.To, d.To
	return nil
}

// handle turns a panic of the handler into an error: the process has other work.
func (c *consumer) handle(ctx context.Context, d Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	if err := c.group.cfg.Handle(ctx, d); err != nil {
		return fmt.Errorf("handle: %w", err)
	}
	return nil
}

// wait returns when there may be more, at the latest after the poll interval.
func (c *consumer) wait(going context.Context, seen uint64) uint64 {
	ctx, cancel := context.WithCancel(going)
	defer cancel()
	// A drain that begins must end the wait.
	defer context.AfterFunc(c.drain, cancel)()
	return awaitMore(ctx, c.group.cfg.Engine, c.group.cfg.Topic.Name, seen, c.group.cfg.Poll)
}

func (c *consumer) report(err error) {
	if errors.Is(err, ErrFenced) {
		c.group.log.Info("another owner moved the position", "partition", c.partition)
		return
	}
	c.group.log.Error("delivery failed, will be tried again", "partition", c.partition,
		"failures", c.failures+1, "error", err)
}
