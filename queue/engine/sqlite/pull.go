package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"snip/internal/sqlitefile"
	"snip/queue"
)

const (
	maxPullBytes  = 64 << 20
	typesTogether = 100 // In one statement.
)

// candidate is a ready task.
type candidate struct {
	due    int64
	number int64
	lost   int // The lease that is over included.
	bytes  int
}

func (c candidate) compare(d candidate) int {
	return cmp.Or(cmp.Compare(c.due, d.due), cmp.Compare(c.number, d.number))
}

// Pull leases tasks that are due.
func (e *Engine) Pull(ctx context.Context, name string, p queue.PullRequest) (queue.Pulled, error) {
	if err := p.Check(); err != nil {
		return queue.Pulled{}, about(name, "pull", err)
	}
	p.Types = slices.Compact(slices.Sorted(slices.Values(p.Types)))
	// To look costs others nothing, and to write does.
	look := p
	look.Max = 1
	var pulled queue.Pulled
	found := false
	err := e.read(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		chosen, aloneNext, _, err := e.choose(ctx, tx, name, look)
		found, pulled.AloneNext = len(chosen) > 0, aloneNext
		return err
	})
	if err == nil && found {
		err = e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
			chosen, aloneNext, now, err := e.choose(ctx, tx, name, p)
			pulled.AloneNext = aloneNext
			if err == nil && len(chosen) > 0 {
				pulled.Tasks, err = leaseOut(ctx, tx, chosen, now, p)
			}
			return err
		})
	}
	if err != nil {
		return queue.Pulled{}, about(name, "pull", err)
	}
	return pulled, nil
}

// choose finds what a pull gets.
func (e *Engine) choose(ctx context.Context, tx sqlitefile.Tx, name string, p queue.PullRequest) (chosen []candidate, aloneNext bool, now moment, err error) {
	q, err := findQueue(ctx, tx, name)
	if err != nil || q.paused {
		return nil, false, now, err
	}
	if now, err = e.moment(); err != nil {
		return nil, false, now, err
	}
	ready, err := q.ready(ctx, tx, now, p.Types, int64(p.Max))
	if err != nil {
		return nil, false, now, err
	}
	bytes := 0
	for i, c := range ready {
		if p.AloneFrom > 0 && c.lost >= p.AloneFrom {
			if p.Alone && i == 0 {
				return ready[:1], false, now, nil
			}
			return ready[:i], true, now, nil
		}
		bytes += c.bytes
		if i > 0 && bytes > maxPullBytes {
			return ready[:i], false, now, nil
		}
	}
	return ready, false, now, nil
}

// ready returns ready tasks of some types, the longest due first.
func (q *tasks) ready(ctx context.Context, tx sqlitefile.Tx, now moment, types []string, limit int64) ([]candidate, error) {
	var all []candidate
	for some := range slices.Chunk(types, typesTogether) {
		args := []any{q.queue, now.wall, now.up, limit}
		for _, t := range some {
			args = append(args, t)
		}
		rows, err := tx.QueryContext(ctx, readyQuery(len(some)), args...)
		if err != nil {
			return nil, fmt.Errorf("look for ready tasks: %w", err)
		}
		if all, err = scanCandidates(rows, all); err != nil {
			return nil, fmt.Errorf("look for ready tasks: %w", err)
		}
	}
	slices.SortFunc(all, candidate.compare)
	return all[:min(int64(len(all)), limit)], nil
}

// readyQuery reads, from the index, the longest due tasks of each type, and those whose
// lease is over: of these there are never many. It does not put them in one order, which
// Go does in less time.
func readyQuery(types int) string {
	var b strings.Builder
	b.WriteString(`
		SELECT * FROM (
			SELECT ?2 - ?3 + until AS due, number, lost + 1 AS lost, bytes FROM queue_tasks
			WHERE queue = ?1 AND until <= ?3 AND type IN (?5`)
	for i := 1; i < types; i++ {
		fmt.Fprintf(&b, ", ?%d", i+5)
	}
	b.WriteString(") ORDER BY until, number LIMIT ?4)")
	for i := range types {
		fmt.Fprintf(&b, `
		UNION ALL
		SELECT * FROM (
			SELECT due, number, lost, bytes FROM queue_tasks
			WHERE queue = ?1 AND until IS NULL AND type = ?%d AND due <= ?2
			ORDER BY due, number LIMIT ?4)`, i+5)
	}
	return b.String()
}

func scanCandidates(rows *sql.Rows, all []candidate) ([]candidate, error) {
	defer rows.Close()
	for rows.Next() {
		var c candidate
		if err := rows.Scan(&c.due, &c.number, &c.lost, &c.bytes); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// leaseOut leases what was chosen.
func leaseOut(ctx context.Context, tx sqlitefile.Tx, chosen []candidate, now moment, p queue.PullRequest) ([]queue.Leased, error) {
	place := make(map[int64]int, len(chosen))
	numbers := make([]int64, len(chosen))
	for i, c := range chosen {
		place[c.number], numbers[i] = i, c.number
	}
	list := numbersJSON(numbers)
	token := 1 + rand.Int64N(1<<63-1)
	_, err := tx.ExecContext(ctx, `
		UPDATE queue_tasks SET token = ?2, until = ?3,
			due = CASE WHEN until IS NULL THEN due ELSE ?4 - ?5 + until END, lost = lost + (until IS NOT NULL)
		WHERE number IN (SELECT value FROM json_each(?1))`,
		list, token, now.up+p.Lease.Microseconds(), now.wall, now.up)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	rows, err := tx.QueryContext(ctx, `
		SELECT t.number, `+taskColumns+`, f.frame
		FROM json_each(?1) CROSS JOIN queue_tasks t ON t.number = value CROSS JOIN queue_frames f ON f.number = value`, list)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	defer rows.Close()
	leased := make([]queue.Leased, len(chosen))
	for rows.Next() {
		var number int64
		var r record
		if err := rows.Scan(append([]any{&number}, append(r.columns(), &r.frame)...)...); err != nil {
			return nil, fmt.Errorf("lease: %w", err)
		}
		t, err := r.task()
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", number, err)
		}
		leased[place[number]] = queue.Leased{
			Task: t, Lease: queue.Lease{Task: number, Token: token}, Pushed: fromMicros(r.pushed),
			Failed: r.failed, Lost: r.lost, Released: r.released, Progress: r.progress,
			Expired: r.deadline.Valid && r.deadline.Int64 <= now.wall,
		}
	}
	return leased, rows.Err()
}
