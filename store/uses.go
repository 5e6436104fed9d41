package store

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"snip"
)

const (
	useStep  = time.Minute      // Between two writes of one key's last use.
	useDelay = 10 * time.Second // From a use until it is written, with all others of that time.
	useLimit = 5 * time.Second  // For writing them.
)

// uses remembers when keys were used until that is written: nobody who uses a key waits
// for it. It is safe for concurrent use.
type uses struct {
	log *slog.Logger

	mu   sync.Mutex          // Protects last.
	last map[int64]time.Time // By ID of the key, what is to be written.

	noted chan struct{} // Holds one item while there is something to write.
	stop  chan struct{} // Closed by the first close.
	once  sync.Once
	done  chan struct{} // Closed when the writer's goroutine has ended.
}

// newUses begins to write what is noted, until close.
func newUses(log *slog.Logger, write func(context.Context, map[int64]time.Time) error) *uses {
	u := &uses{
		log: log, last: map[int64]time.Time{},
		noted: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go u.run(write)
	return u
}

// note remembers that a key was used, unless the store tells that already.
func (u *uses) note(k snip.Key, now time.Time) {
	if now.Sub(k.LastUsed) < useStep {
		return
	}
	u.mu.Lock()
	u.last[k.ID] = now
	u.mu.Unlock()
	select {
	case u.noted <- struct{}{}:
	default:
	}
}

func (u *uses) run(write func(context.Context, map[int64]time.Time) error) {
	defer close(u.done)
	for {
		select {
		case <-u.stop:
			u.flush(write)
			return
		case <-u.noted:
		}
		timer := time.NewTimer(useDelay)
		select {
		case <-u.stop:
		case <-timer.C:
		}
		timer.Stop()
		u.flush(write)
	}
}

// flush writes what was noted. If that fails, the next use is noted again.
func (u *uses) flush(write func(context.Context, map[int64]time.Time) error) {
	u.mu.Lock()
	last := u.last
	u.last = map[int64]time.Time{}
	u.mu.Unlock()
	if len(last) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), useLimit)
	defer cancel()
	if err := write(ctx, last); err != nil {
		u.log.Warn("the last use of keys was not written", "keys", len(last), "error", err)
	}
}

// close writes what is left and waits for it.
func (u *uses) close() {
	u.once.Do(func() { close(u.stop) })
	<-u.done
}

// writeUses writes when keys were used, each at most once in useStep whoever else does.
func (s *Store) writeUses(ctx context.Context, last map[int64]time.Time) error {
	return s.write(ctx, func(ctx context.Context, tx session) error {
		for _, id := range slices.Sorted(maps.Keys(last)) { // Nobody locks them in another order.
			at := last[id]
			_, err := tx.ExecContext(ctx, `UPDATE keys SET last_used = $2 WHERE id = $1 AND (last_used IS NULL OR last_used <= $3)`,
				id, at.UnixMicro(), at.Add(-useStep).UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
