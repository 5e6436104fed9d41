package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// Get returns a task.
func (e *Engine) Get(ctx context.Context, name, id string) (info queue.TaskInfo, err error) {
	err = e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		now, err := e.moment()
		if err != nil {
			return err
		}
		for _, find := range []func(context.Context, sqlitefile.Tx, string, moment) (queue.TaskInfo, error){q.findTask, q.findDone, q.findDead} {
			if info, err = find(ctx, tx, id, now); !errors.Is(err, queue.ErrNotFound) {
				break
			}
		}
		return aboutTask(id, err)
	})
	if err != nil {
		return queue.TaskInfo{}, about(name, "get", err)
	}
	return info, nil
}

func aboutTask(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("task %q: %w", id, err)
}

func (q *tasks) findTask(ctx context.Context, tx sqlitefile.Tx, id string, now moment) (info queue.TaskInfo, err error) {
	var r record
	var until sql.NullInt64
	err = tx.QueryRowContext(ctx, `
		SELECT until, `+taskColumns+`, (SELECT frame FROM queue_frames f WHERE f.number = t.number)
		FROM queue_tasks t WHERE queue = ?1 AND id = ?2`, q.queue, id).
		Scan(append([]any{&until}, append(r.columns(), &r.frame)...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return info, queue.ErrNotFound
	}
	if err != nil {
		return info, err
	}
	return r.info(stateOf(r.due, until, now))
}

func stateOf(due int64, until sql.NullInt64, now moment) queue.TaskState {
	switch {
	case until.Valid && until.Int64 > now.up:
		return queue.StateLeased
	case !until.Valid && due > now.wall:
		return queue.StateDelayed
	}
	return queue.StateReady
}

func (q *tasks) findDone(ctx context.Context, tx sqlitefile.Tx, id string, now moment) (info queue.TaskInfo, err error) {
	var r record
	var ended int64
	var result []byte
	err = tx.QueryRowContext(ctx, `
		SELECT ended, result, `+taskColumns+`, frame FROM queue_done
		WHERE queue = ?1 AND id = ?2 AND kept > ?3`, q.queue, id, now.wall).
		Scan(append([]any{&ended, &result}, append(r.columns(), &r.frame)...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return info, queue.ErrNotFound
	}
	if err != nil {
		return info, err
	}
	info, err = r.info(queue.StateDone)
	info.Ended, info.Result = fromMicros(ended), result
	return info, err
}

// Cancel removes a task.
func (e *Engine) Cancel(ctx context.Context, name, id string) error {
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		number, _, err := q.find(ctx, tx, id)
		if err != nil {
			return aboutTask(id, err)
		}
		if err := remove(ctx, tx, []int64{number}); err != nil {
			return aboutTask(id, err)
		}
		_, err = tx.ExecContext(ctx, "UPDATE queue_queues SET tasks = tasks - 1 WHERE queue = ?1", q.queue)
		return err
	})
	return about(name, "cancel", err)
}

// find finds a task that is not done or dead, and the end of its lease.
func (q *tasks) find(ctx context.Context, tx sqlitefile.Tx, id string) (number int64, until sql.NullInt64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT number, until FROM queue_tasks WHERE queue = ?1 AND id = ?2", q.queue, id).Scan(&number, &until)
	if errors.Is(err, sql.ErrNoRows) {
		err = queue.ErrNotFound
	}
	return number, until, err
}

// Replace puts a task in the place of another.
func (e *Engine) Replace(ctx context.Context, name string, r queue.Task) error {
	if r.ID == "" {
		return about(name, "replace", errors.New("ID must be set"))
	}
	checked, err := queue.CheckTasks(e.Caps(), []queue.Task{r}, e.cfg.Now())
	if err == nil {
		err = e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error { return e.replace(ctx, tx, name, checked[0]) })
	}
	if err != nil {
		return about(name, "replace", err)
	}
	e.waker.ring(name)
	return nil
}

func (e *Engine) replace(ctx context.Context, tx sqlitefile.Tx, name string, t queue.CheckedTask) error {
	q, err := growQueue(ctx, tx, name)
	if err != nil {
		return err
	}
	now, err := e.moment()
	if err != nil {
		return err
	}
	number, until, err := q.find(ctx, tx, t.ID)
	if err == nil && until.Valid && until.Int64 > now.up {
		err = fmt.Errorf("it is leased: %w", queue.ErrConflict)
	}
	if err != nil {
		return aboutTask(t.ID, err)
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE queue_tasks SET type = ?2, named = ?3, bytes = ?4, due = ?5, deadline = ?6, pushed = ?7,
			failed = 0, lost = 0, released = 0, until = NULL, token = 0, error = '', progress = NULL
		WHERE number = ?1`,
		number, t.Type, t.Named, len(t.Frame), t.Due(fromMicros(now.wall)).UnixMicro(), micros(t.Deadline), now.wall)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE queue_frames SET frame = ?2 WHERE number = ?1", number, t.Frame)
	}
	return aboutTask(t.ID, err)
}

// Pause makes a queue give nothing.
func (e *Engine) Pause(ctx context.Context, name string) error {
	return about(name, "pause", e.pause(ctx, name, true))
}

// Resume ends that.
func (e *Engine) Resume(ctx context.Context, name string) error {
	err := e.pause(ctx, name, false)
	if err == nil {
		e.waker.ring(name)
	}
	return about(name, "resume", err)
}

func (e *Engine) pause(ctx context.Context, name string, paused bool) error {
	return e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		return one(queue.ErrNotFound)(tx.ExecContext(ctx, "UPDATE queue_queues SET paused = ?2, grown = grown + 1 WHERE name = ?1", name, paused))
	})
}
