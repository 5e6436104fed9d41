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

// purgeTogether is how many dead letters that are past their time one call removes.
const purgeTogether = 100

// bury writes the dead letters, before the tasks are removed.
func (s *settling) bury(ctx context.Context, tx sqlitefile.Tx) error {
	if len(s.buried) == 0 {
		return nil
	}
	rows := make([][3]any, len(s.buried)) // Task, reason, error.
	for i, v := range s.buried {
		rows[i] = [3]any{v.Lease.Task, v.Reason, v.Error}
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO queue_dead (queue, id, type, named, due, deadline, pushed, buried, failed, lost, released, reason, error, progress, frame)
		SELECT t.queue, t.id, t.type, t.named, t.due, t.deadline, t.pushed, ?2, t.failed + (j.value ->> 1 = ?3),
			t.lost, t.released, j.value ->> 1, j.value ->> 2, t.progress, f.frame
		FROM json_each(?1) j CROSS JOIN queue_tasks t ON t.number = j.value ->> 0
			CROSS JOIN queue_frames f ON f.number = t.number
		ORDER BY j.key`, asJSON(rows), s.now.wall, string(queue.ReasonFailed))
	if err != nil {
		return err
	}
	s.dead += int64(len(s.buried))
	over := max(0, s.dead-s.config.MaxDead)
	if over > 0 {
		err = s.dropDead(ctx, tx, "SELECT number FROM queue_dead WHERE queue = ?1 ORDER BY number LIMIT ?2", over)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE queue_queues SET dead = dead + ?2 WHERE queue = ?1", s.queue, len(s.buried))
	}
	return err
}

// purgeDead removes a few dead letters that are past their time.
func (q *tasks) purgeDead(ctx context.Context, tx sqlitefile.Tx, now moment) error {
	if q.dead == 0 {
		return nil
	}
	return q.dropDead(ctx, tx, "SELECT number FROM queue_dead WHERE queue = ?1 AND buried <= ?3 ORDER BY buried LIMIT ?2", purgeTogether, q.deadBefore(now))
}

// dropDead removes dead letters that a query chooses, and counts them.
func (q *tasks) dropDead(ctx context.Context, tx sqlitefile.Tx, which string, args ...any) error {
	r, err := tx.ExecContext(ctx, "DELETE FROM queue_dead WHERE number IN ("+which+")", append([]any{q.queue}, args...)...)
	if err != nil {
		return fmt.Errorf("drop dead letters: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil || n == 0 {
		return err
	}
	q.dead -= n
	_, err = tx.ExecContext(ctx, "UPDATE queue_queues SET dead = dead - ?2, dropped_dead = dropped_dead + ?2 WHERE queue = ?1", q.queue, n)
	return err
}

// ListDead returns dead letters.
func (e *Engine) ListDead(ctx context.Context, name string, after int64, limit int) (letters []queue.DeadLetter, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		now, err := e.moment()
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `
			SELECT number, reason, buried, `+taskColumns+`, frame FROM queue_dead
			WHERE queue = ?1 AND number > ?2 AND +buried > ?3 ORDER BY number LIMIT ?4`,
			q.queue, after, q.deadBefore(now), max(0, limit))
		if err != nil {
			return err
		}
		letters, err = scanDead(rows)
		return err
	})
	return letters, about(name, "list dead letters", err)
}

func scanDead(rows *sql.Rows) (letters []queue.DeadLetter, err error) {
	defer rows.Close()
	for rows.Next() {
		var d queue.DeadLetter
		var r record
		var buried int64
		if err := rows.Scan(append([]any{&d.Number, &d.Reason, &buried}, append(r.columns(), &r.frame)...)...); err != nil {
			return nil, err
		}
		if d.Task, err = r.task(); err != nil {
			return nil, fmt.Errorf("dead letter %d: %w", d.Number, err)
		}
		d.Error, d.Pushed, d.Buried = r.err, fromMicros(r.pushed), fromMicros(buried)
		d.Failed, d.Lost, d.Released = r.failed, r.lost, r.released
		letters = append(letters, d)
	}
	return letters, rows.Err()
}

// chosenDead is a query of dead letters d: those of the numbers ?4, or with none named
// all. What limits it comes after.
func chosenDead(numbers []int64) string {
	if len(numbers) == 0 {
		// The plus keeps SQLite from sorting all there are: their order is that of the index.
		return "SELECT number FROM queue_dead d WHERE queue = ?1 AND +buried > ?2 AND ?4 = '[]'"
	}
	return "SELECT number FROM queue_dead d WHERE number IN (SELECT value FROM json_each(?4)) AND queue = ?1 AND buried > ?2"
}

func (q *tasks) chosen(now moment, numbers []int64, limit int) []any {
	return []any{q.queue, q.deadBefore(now), max(0, limit), numbersJSON(numbers)}
}

// Redrive puts dead letters back.
func (e *Engine) Redrive(ctx context.Context, name string, numbers []int64, limit int) (int, error) {
	n := 0
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := growQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		now, err := e.moment()
		if err != nil {
			return err
		}
		// Two dead letters may have one ID: the second stays.
		chosen, err := collect[int64](tx.QueryContext(ctx, chosenDead(numbers)+`
			AND NOT EXISTS (SELECT 1 FROM queue_tasks t WHERE t.queue = ?1 AND t.id = d.id)
			AND NOT EXISTS (
				SELECT 1 FROM queue_dead first
				WHERE first.queue = ?1 AND first.id = d.id AND first.number < d.number AND first.buried > ?2
					AND (?4 = '[]' OR first.number IN (SELECT value FROM json_each(?4))))
			ORDER BY number LIMIT ?3`, q.chosen(now, numbers, limit)...))
		if err != nil {
			return err
		}
		n = len(chosen)
		if n > 0 && q.count+int64(n) > q.config.MaxTasks {
			return &queue.FullError{Subject: fmt.Sprintf("queue %q", name), RetryAfter: time.Second}
		}
		return q.redrive(ctx, tx, chosen, now)
	})
	if err != nil {
		return 0, about(name, "redrive", err)
	}
	if n > 0 {
		e.waker.ring(name)
	}
	return n, nil
}

func (q *tasks) redrive(ctx context.Context, tx sqlitefile.Tx, chosen []int64, now moment) error {
	if len(chosen) == 0 {
		return nil
	}
	list := numbersJSON(chosen)
	// The numbers of the tasks follow the greatest there is.
	_, err := tx.ExecContext(ctx, `
		INSERT INTO queue_tasks (number, queue, id, type, named, bytes, due, deadline, pushed)
		SELECT (SELECT COALESCE(MAX(number), 0) FROM queue_frames) + 1 + j.key,
			d.queue, d.id, d.type, d.named, length(d.frame), ?2, d.deadline, d.pushed
		FROM json_each(?1) j CROSS JOIN queue_dead d ON d.number = j.value`, list, now.wall)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO queue_frames (number, frame)
		SELECT t.number, d.frame
		FROM json_each(?1) j CROSS JOIN queue_dead d ON d.number = j.value
			CROSS JOIN queue_tasks t ON t.queue = d.queue AND t.id = d.id
		ORDER BY t.number`, list)
	if err == nil {
		err = q.removeDead(ctx, tx, chosen)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE queue_queues SET tasks = tasks + ?2 WHERE queue = ?1", q.queue, len(chosen))
	}
	return err
}

