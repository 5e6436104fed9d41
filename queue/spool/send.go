package spool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"snip/queue"
)

// unfitError says that a segment can never be sent.
type unfitError struct{ reason string }

func (e *unfitError) Error() string { return e.reason }

// send sends what stands in a segment when it is called. It returns how long to
// wait before the next call, if the engine wants that or something failed.
func (sh *shipper) send(ctx context.Context, g *segment) (wait time.Duration, err error) {
	full := g.full.Load()
	count := g.count.Load()
	if full && sh.tooOld(g) {
		return 0, &unfitError{fmt.Sprintf("it was made %s, longer ago than MaxAge", g.created.Format(time.RFC3339))}
	}
	r := &reader{file: g.file, seed: g.seed}
	p := g.progress // Only who made the segment busy changes it.
	for moves := 0; p.sent < count; {
		until := count
		if p.asked > p.sent {
			until = min(count, p.asked) // The same range again.
		}
		b, err := sh.batch(r, g, p, until)
		if err != nil {
			return sh.pauseAfter(g), fmt.Errorf("read segment: %w", err)
		}
		outcome := sh.append(ctx, g, p, b)
		moved, isMoved := errors.AsType[*queue.SequenceError](outcome)
		switch {
		case outcome == nil:
			p, moves = b.after, 0
		case isMoved && moved.Segment == g.id:
			if p, err = sh.move(r, g, p, moved.Expected, count); err != nil {
				return sh.pauseAfter(g), err
			}
			moves++
		default:
			return sh.afterError(g, p, outcome)
		}
		sh.settle(g, p)
		if moves > 2 {
			return sh.pauseAfter(g), fmt.Errorf("the engine cannot agree on the next number: %w", outcome)
		}
	}
	return 0, nil
}

// append makes one append, noted before as begun: if this process dies now, the
// next one knows that the outcome is in doubt.
func (sh *shipper) append(ctx context.Context, g *segment, p progress, b batch) error {
	asked := p
	asked.asked = max(p.asked, b.after.sent)
	if asked != p {
		if err := g.note(asked); err != nil {
			sh.log.Error("spool: cannot note an append", "segment", g.id, "error", err)
		}
		sh.shelf.moved(g, asked)
	}
	ctx, cancel := context.WithTimeout(ctx, appendLimit)
	defer cancel()
	return sh.engine.Append(ctx, g.topic, g.partition, b.Batch)
}

// settle notes a known outcome.
func (sh *shipper) settle(g *segment, p progress) {
	sh.shelf.mu.Lock()
	g.progress = p
	recovered := g.failures > 0
	g.failures = 0
	sh.shelf.mu.Unlock()
	if err := g.note(p); err != nil {
		sh.log.Error("spool: cannot note an append", "segment", g.id, "error", err)
	}
	if recovered {
		sh.log.Info("spool: appends work again", "segment", g.id, "partition", g.partition)
	}
}

// afterError decides what an append without effect, or without a known one, means.
func (sh *shipper) afterError(g *segment, p progress, err error) (time.Duration, error) {
	if refused(err) && p.asked <= p.sent {
		// No earlier append is in doubt, and this one did nothing.
		if err := g.note(p); err != nil {
			sh.log.Error("spool: cannot note an append", "segment", g.id, "error", err)
		}
		sh.shelf.moved(g, p)
	}
	if full, ok := errors.AsType[*queue.FullError](err); ok {
		return min(max(full.RetryAfter, 50*time.Millisecond), 5*time.Second), err
	}
	return sh.pauseAfter(g), err
}

// refused reports whether an error says that nothing was appended.
func refused(err error) bool {
	for _, known := range []error{queue.ErrFull, queue.ErrNotFound, queue.ErrUnsupported, queue.ErrClosed} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func (sh *shipper) pauseAfter(g *segment) time.Duration {
	return backoff(g.failures, 50*time.Millisecond, 5*time.Second)
}

// move goes to the number that the engine expects: forward where an append landed
// whose reply was lost, backward where the engine lost its own tail.
func (sh *shipper) move(r *reader, g *segment, p progress, expected, count uint64) (progress, error) {
	if expected > count {
		return p, &unfitError{fmt.Sprintf("the engine has messages up to number %d of it, but only %d were written", expected, count)}
	}
	if expected < p.sent {
		sh.log.Warn("spool: the engine lost messages: sending them again", "segment", g.id, "from", expected, "sent", p.sent)
		p = progress{offset: headSize}
	}
	for p.sent < expected {
		b, err := sh.batch(r, g, p, expected)
		if err != nil {
			return p, fmt.Errorf("read segment: %w", err)
		}
		p = b.after
	}
	p.asked = p.sent
	return p, nil
}

// batch is what one append carries, and the progress once it is acknowledged.
type batch struct {
	queue.Batch
	after progress
}

// batch reads messages from p on, before the number until: at least one.
func (sh *shipper) batch(r *reader, g *segment, p progress, until uint64) (batch, error) {
	b := batch{Batch: queue.Batch{Segment: g.id, First: p.sent}, after: p}
	b.Messages = make([]queue.Message, 0, min(until-p.sent, maxBatchMessages))
	end, size := g.end.Load(), 0
	for n := 0; n < maxBatchMessages && b.after.sent < until; n++ {
		at := position{b.after.sent, b.after.offset}
		rec, lost, after, err := r.next(at, until, end)
		if err != nil {
			return batch{}, err
		}
		m := queue.Message{Type: queue.TypeLost, Time: g.created}
		if lost > 0 {
			after.number = at.number + 1 // The others that are lost follow one by one.
			sh.reportLost(g, at.number, lost)
		} else {
			m = sh.message(Record{Segment: g.id, Number: rec.number, At: fromNanos(rec.at), Payload: rec.payload})
			if sh.limit > 0 && messageSize(m) > sh.limit {
				sh.log.Error("spool: the engine takes no message so large: it is lost", "segment", g.id,
					"number", rec.number, "bytes", messageSize(m))
				m, lost = queue.Message{Type: queue.TypeLost, Time: m.Time}, 1
			}
		}
		size += messageSize(m)
		if n > 0 && (size > maxBatchBytes || sh.limit > 0 && size > sh.limit) {
			break
		}
		b.Messages = append(b.Messages, m)
		if lost > 0 {
			b.after.lost++
		}
		b.after.sent, b.after.offset = after.number, after.offset
	}
	b.after.asked = b.after.sent
	return b, nil
}

// reportLost speaks of a run of lost records once, when its first one is met.
func (sh *shipper) reportLost(g *segment, number, n uint64) {
	if number == g.lostFrom+g.lostRun && g.lostRun > 0 {
		g.lostRun++
		return
	}
	g.lostFrom, g.lostRun = number, 1
	sh.log.Error("spool: records cannot be read: they are lost", "segment", g.id, "from", number, "records", n)
}

// messageSize is at least what a message takes in a batch.
func messageSize(m queue.Message) int {
	n := 64 + len(m.ID) + len(m.Key) + len(m.Type) + len(m.Body)
	for k, v := range m.Headers {
		n += len(k) + len(v) + 16
	}
	return n
}
