package spool

import (
	"context"
	"errors"
	"sync"
	"time"

	"snip/queue"
)

// Record is a message as it came in. Its payload may be kept.
type Record struct {
	Segment queue.SegmentID
	Number  uint64 // In its segment, from 0.
	At      time.Time
	Payload []byte
}

const (
	maxBatchMessages = 1000
	maxBatchBytes    = 512 << 10
	gatherTime       = 25 * time.Millisecond // How long the first message waits for others.
	adoptEvery       = time.Second
	appendLimit      = 10 * time.Second
	maxLanes         = 8
)

// Ship sends the segments to the engine, the one that is being written included,
// until ctx ends. Then it goes on until all that this process recorded is sent,
// for at most Config.Drain; what is left stays on the disk, and is no error.
// It also adopts and sends what dead processes left.
//
// message makes the message of a record. It may be called from several goroutines
// and more than once for a record, and must answer the same each time. The topic
// must have been declared.
//
// Outages are waited out, with growing pauses. An append whose outcome is unknown
// is repeated until it is known, and nothing of its segment is sent or dropped
// meanwhile. One Ship runs at a time.
func (s *Spool) Ship(ctx context.Context, engine queue.LogEngine, message func(Record) queue.Message) error {
	if engine == nil || message == nil {
		return errors.New("spool: ship: engine and message must be set")
	}
	if !s.shipping.TryLock() {
		return errors.New("spool: ship: another Ship runs, or the spool is closed")
	}
	defer s.shipping.Unlock()
	if s.life.Err() != nil {
		return queue.ErrClosed
	}
	sh := &shipper{
		Spool:   s,
		engine:  engine,
		message: message,
		limit:   engine.Caps().MaxBatchBytes,
		lanes:   int(min(max(2, s.cfg.MaxBytes/s.cfg.SegmentBytes/4), maxLanes)),
		ended:   make(chan struct{}, 1),
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer sh.tasks.Wait()
	defer stop()
	defer context.AfterFunc(s.life, stop)()
	sh.run(ctx, work)
	if n := sh.ownUnsent(); n > 0 {
		s.log.Warn("spool: messages were not sent and stay on the disk", "messages", n)
	}
	return nil
}

// shipper is what one Ship owns.
type shipper struct {
	*Spool
	engine  queue.LogEngine
	message func(Record) queue.Message
	limit   int // Bytes of a batch that the engine takes; 0 for any.

	// lanes bounds the segments whose append is in flight or in doubt, so that an
	// outage leaves others that may be dropped at the bound.
	lanes int

	tasks sync.WaitGroup
	ended chan struct{} // Told when a task has ended.
}

// run hands segments to tasks until ctx ended and the rest is sent, or work ends.
func (sh *shipper) run(ctx, work context.Context) {
	intakeOver := ctx.Done()
	var limit <-chan time.Time
	var adopted time.Time
	for {
		if time.Since(adopted) >= adoptEvery {
			sh.adoptAll(work)
			adopted = time.Now()
		}
		sh.intake.asleep.Store(true)
		next := sh.start(work, adopted.Add(adoptEvery))
		if ctx.Err() != nil && sh.ownUnsent() == 0 && !sh.ownBusy() {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-sh.intake.wake:
			_ = pause(work, gatherTime)
		case <-sh.ended:
			_ = pause(work, gatherTime)
		case <-intakeOver:
			intakeOver = nil
			limit = time.After(sh.cfg.Drain)
		case <-limit:
			return
		case <-work.Done():
			return
		}
		timer.Stop()
	}
}

func (sh *shipper) adoptAll(ctx context.Context) {
	// A process that was stopped while it held the lock must not stop shipping.
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if sh.ledger.lock(ctx) != nil {
		return
	}
	defer sh.ledger.unlock()
	if err := sh.adopt(); err != nil {
		sh.log.Error("spool: cannot adopt segments", "error", err)
	}
}

// start begins a task for each segment that has something to send and may, and
// returns when the next one may.
func (sh *shipper) start(ctx context.Context, next time.Time) time.Time {
	sh.shelf.mu.Lock()
	defer sh.shelf.mu.Unlock()
	segments := sh.shelf.sorted()
	lanes := sh.lanes
	taken := map[int]bool{}   // Partitions that one segment is sent to, the active one aside.
	failing := map[int]bool{} // Partitions that one segment probes for all others.
	for _, g := range segments {
		if g.busy || g.doubt() {
			lanes--
			taken[g.partition] = taken[g.partition] || g.full.Load()
			failing[g.partition] = failing[g.partition] || g.failures > 0
		}
	}
	now := time.Now()
	for _, g := range activeFirst(segments) {
		if g.busy || g.unsent() == 0 && !g.doubt() && !g.full.Load() {
			continue
		}
		if g.notBefore.After(now) {
			if g.notBefore.Before(next) {
				next = g.notBefore
			}
			continue
		}
		if !g.doubt() && g.unsent() > 0 {
			if lanes <= 0 || failing[g.partition] || g.full.Load() && taken[g.partition] {
				continue
			}
			lanes--
			taken[g.partition] = taken[g.partition] || g.full.Load()
		}
		g.busy = true
		sh.tasks.Go(func() { sh.serve(ctx, g) })
	}
	return next
}

// activeFirst puts the segment that is being written before those that are not, so
// that new messages do not wait for a backlog.
func activeFirst(segments []*segment) []*segment {
	var active, rest []*segment
	for _, g := range segments {
		if g.full.Load() {
			rest = append(rest, g)
		} else {
			active = append(active, g)
		}
	}
	return append(active, rest...)
}

// ownUnsent returns how many messages that this process recorded are unsent.
func (sh *shipper) ownUnsent() (n uint64) {
	sh.shelf.mu.Lock()
	defer sh.shelf.mu.Unlock()
	for _, g := range sh.shelf.segments {
		if g.own {
			n += g.unsent()
		}
	}
	return n
}

func (sh *shipper) ownBusy() bool {
	sh.shelf.mu.Lock()
	defer sh.shelf.mu.Unlock()
	for _, g := range sh.shelf.segments {
		if g.own && g.busy {
			return true
		}
	}
	return false
}

// serve is the task of one segment: it sends what stands in it, and lets it go when
// there will be no more.
func (sh *shipper) serve(ctx context.Context, g *segment) {
	defer nudge(sh.ended)
	wait, err := sh.send(ctx, g)
	unfit, isUnfit := errors.AsType[*unfitError](err)
	if isUnfit {
		sh.log.Error("spool: segment cannot be sent", "segment", g.id, "error", unfit)
		sh.intake.abandon(g)
	}
	if isUnfit || err == nil && sh.shelf.finished(g) {
		if err = sh.retire(ctx, g, isUnfit); err == nil {
			return
		}
		wait = sh.pauseAfter(g)
	}
	sh.shelf.mu.Lock()
	defer sh.shelf.mu.Unlock()
	g.busy = false
	g.notBefore = time.Now().Add(wait)
	if err == nil || ctx.Err() != nil {
		return
	}
	g.failures++
	// At the longest pause this is about once in three minutes.
	if g.failures == 1 || g.failures%50 == 0 {
		sh.log.Warn("spool: segment is not done, will be tried again", "segment", g.id, "partition", g.partition,
			"failures", g.failures, "error", err)
	}
}
