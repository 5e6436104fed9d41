package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

const maxTaskBytes = 16 << 20

// DeclareQueue makes a queue, or changes its bounds.
func (e *Engine) DeclareQueue(ctx context.Context, c queue.QueueConfig) error {
	c, err := c.Check(e.Caps())
	if err != nil {
		return err
	}
	// One that is as it shall be is not written.
	_, err = collect(ctx, e, pgx.RowTo[int], `
		INSERT INTO queue.queues AS q (name, max_tasks, overflow, remember, keep_done, max_dead, keep_dead)
		SELECT n.* FROM (VALUES ($1::text, $2::bigint, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::bigint))
			AS n (name, max_tasks, overflow, remember, keep_done, max_dead, keep_dead)
		WHERE NOT EXISTS (
			SELECT FROM queue.queues o WHERE o.name = n.name
				AND (o.max_tasks, o.overflow, o.remember, o.keep_done, o.max_dead, o.keep_dead)
				= (n.max_tasks, n.overflow, n.remember, n.keep_done, n.max_dead, n.keep_dead))
		ON CONFLICT (name) DO UPDATE SET max_tasks = excluded.max_tasks, overflow = excluded.overflow, remember = excluded.remember,
			keep_done = excluded.keep_done, max_dead = excluded.max_dead, keep_dead = excluded.keep_dead
		RETURNING queue`,
		c.Name, c.MaxTasks, string(c.Overflow), max(c.Remember, 0).Microseconds(), c.KeepDone.Microseconds(), c.MaxDead, c.KeepDead.Microseconds())
	if err != nil {
		return fmt.Errorf("declare queue %q: %w", c.Name, err)
	}
	return nil
}

// Push adds tasks.
func (e *Engine) Push(ctx context.Context, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	results, err := e.push(ctx, e.row, name, tasks)
	if err != nil {
		return nil, fmt.Errorf("push to queue %q: %w", name, queueError(err))
	}
	if slices.ContainsFunc(results, func(r queue.PushResult) bool { return r.Pushed }) {
		e.grewQueue(name)
	}
	e.sweeper.wake()
	return results, nil
}

// oneRow runs a statement and scans its only row.
type oneRow func(ctx context.Context, sql string, args []any, into ...any) error

// row is oneRow in a transaction of its own.
func (e *Engine) row(ctx context.Context, sql string, args []any, into ...any) error {
	return e.try(ctx, func(ctx context.Context) error {
		return e.pool.QueryRow(ctx, e.statement(sql), append([]any{e.mode}, args...)...).Scan(into...)
	})
}

func (e *Engine) push(ctx context.Context, row oneRow, name string, tasks []queue.Task) ([]queue.PushResult, error) {
	checked, err := queue.CheckTasks(e.Caps(), tasks, e.cfg.Now())
	if err != nil {
		return nil, err
	}
	count := e.tasks.of(name)
	room, err := count.reserve(ctx, len(checked), e.countTasks(row, name))
	if err != nil {
		return nil, err
	}
	var full bool
	var skipped string
	var dropped int
	err = row(ctx, `
		SELECT is_full, coalesce(array_to_string(skipped, ' '), ''), dropped FROM queue.push($1::text, $2::bigint,
			$3::int, $4::int[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[])`,
		append([]any{name, room.there}, pushArrays(checked)...), &full, &skipped, &dropped)
	if err != nil {
		count.doubt(room) // Maybe they are there.
		return nil, err
	}
	if full {
		count.use(room, 0)
		return nil, &queue.FullError{Subject: fmt.Sprintf("queue %q", name), RetryAfter: time.Second}
	}
	results := make([]queue.PushResult, len(checked))
	for i, t := range checked {
		results[i] = queue.PushResult{ID: t.ID, Pushed: true}
	}
	gone := strings.Fields(skipped)
	count.use(room, len(checked)-len(gone)-dropped)
	for _, s := range gone {
		i, err := strconv.Atoi(s)
		if err != nil || i < 0 || i >= len(results) {
			return nil, fmt.Errorf("the server's push answers %q", skipped)
		}
		results[i].Pushed = false
	}
	return results, nil
}

// countTasks counts on the server. It goes where the push goes, which has a connection.
func (e *Engine) countTasks(row oneRow, name string) counter {
	return func(ctx context.Context) (bound, n int64, err error) {
		err = row(ctx, "SELECT bound, n FROM queue.count($1::text, false)", []any{name}, &bound, &n)
		return bound, n, err
	}
}

