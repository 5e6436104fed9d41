package inbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// OnceSchema makes the table of Once, in SQL that SQLite and PostgreSQL both run.
const OnceSchema = `
CREATE TABLE inbox_once (id TEXT PRIMARY KEY, done_at BIGINT NOT NULL);
CREATE INDEX inbox_once_done ON inbox_once (done_at);
`

// Once makes a task that is run again harmless: a handler whose effects are SQL rows
// asks in their transaction whether its task's ID was done before. It is safe for
// concurrent use.
type Once struct {
	// Window is how long an ID is remembered. It must be longer than a task can live,
	// with all its attempts and its time among the dead letters. Default: 90 days.
	Window time.Duration
	// Now is the wall clock. Default: time.Now.
	Now func() time.Time
}

// First tells whether the ID is done for the first time, and remembers it with the
// transaction. If another transaction is doing the same right now, it waits for the end
// of that.
func (o *Once) First(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	res, err := tx.ExecContext(ctx, "INSERT INTO inbox_once (id, done_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
		id, o.now().UnixMicro())
	if err != nil {
		return false, fmt.Errorf("inbox: once %q: %w", id, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("inbox: once %q: %w", id, err)
	}
	return n == 1, nil
}

// Forget forgets up to limit IDs that are past the window, and returns how many. Call it
// now and then.
func (o *Once) Forget(ctx context.Context, tx *sql.Tx, limit int) (int64, error) {
	window := o.Window
	if window == 0 {
		window = 90 * 24 * time.Hour
	}
	res, err := tx.ExecContext(ctx, `
		DELETE FROM inbox_once WHERE id IN (SELECT id FROM inbox_once WHERE done_at < $1 ORDER BY done_at LIMIT $2)`,
		o.now().Add(-window).UnixMicro(), limit)
	if err != nil {
		return 0, fmt.Errorf("inbox: forget what was done once: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("inbox: forget what was done once: %w", err)
	}
	return n, nil
}

func (o *Once) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}
