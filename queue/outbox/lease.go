package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// errHeld: another forwarder has the lease.
var errHeld = errors.New("another forwarder has the lease")

// lease is this forwarder's view of who sends for a topic.
type lease struct {
	topic  string
	me     string        // Random: no two forwarders share it.
	length time.Duration // Without a beat for so long the holder is taken for dead.

	seen  beat      // The other holder's last one.
	since time.Time // When it was seen first, by the monotonic clock.
}

// beat is the lease as it stood at one moment. Nobody's holder is empty.
type beat struct {
	holder string
	count  int64
}

// look reports whether the lease may be taken: it is free, our own, or that of a
// holder who was not heard of for its length.
func (l *lease) look(ctx context.Context, db *sql.DB) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var b beat
	err := db.QueryRowContext(ctx, `SELECT holder, beats FROM outbox_leases WHERE topic = $1`, l.topic).Scan(&b.holder, &b.count)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read the lease: %w", err)
	}
	if b.holder == "" || b.holder == l.me {
		return true, nil
	}
	if b != l.seen {
		l.seen, l.since = b, time.Now()
		return false, nil
	}
	return time.Since(l.since) >= l.length, nil
}

// take takes the lease or keeps it for another while, and locks it until the end of
// the transaction. It returns errHeld if somebody else was faster.
func (l *lease) take(ctx context.Context, tx *sql.Tx) error {
	dead := beat{count: -1} // Nobody's.
	if l.seen.holder != "" && time.Since(l.since) >= l.length {
		dead = l.seen
	}
	n, err := changed(tx.ExecContext(ctx, `
		UPDATE outbox_leases SET holder = $2, beats = beats + 1
		WHERE topic = $1 AND (holder = $2 OR holder = '' OR holder = $3 AND beats = $4)`,
		l.topic, l.me, dead.holder, dead.count))
	if err == nil && n == 0 {
		n, err = changed(tx.ExecContext(ctx, `
			INSERT INTO outbox_leases (topic, holder, beats) VALUES ($1, $2, 1)
			ON CONFLICT (topic) DO NOTHING`, l.topic, l.me))
	}
	if err != nil {
		return fmt.Errorf("take the lease: %w", err)
	}
	if n == 0 {
		return errHeld
	}
	return nil
}

// release gives the lease back, in a transaction that took it.
func (l *lease) release(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE outbox_leases SET holder = '' WHERE topic = $1`, l.topic)
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}

func changed(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