// pushArrays makes the arrays that the push wants.
func pushArrays(tasks []queue.CheckedTask) []any {
	places := make([]int32, len(tasks))
	for i := range places {
		places[i] = int32(i)
	}
	named := 0
	for _, t := range tasks {
		if t.Named {
			named++
		}
	}
	if named > 0 {
		slices.SortStableFunc(places, func(i, j int32) int {
			a, b := tasks[i], tasks[j]
			if !a.Named || !b.Named {
				return cmp.Compare(unnamed(a), unnamed(b))
			}
			return strings.Compare(a.ID, b.ID)
		})
	}
	n := len(tasks)
	ids, kinds, frames := make([]string, n), make([]string, n), make([][]byte, n)
	dues, delays, deadlines := make([]*int64, n), make([]*int64, n), make([]*int64, n)
	for k, i := range places {
		t := tasks[i]
		ids[k], kinds[k], frames[k] = t.ID, t.Type, t.Frame
		dues[k], deadlines[k] = micros(t.At), micros(t.Deadline)
		if t.Delay > 0 {
			us := t.Delay.Microseconds()
			delays[k] = &us
		}
	}
	return []any{named, places, ids, kinds, orNone(dues), orNone(delays), orNone(deadlines), frames}
}

func unnamed(t queue.CheckedTask) int {
	if t.Named {
		return 0
	}
	return 1
}

// orNone leaves out an array of nothing but nulls: the server makes up for it.
func orNone(all []*int64) []*int64 {
	if slices.ContainsFunc(all, func(n *int64) bool { return n != nil }) {
		return all
	}
	return nil
}

// micros is a time as the tables have it; the zero time is null.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

func fromMicros(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return time.UnixMicro(*us).UTC()
}

// Pull leases tasks that are due.
func (e *Engine) Pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	if err := p.Check(); err != nil {
		return queue.Pulled{}, fmt.Errorf("pull from queue %q: %w", name, err)
	}
	pulled, err := e.pull(ctx, name, p)
	if err != nil {
		return queue.Pulled{}, fmt.Errorf("pull from queue %q: %w", name, queueError(err))
	}
	return pulled, nil
}

// pulledRow is a task that a pull leased, or the pull's last row.
type pulledRow struct {
	number, token, at, pushed, deadline *int64
	failed, lost, released              *int
	progress, frame                     []byte
}

func (e *Engine) pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	floor := e.floors.of(name, p.Types)
	from := floor.start(p.Alone)
	rows, err := collect(ctx, e, func(row pgx.CollectableRow) (r pulledRow, err error) {
		err = row.Scan(&r.number, &r.token, &r.at, &r.pushed, &r.deadline, &r.failed, &r.lost, &r.released, &r.progress, &r.frame)
		return r, err
	}, "SELECT * FROM queue.pull($1::text, $2::text[], $3::int, $4::bigint, $5::bigint, $6::int, $7::boolean, $8::bigint)",
		name, p.Types, p.Max, p.Lease.Microseconds(), newToken(), p.AloneFrom, p.Alone, from)
	if err != nil || len(rows) == 0 { // None at all: it is paused.
		return queue.Pulled{}, err
	}
	last := rows[len(rows)-1]
	rows = rows[:len(rows)-1]
	began, ended := *last.pushed, *last.at
	pulled := queue.Pulled{AloneNext: *last.lost > 0}
	for _, r := range rows {
		one, err := r.leased(began)
		if err != nil {
			return queue.Pulled{}, err
		}
		pulled.Tasks = append(pulled.Tasks, one)
	}
	slices.SortFunc(pulled.Tasks, func(a, b queue.Leased) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Lease.Task, b.Lease.Task))
	})
	reached := began
	if len(rows) == p.Max || pulled.AloneNext || p.Alone {
		reached = math.MinInt64
		if n := len(pulled.Tasks); n > 0 {
			reached = pulled.Tasks[n-1].At.UnixMicro()
		}
	}
	floor.passed(from, pass{
		tasks: len(rows), entries: *last.released, reached: reached,
		began: began, took: time.Duration(ended-began) * time.Microsecond,
	})
	return pulled, nil
}

// newToken returns an even one: the server makes that of a named task odd. It is random,
// since a sequence could come back to the same after a power cut.
func newToken() int64 { return (1 + rand.Int64N(1<<61)) << 1 }

func (r *pulledRow) leased(now int64) (queue.Leased, error) {
	task, err := makeTask(*r.number, r.frame, *r.at, r.deadline)
	return queue.Leased{
		Task: task, Lease: queue.Lease{Task: *r.number, Token: *r.token}, Pushed: fromMicros(r.pushed),
		Failed: *r.failed, Lost: *r.lost, Released: *r.released, Progress: r.progress,
		Expired: r.deadline != nil && *r.deadline <= now,
	}, err
}

func makeTask(number int64, frame []byte, at int64, deadline *int64) (queue.Task, error) {
	messages, err := queue.DecodeFrames(frame, 1)
	if err != nil {
		return queue.Task{}, fmt.Errorf("task %d: %w", number, err)
	}
	return queue.Task{Message: messages[0], At: fromMicros(&at), Deadline: fromMicros(deadline)}, nil
}

// noDataFound is what the tables' functions raise where there is no such queue.
const noDataFound = "P0002"

// sqlError is an error of any client of the server.
type sqlError interface {
	error
	SQLState() string
}

func queueError(err error) error {
	if e, ok := errors.AsType[sqlError](err); ok && e.SQLState() == noDataFound {
		return queue.ErrNotFound
	}
	return err
}
