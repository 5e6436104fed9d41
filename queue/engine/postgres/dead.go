package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// ListDead returns dead letters.
func (e *Engine) ListDead(ctx context.Context, name string, after int64, limit int) ([]queue.DeadLetter, error) {
	letters, err := collect(ctx, e, scanDeadLetter, `
		SELECT d.number, d.frame, d.due, d.deadline, d.reason, coalesce(d.error, ''), d.pushed, d.buried, d.failed, d.lost, d.released
		FROM queue.find($1::text) q JOIN queue.dead d ON d.queue = q.queue
		WHERE d.number > $2::bigint AND d.buried > queue.now() - q.keep_dead ORDER BY d.number LIMIT $3::int`,
		name, after, clamp(limit))
	if err != nil {
		return nil, fmt.Errorf("dead letters of queue %q: %w", name, queueError(err))
	}
	return letters, nil
}

func scanDeadLetter(row pgx.CollectableRow) (d queue.DeadLetter, err error) {
	var frame []byte
	var due, pushed, buried int64
	var deadline *int64
	if err := row.Scan(&d.Number, &frame, &due, &deadline, &d.Reason, &d.Error, &pushed, &buried, &d.Failed, &d.Lost, &d.Released); err != nil {
		return d, err
	}
	d.Pushed, d.Buried = fromMicros(&pushed), fromMicros(&buried)
	d.Task, err = makeTask(d.Number, frame, due, deadline)
	return d, err
}

// Redrive puts dead letters back.
func (e *Engine) Redrive(ctx context.Context, name string, numbers []int64, limit int) (int, error) {
	n, err := e.redrive(ctx, name, numbers, limit)
	if err != nil {
		return 0, fmt.Errorf("redrive in queue %q: %w", name, queueError(err))
	}
	if n > 0 {
		e.grewQueue(name)
	}
	return n, nil
}

func (e *Engine) redrive(ctx context.Context, name string, numbers []int64, limit int) (n int, err error) {
	limit = clamp(limit)
	want := limit
	if len(numbers) > 0 {
		want = min(limit, len(numbers))
	}
	count, dead := e.tasks.of(name), e.dead.of(name)
	epoch := dead.now()
	room, err := count.reserve(ctx, want, e.countTasks(e.row, name))
	if err != nil {
		return 0, err
	}
	err = e.row(ctx, "SELECT queue.redrive($1::text, $2::bigint[], $3::int, $4::bigint)",
		[]any{name, orEmpty(numbers), limit, room.there}, &n)
	if err != nil {
		count.doubt(room)
		dead.distrust()
		return 0, err
	}
	count.use(room, max(n, 0))
	if n < 0 {
		return 0, &queue.FullError{Subject: fmt.Sprintf("queue %q", name), RetryAfter: time.Second}
	}
	dead.less(n, epoch)
	return n, nil
}

// orEmpty is an array of nothing in place of null.
func orEmpty(numbers []int64) []int64 {
	if numbers == nil {
		return []int64{}
	}
	return numbers
}

// DeleteDead forgets dead letters.
func (e *Engine) DeleteDead(ctx context.Context, name string, numbers []int64, limit int) (n int, err error) {
	dead := e.dead.of(name)
	epoch := dead.now()
	// In the order of those that lock them: by number.
	err = e.row(ctx, `
		WITH chosen AS MATERIALIZED (
			SELECT d.queue, d.number FROM queue.find($1::text) q JOIN queue.dead d ON d.queue = q.queue
			WHERE d.buried > queue.now() - q.keep_dead AND (cardinality($2::bigint[]) = 0 OR d.number = ANY ($2::bigint[]))
			ORDER BY d.number LIMIT $3::int FOR UPDATE OF d
		), gone AS (
			DELETE FROM queue.dead d USING chosen c WHERE d.queue = c.queue AND d.number = c.number RETURNING d.number
		)
		SELECT count(*) FROM gone`, []any{name, orEmpty(numbers), clamp(limit)}, &n)
	if err != nil {
		dead.distrust()
		return 0, fmt.Errorf("delete dead letters of queue %q: %w", name, queueError(err))
	}
	dead.less(n, epoch)
	return n, nil
}

// clamp makes a limit one that the server takes.
func clamp(limit int) int { return min(max(limit, 0), math.MaxInt32) }