// DeleteDead forgets dead letters.
func (e *Engine) DeleteDead(ctx context.Context, name string, numbers []int64, limit int) (int, error) {
	n := 0
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		now, err := e.moment()
		if err != nil {
			return err
		}
		chosen, err := collect[int64](tx.QueryContext(ctx, chosenDead(numbers)+" ORDER BY number LIMIT ?3", q.chosen(now, numbers, limit)...))
		if err != nil {
			return err
		}
		n = len(chosen)
		return q.removeDead(ctx, tx, chosen)
	})
	if err != nil {
		return 0, about(name, "delete dead letters", err)
	}
	return n, nil
}

// removeDead removes dead letters that are wanted no more. They do not count as dropped.
func (q *tasks) removeDead(ctx context.Context, tx sqlitefile.Tx, numbers []int64) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM queue_dead WHERE number IN (SELECT value FROM json_each(?1))", numbersJSON(numbers))
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE queue_queues SET dead = dead - ?2 WHERE queue = ?1", q.queue, len(numbers))
	}
	return err
}

// findDead returns the dead letter of an ID, the last one.
func (q *tasks) findDead(ctx context.Context, tx sqlitefile.Tx, id string, now moment) (info queue.TaskInfo, err error) {
	var r record
	var buried int64
	err = tx.QueryRowContext(ctx, `
		SELECT buried, `+taskColumns+`, frame FROM queue_dead
		WHERE queue = ?1 AND id = ?2 AND buried > ?3 ORDER BY number DESC LIMIT 1`, q.queue, id, q.deadBefore(now)).
		Scan(append([]any{&buried}, append(r.columns(), &r.frame)...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return info, queue.ErrNotFound
	}
	if err != nil {
		return info, err
	}
	info, err = r.info(queue.StateDead)
	info.Ended = fromMicros(buried)
	return info, err
}
