package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// insertTogether is how many rows one statement inserts: the texts are few, so that they
// stay prepared.
var insertTogether = [...]int{100, 10, 1}

// Push adds tasks.
func (e *Engine) Push(ctx context.Context, name string, all []queue.Task) ([]queue.PushResult, error) {
	checked, err := queue.CheckTasks(e.Caps(), all, e.cfg.Now())
	if err != nil {
		return nil, about(name, "push", err)
	}
	var results []queue.PushResult
	err = e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) (err error) {
		results, err = e.push(ctx, tx, name, checked)
		return err
	})
	if err != nil {
		return nil, about(name, "push", err)
	}
	e.waker.ring(name)
	return results, nil
}

// PushTx adds tasks in the caller's transaction. Where that has not read before, it
// waits for other writers as long as the caller's connection does.
func (e *Engine) PushTx(ctx context.Context, tx *sql.Tx, name string, all []queue.Task) ([]queue.PushResult, error) {
	if e.isClosed() {
		return nil, queue.ErrClosed
	}
	checked, err := queue.CheckTasks(e.Caps(), all, e.cfg.Now())
	if err != nil {
		return nil, about(name, "push", err)
	}
	results, err := e.push(ctx, tx, name, checked)
	if err != nil {
		return nil, about(name, "push", err)
	}
	return results, nil
}

// push leaves a transaction that must be rolled back when it fails.
func (e *Engine) push(ctx context.Context, tx sqlitefile.Tx, name string, checked []queue.CheckedTask) ([]queue.PushResult, error) {
	q, err := growQueue(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	// After the lock was waited for: what is pushed later is due later.
	now, err := e.moment()
	if err != nil {
		return nil, err
	}
	taken, err := q.takenIDs(ctx, tx, checked, now)
	if err != nil {
		return nil, err
	}
	results := make([]queue.PushResult, len(checked))
	fresh := make([]queue.CheckedTask, 0, len(checked))
	for i, t := range checked {
		results[i] = queue.PushResult{ID: t.ID, Pushed: !taken[t.ID]}
		if !taken[t.ID] {
			fresh = append(fresh, t)
		}
		if t.Named {
			taken[t.ID] = true
		}
	}
	dropped, err := q.makeRoom(ctx, tx, int64(len(fresh)), now)
	if err != nil {
		return nil, err
	}
	left := fresh
	for _, n := range insertTogether {
		for len(left) >= n {
			if err := q.insert(ctx, tx, left[:n], now); err != nil {
				return nil, err
			}
			left = left[n:]
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE queue_queues SET tasks = tasks + ?2, dropped = dropped + ?3 WHERE queue = ?1",
		q.queue, int64(len(fresh))-dropped, dropped)
	if err == nil {
		err = q.purgeDead(ctx, tx, now)
	}
	return results, err
}

// takenIDs returns the IDs that are in the queue or remembered. Those made at random
// are not looked up.
func (q *tasks) takenIDs(ctx context.Context, tx sqlitefile.Tx, checked []queue.CheckedTask, now moment) (map[string]bool, error) {
	taken := map[string]bool{}
	var named []string
	for _, t := range checked {
		if t.Named {
			named = append(named, t.ID)
		}
	}
	if len(named) == 0 {
		return taken, nil
	}
	ids, err := collect[string](tx.QueryContext(ctx, `
		SELECT value FROM json_each(?2)
		WHERE EXISTS (SELECT 1 FROM queue_tasks WHERE queue = ?1 AND id = value)
			OR EXISTS (SELECT 1 FROM queue_done WHERE queue = ?1 AND id = value AND until > ?3)`,
		q.queue, asJSON(named), now.wall))
	if err != nil {
		return nil, fmt.Errorf("look for IDs: %w", err)
	}
	for _, id := range ids {
		taken[id] = true
	}
	return taken, purgeDone(ctx, tx, now, 10)
}

// makeRoom drops ready tasks where the queue wants that, or refuses. It returns how many
// it dropped.
func (q *tasks) makeRoom(ctx context.Context, tx sqlitefile.Tx, n int64, now moment) (int64, error) {
	over := q.count + n - q.config.MaxTasks
	if n == 0 || over <= 0 { // The bound may have been lowered.
		return 0, nil
	}
	full := &queue.FullError{Subject: fmt.Sprintf("queue %q", q.config.Name), RetryAfter: time.Second}
	if q.config.Overflow != queue.DropOldest {
		return 0, full
	}
	types, err := q.types(ctx, tx)
	if err != nil {
		return 0, err
	}
	victims, err := q.ready(ctx, tx, now, types, over)
	if err != nil {
		return 0, err
	}
	if int64(len(victims)) < over {
		return 0, full
	}
	numbers := make([]int64, len(victims))
	for i, v := range victims {
		numbers[i] = v.number
	}
	return over, remove(ctx, tx, numbers)
}

// insert adds tasks. The rows of one statement get numbers that follow each other.
func (q *tasks) insert(ctx context.Context, tx sqlitefile.Tx, fresh []queue.CheckedTask, now moment) error {
	frames := make([]any, len(fresh))
	for i, t := range fresh {
		frames[i] = t.Frame
	}
	r, err := tx.ExecContext(ctx, "INSERT INTO queue_frames (frame) VALUES "+rowsOf(1, len(fresh)), frames...)
	if err != nil {
		return fmt.Errorf("insert messages: %w", err)
	}
	last, err := r.LastInsertId()
	if err != nil {
		return fmt.Errorf("insert messages: %w", err)
	}
	const columns = 9
	values := make([]any, 0, columns*len(fresh))
	for i, t := range fresh {
		number := last - int64(len(fresh)-1-i)
		due := t.Due(fromMicros(now.wall)).UnixMicro()
		values = append(values, number, q.queue, t.ID, t.Type, t.Named, len(t.Frame), due, micros(t.Deadline), now.wall)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO queue_tasks (number, queue, id, type, named, bytes, due, deadline, pushed) VALUES "+
		rowsOf(columns, len(fresh)), values...)
	if err != nil {
		return fmt.Errorf("insert tasks: %w", err)
	}
	return nil
}

// rowsOf returns the parameters of rows.
func rowsOf(columns, rows int) string {
	row := ",(?" + strings.Repeat(",?", columns-1) + ")"
	return strings.Repeat(row, rows)[1:]
}

// remove removes tasks.
func remove(ctx context.Context, tx sqlitefile.Tx, numbers []int64) error {
	list := numbersJSON(numbers)
	for _, table := range []string{"queue_tasks", "queue_frames"} {
		_, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE number IN (SELECT value FROM json_each(?1))", list)
		if err != nil {
			return fmt.Errorf("remove tasks: %w", err)
		}
	}
	return nil
}

// Wake tells workers that there may be more in a queue. Those of other processes find
// out by themselves.
func (e *Engine) Wake(ctx context.Context, name string) { e.waker.ring(name) }
