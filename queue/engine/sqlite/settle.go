package sqlite

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"snip/internal/sqlitefile"
	"snip/queue"
)

// Settle carries out verdicts.
func (e *Engine) Settle(ctx context.Context, name string, verdicts []queue.Verdict) ([]error, error) {
	if err := queue.CheckVerdicts(verdicts); err != nil {
		return nil, about(name, "settle", err)
	}
	verdicts = clone(verdicts)
	results := make([]error, 0, len(verdicts))
	grew := false // There is more to pull.
	err := e.write(ctx, func(ctx context.Context, tx sqlitefile.Tx) error {
		q, err := findQueue(ctx, tx, name)
		if err != nil {
			return err
		}
		now, err := e.moment()
		if err != nil {
			return err
		}
		for some := range slices.Chunk(verdicts, settleTogether) {
			s := settling{tasks: &q, now: now}
			part, err := s.sort(ctx, tx, some)
			if err == nil {
				err = s.carryOut(ctx, tx)
			}
			if err != nil {
				return err
			}
			results, grew = append(results, part...), grew || s.grew
		}
		return nil
	})
	if err != nil {
		return nil, about(name, "settle", err)
	}
	if grew {
		e.waker.ring(name)
	}
	return results, nil
}

// clone copies what the caller may change once the call has returned, which it does when
// its context ends although the verdicts are being carried out.
func clone(verdicts []queue.Verdict) []queue.Verdict {
	verdicts = slices.Clone(verdicts)
	for i := range verdicts {
		v := &verdicts[i]
		v.Progress, v.Result = bytes.Clone(v.Progress), bytes.Clone(v.Result)
	}
	return verdicts
}

// settleTogether is how many verdicts go into one statement, so that what they keep, of
// which each may have 64 KiB, does not make it larger than SQLite takes.
const settleTogether = 1000

// settling is verdicts, sorted. Each task is in one list at most, but that of extends,
// which is carried out first.
type settling struct {
	*tasks
	now moment

	extends  []queue.Verdict // One a task.
	retries  []queue.Verdict
	releases []int64
	buried   []queue.Verdict
	done     []int64
	kept     []queue.Verdict // Done, and remembered or kept.
	grew     bool
}

type lease struct {
	token int64
	named bool
}

// sort finds out which verdicts hold, and sorts them.
func (s *settling) sort(ctx context.Context, tx sqlitefile.Tx, verdicts []queue.Verdict) ([]error, error) {
	leases, err := s.leases(ctx, tx, verdicts)
	if err != nil {
		return nil, fmt.Errorf("look for leases: %w", err)
	}
	results := make([]error, len(verdicts))
	extended := map[int64]int{} // Task to place in extends.
	for i, v := range verdicts {
		task := v.Lease.Task
		l, ok := leases[task]
		if !ok || l.token != v.Lease.Token {
			results[i] = queue.ErrLeaseLost
			continue
		}
		if v.Kind != queue.Extend {
			delete(leases, task) // It ends here, for those that follow, too.
		}
		switch v.Kind {
		case queue.Done:
			s.done = append(s.done, task)
			if s.config.KeepDone > 0 || l.named && s.config.Remember > 0 {
				s.kept = append(s.kept, v)
			}
		case queue.Retry:
			s.retries = append(s.retries, v)
			s.grew = s.grew || v.Delay == 0
		case queue.Release:
			s.releases = append(s.releases, task)
			s.grew = true
		case queue.Bury:
			s.buried = append(s.buried, v)
		case queue.Extend:
			if at, again := extended[task]; again {
				if v.Progress == nil {
					v.Progress = s.extends[at].Progress
				}
				s.extends[at] = v
				continue
			}
			extended[task] = len(s.extends)
			s.extends = append(s.extends, v)
		}
	}
	return results, nil
}

// leases returns the leases of the tasks of which verdicts speak.
func (s *settling) leases(ctx context.Context, tx sqlitefile.Tx, verdicts []queue.Verdict) (map[int64]lease, error) {
	numbers := make([]int64, len(verdicts))
	for i, v := range verdicts {
		numbers[i] = v.Lease.Task
	}
	rows, err := tx.QueryContext(ctx, `
		SELECT number, token, named FROM queue_tasks
		WHERE number IN (SELECT value FROM json_each(?1)) AND queue = ?2 AND until IS NOT NULL`, numbersJSON(numbers), s.queue)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	leases := make(map[int64]lease, len(verdicts))
	for rows.Next() {
		var number int64
		var l lease
		if err := rows.Scan(&number, &l.token, &l.named); err != nil {
			return nil, err
		}
		leases[number] = l
	}
	return leases, rows.Err()
}

