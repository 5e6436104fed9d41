package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// Get returns a task.
func (e *Engine) Get(ctx context.Context, name, id string) (queue.TaskInfo, error) {
	// One that is dead may have another after it that lives or is done.
	found, err := collect(ctx, e, scanTaskInfo, `
		WITH q AS MATERIALIZED (SELECT q.*, queue.now() AS moment FROM queue.find($1::text) q)
		SELECT * FROM (
			SELECT CASE WHEN t.ended IS NOT NULL THEN 'done' WHEN t.visible_at <= q.moment THEN 'ready'
					WHEN t.token <> 0 THEN 'leased' ELSE 'delayed' END,
				t.number, t.frame, t.due, t.deadline,
				t.pushed, t.failed, t.lost, t.released, coalesce(t.error, ''), t.progress, t.result, t.ended
			FROM q JOIN queue.tasks t ON t.queue = q.queue AND t.id = $2::text
			WHERE t.ended IS NULL OR t.kept_until > q.moment
		) task
		UNION ALL
		SELECT * FROM (
			SELECT 'dead', d.number, d.frame, d.due, d.deadline,
				d.pushed, d.failed, d.lost, d.released, coalesce(d.error, ''), d.progress, NULL::bytea, d.buried
			FROM q JOIN queue.dead d ON d.queue = q.queue AND d.id = $2::text
			WHERE d.buried > q.moment - q.keep_dead ORDER BY d.number DESC LIMIT 1
		) letter`, name, id)
	if err == nil && len(found) == 0 {
		err = queue.ErrNotFound
	}
	if err != nil {
		return queue.TaskInfo{}, taskError("get", name, id, err)
	}
	return found[0], nil
}

func scanTaskInfo(row pgx.CollectableRow) (i queue.TaskInfo, err error) {
	var number, at, pushed int64
	var frame []byte
	var deadline, ended *int64
	err = row.Scan(&i.State, &number, &frame, &at, &deadline, &pushed, &i.Failed, &i.Lost, &i.Released, &i.Error, &i.Progress, &i.Result, &ended)
	if err != nil {
		return i, err
	}
	i.Pushed, i.Ended = fromMicros(&pushed), fromMicros(ended)
	i.Task, err = makeTask(number, frame, at, deadline)
	return i, err
}

func taskError(what, name, id string, err error) error {
	return fmt.Errorf("%s task %q of queue %q: %w", what, id, name, queueError(err))
}

// Cancel removes a task.
func (e *Engine) Cancel(ctx context.Context, name, id string) error {
	count := e.tasks.of(name)
	epoch := count.now()
	err := e.change(ctx, queue.ErrNotFound, `
		DELETE FROM queue.tasks t USING queue.find($1::text) q WHERE t.queue = q.queue AND t.id = $2::text AND t.ended IS NULL`, name, id)
	if err != nil {
		return taskError("cancel", name, id, err)
	}
	count.less(1, epoch)
	return nil
}

// Replace puts a task in the place of another.
func (e *Engine) Replace(ctx context.Context, name string, r queue.Task) error {
	if r.ID == "" {
		return fmt.Errorf("replace in queue %q: ID must be set", name)
	}
	checked, err := queue.CheckTasks(e.Caps(), []queue.Task{r}, e.cfg.Now())
	if err != nil {
		return fmt.Errorf("replace in queue %q: %w", name, err)
	}
	t := checked[0]
	err = e.change(ctx, queue.ErrConflict, `
		UPDATE queue.tasks t SET
			due = n.due, visible_at = n.due, token = 0, failed = 0, lost = 0, released = 0, pushed = n.moment,
			deadline = $5::bigint, named = true, kind = $6::text, error = NULL, progress = NULL, frame = $7::bytea
		FROM (
			SELECT q.queue, m.moment, greatest($3::bigint, m.moment + $4::bigint) AS due
			FROM queue.find($1::text) q, queue.now() AS m (moment)
		) n
		WHERE t.queue = n.queue AND t.id = $2::text AND t.ended IS NULL AND (t.token = 0 OR t.visible_at <= n.moment)`,
		name, t.ID, micros(t.At), t.Delay.Microseconds(), micros(t.Deadline), t.Type, t.Frame)
	if errors.Is(err, queue.ErrConflict) {
		err = cmp.Or(e.find(ctx, name, t.ID), err)
	}
	if err != nil {
		return taskError("replace", name, t.ID, err)
	}
	e.grewQueue(name)
	return nil
}

// find tells whether a task is there that is not done.
func (e *Engine) find(ctx context.Context, name, id string) error {
	return e.change(ctx, queue.ErrNotFound, `
		SELECT FROM queue.find($1::text) q JOIN queue.tasks t ON t.queue = q.queue AND t.id = $2::text AND t.ended IS NULL`, name, id)
}

// Pause makes a queue give nothing.
func (e *Engine) Pause(ctx context.Context, name string) error {
	return e.pause(ctx, name, "UPDATE queue.queues SET paused = true WHERE name = $1::text")
}

// Resume ends that.
func (e *Engine) Resume(ctx context.Context, name string) error {
	return e.pause(ctx, name, "UPDATE queue.queues SET paused = false, resumed_at = queue.now() WHERE name = $1::text")
}

func (e *Engine) pause(ctx context.Context, name, update string) error {
	if err := e.change(ctx, queue.ErrNotFound, update, name); err != nil {
		return fmt.Errorf("pause or resume queue %q: %w", name, err)
	}
	e.grewQueue(name)
	return nil
}
