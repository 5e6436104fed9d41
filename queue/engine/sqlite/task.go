package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// tasks is a queue's row.
type tasks struct {
	queue  int64 // Names it in the other tables.
	config queue.QueueConfig
	paused bool

	count, dead          int64
	dropped, droppedDead int64
}

// moment is when something is done, in microseconds.
type moment struct {
	wall int64 // Since 1970, by Config.Now.
	up   int64 // Since the host was booted: the clock of leases.
}

func (e *Engine) moment() (moment, error) {
	up, err := uptime()
	return moment{wall: e.cfg.Now().UnixMicro(), up: up.Microseconds()}, err
}

// DeclareQueue makes a queue, or changes its bounds.
func (e *Engine) DeclareQueue(ctx context.Context, c queue.QueueConfig) error {
	c, err := c.Check(e.Caps())
	if err != nil {
		return err
	}
	c.Durability = 0 // Not kept: it was checked.
	// Mostly it is there, as it shall be: then nothing is written.
	var same bool
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, c.Name)
		same = err == nil && q.config == c
		if errors.Is(err, queue.ErrNotFound) {
			return nil
		}
		return err
	})
	if err == nil && !same {
		err = e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
			_, err := tx.ExecContext(ctx, `
				INSERT INTO queue_queues (name, max_tasks, overflow, remember, keep_done, max_dead, keep_dead)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
				ON CONFLICT (name) DO UPDATE SET max_tasks = excluded.max_tasks, overflow = excluded.overflow,
					remember = excluded.remember, keep_done = excluded.keep_done,
					max_dead = excluded.max_dead, keep_dead = excluded.keep_dead`,
				c.Name, c.MaxTasks, string(c.Overflow), int64(c.Remember), int64(c.KeepDone), c.MaxDead, int64(c.KeepDead))
			return err
		})
	}
	return about(c.Name, "declare", err)
}

const queueColumns = "queue, name, max_tasks, overflow, remember, keep_done, max_dead, keep_dead, paused, tasks, dead, dropped, dropped_dead"

func findQueue(ctx context.Context, tx sqlitefile.Tx, name string) (tasks, error) {
	return scanQueue(tx.QueryRowContext(ctx, "SELECT "+queueColumns+" FROM queue_queues WHERE name = ?1", name))
}

// growQueue finds a queue that gets more to pull. It is the first statement of its
// transaction: one that read before it wrote could not wait for the lock.
func growQueue(ctx context.Context, tx sqlitefile.Tx, name string) (tasks, error) {
	return scanQueue(tx.QueryRowContext(ctx, "UPDATE queue_queues SET grown = grown + 1 WHERE name = ?1 RETURNING "+queueColumns, name))
}

func scanQueue(row *sql.Row) (q tasks, err error) {
	c := &q.config
	err = row.Scan(&q.queue, &c.Name, &c.MaxTasks, &c.Overflow, &c.Remember, &c.KeepDone, &c.MaxDead, &c.KeepDead,
		&q.paused, &q.count, &q.dead, &q.dropped, &q.droppedDead)
	if errors.Is(err, sql.ErrNoRows) {
		err = queue.ErrNotFound
	}
	return q, err
}

// about says which queue an error is of, and what was done with it.
func about(name, what string, err error) error {
	if err == nil || errors.Is(err, queue.ErrFull) { // Which says so itself.
		return err
	}
	return fmt.Errorf("queue %q: %s: %w", name, what, err)
}

// QueueStats describes a queue.
func (e *Engine) QueueStats(ctx context.Context, name string) (s queue.QueueStats, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		now, err := e.moment()
		if err != nil {
			return err
		}
		s, err = q.stats(ctx, tx, now)
		return err
	})
	return s, about(name, "stats", err)
}

func (q *tasks) stats(ctx context.Context, tx sqlitefile.Tx, now moment) (queue.QueueStats, error) {
	s := queue.QueueStats{MaxTasks: q.config.MaxTasks, Paused: q.paused, Dropped: q.dropped, DroppedDead: q.droppedDead}
	types, err := q.types(ctx, tx)
	if err != nil {
		return s, err
	}
	// Delayed tasks, of which there may be very many, are not counted: they are the rest.
	var old int64
	var oldestDead sql.NullInt64
	err = tx.QueryRowContext(ctx, `
		SELECT
			(SELECT COUNT(*) FROM queue_tasks WHERE queue = ?1 AND until > ?3),
			(SELECT COUNT(*) FROM queue_tasks WHERE queue = ?1 AND until <= ?3) +
			(SELECT COUNT(*) FROM json_each(?4) j CROSS JOIN queue_tasks t
				WHERE t.queue = ?1 AND t.type = j.value AND t.until IS NULL AND t.due <= ?2),
			(SELECT COUNT(*) FROM queue_dead WHERE queue = ?1 AND buried <= ?5),
			(SELECT MIN(buried) FROM queue_dead WHERE queue = ?1 AND buried > ?5),
			(SELECT COUNT(*) FROM queue_done WHERE queue = ?1 AND kept > ?2)`,
		q.queue, now.wall, now.up, asJSON(types), q.deadBefore(now)).
		Scan(&s.Leased, &s.Ready, &old, &oldestDead, &s.Kept)
	if err != nil {
		return s, err
	}
	s.Delayed = q.count - s.Leased - s.Ready
	// Those that are past their time and not purged yet are not there.
	s.Dead = q.dead - old
	s.DroppedDead += old
	if oldestDead.Valid {
		s.OldestDead = fromMicros(oldestDead.Int64)
	}
	longest, err := q.ready(ctx, tx, now, types, 1)
	if err == nil && len(longest) > 0 {
		s.OldestReady = fromMicros(longest[0].due)
	}
	return s, err
}

// types returns the types of all tasks of a queue. It looks each one up in the index,
// and passes over its tasks.
func (q *tasks) types(ctx context.Context, tx sqlitefile.Tx) ([]string, error) {
	return collect[string](tx.QueryContext(ctx, `
		WITH RECURSIVE types (type) AS (
			SELECT MIN(type) FROM queue_tasks WHERE queue = ?1 AND until IS NULL
			UNION ALL
			SELECT (SELECT MIN(t.type) FROM queue_tasks t WHERE t.queue = ?1 AND t.until IS NULL AND t.type > types.type)
			FROM types WHERE type IS NOT NULL
		)
		SELECT type FROM types WHERE type IS NOT NULL
		UNION SELECT type FROM queue_tasks WHERE queue = ?1 AND until IS NOT NULL`, q.queue))
}

// deadBefore is the instant of burial from which on dead letters are kept no longer.
func (q *tasks) deadBefore(now moment) int64 {
	return now.wall - q.config.KeepDead.Microseconds()
}

// collect returns the one column of the rows.
func collect[T any](rows *sql.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func fromMicros(t int64) time.Time { return time.UnixMicro(t).UTC() }

// micros is null for the zero time.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func fromNullMicros(t sql.NullInt64) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return fromMicros(t.Int64)
}