func (s *settling) carryOut(ctx context.Context, tx sqlitefile.Tx) error {
	if err := s.extend(ctx, tx); err != nil {
		return fmt.Errorf("extend: %w", err)
	}
	if err := s.retry(ctx, tx); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	if err := s.release(ctx, tx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if err := s.bury(ctx, tx); err != nil {
		return fmt.Errorf("bury: %w", err)
	}
	if err := s.keep(ctx, tx); err != nil {
		return fmt.Errorf("keep what is done: %w", err)
	}
	ended := s.done
	for _, v := range s.buried {
		ended = append(ended, v.Lease.Task)
	}
	if len(ended) > 0 {
		if err := remove(ctx, tx, ended); err != nil {
			return err
		}
	}
	if len(ended) > 0 || s.grew {
		_, err := tx.ExecContext(ctx, "UPDATE queue_queues SET tasks = tasks - ?2, grown = grown + ?3 WHERE queue = ?1",
			s.queue, len(ended), s.grew)
		if err != nil {
			return err
		}
	}
	return s.purgeDead(ctx, tx, s.now)
}

func (s *settling) extend(ctx context.Context, tx sqlitefile.Tx) error {
	if len(s.extends) == 0 {
		return nil
	}
	rows := make([][3]any, len(s.extends)) // Task, end of the lease, progress.
	for i, v := range s.extends {
		rows[i] = [3]any{v.Lease.Task, s.now.up + v.Delay.Microseconds(), hexOrNil(v.Progress)}
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE queue_tasks SET until = j.value ->> 1, progress = COALESCE(unhex(j.value ->> 2), progress)
		FROM json_each(?1) j WHERE number = j.value ->> 0`, asJSON(rows))
	return err
}

// hexOrNil tells no bytes from none.
func hexOrNil(b []byte) any {
	if b == nil {
		return nil
	}
	return hex.EncodeToString(b)
}

func (s *settling) retry(ctx context.Context, tx sqlitefile.Tx) error {
	if len(s.retries) == 0 {
		return nil
	}
	rows := make([][3]any, len(s.retries)) // Task, when it is due, error.
	for i, v := range s.retries {
		rows[i] = [3]any{v.Lease.Task, s.now.wall + v.Delay.Microseconds(), v.Error}
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE queue_tasks SET until = NULL, token = 0, due = j.value ->> 1, failed = failed + 1, error = j.value ->> 2
		FROM json_each(?1) j WHERE number = j.value ->> 0`, asJSON(rows))
	return err
}

func (s *settling) release(ctx context.Context, tx sqlitefile.Tx) error {
	if len(s.releases) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE queue_tasks SET until = NULL, token = 0, due = ?2, released = released + 1
		WHERE number IN (SELECT value FROM json_each(?1))`, numbersJSON(s.releases), s.now.wall)
	return err
}

// keep writes what is remembered of tasks that are done, before they are removed.
func (s *settling) keep(ctx context.Context, tx sqlitefile.Tx) error {
	if len(s.kept) == 0 {
		return nil
	}
	rows := make([][2]any, len(s.kept)) // Task, result.
	for i, v := range s.kept {
		rows[i] = [2]any{v.Lease.Task, hexOrNil(v.Result)}
	}
	remembered := s.now.wall + max(s.config.Remember, s.config.KeepDone).Microseconds()
	var err error
	if s.config.KeepDone <= 0 {
		_, err = tx.ExecContext(ctx, `
			INSERT OR REPLACE INTO queue_done (queue, id, until)
			SELECT t.queue, t.id, ?2 FROM json_each(?1) j CROSS JOIN queue_tasks t ON t.number = j.value ->> 0`,
			asJSON(rows), remembered)
	} else {
		_, err = tx.ExecContext(ctx, `
			INSERT OR REPLACE INTO queue_done (queue, id, until, kept, ended, `+taskColumns+`, result, frame)
			SELECT t.queue, t.id, CASE WHEN t.named THEN ?2 ELSE ?3 END, ?3, ?4, `+taskColumns+`, unhex(j.value ->> 1), f.frame
			FROM json_each(?1) j CROSS JOIN queue_tasks t ON t.number = j.value ->> 0
				CROSS JOIN queue_frames f ON f.number = t.number`,
			asJSON(rows), remembered, s.now.wall+s.config.KeepDone.Microseconds(), s.now.wall)
	}
	if err != nil {
		return err
	}
	// More than comes in, so that it stays as small as can be.
	return purgeDone(ctx, tx, s.now, 2*len(s.kept)+10)
}

// purgeDone removes a few of the IDs whose time is over, of any queue.
func purgeDone(ctx context.Context, tx sqlitefile.Tx, now moment, limit int) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM queue_done WHERE (queue, id) IN (SELECT queue, id FROM queue_done WHERE until <= ?1 ORDER BY until LIMIT ?2)`,
		now.wall, limit)
	if err != nil {
		return fmt.Errorf("purge what is done: %w", err)
	}
	return nil
}
