package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"snip/queue"
)

// Settle carries out verdicts.
func (e *Engine) Settle(ctx context.Context, name string, verdicts []queue.Verdict) ([]error, error) {
	if err := queue.CheckVerdicts(verdicts); err != nil {
		return nil, fmt.Errorf("settle in queue %q: %w", name, err)
	}
	results := make([]error, len(verdicts))
	rest := make([]int, len(verdicts))
	for i := range verdicts {
		rest[i], results[i] = i, queue.ErrLeaseLost
	}
	// At least once, so that a queue that is not there is found.
	for first := true; first || len(rest) > 0; first = false {
		var now []int
		now, rest = splitRound(verdicts, rest)
		if err := e.settle(ctx, name, verdicts, now, results); err != nil {
			return nil, fmt.Errorf("settle in queue %q: %w", name, queueError(err))
		}
	}
	e.sweeper.wake()
	return results, nil
}

// splitRound takes out the first verdict on each lease. Nearly always that is all.
func splitRound(verdicts []queue.Verdict, of []int) (now, rest []int) {
	seen := make(map[queue.Lease]bool, len(of))
	for _, i := range of {
		switch lease := verdicts[i].Lease; {
		case lease.Token == 0: // A task that was never leased has it.
		case seen[lease]:
			rest = append(rest, i)
		default:
			seen[lease] = true
			now = append(now, i)
		}
	}
	return now, rest
}

func (e *Engine) settle(ctx context.Context, name string, verdicts []queue.Verdict, now []int, results []error) error {
	r := makeRound(verdicts, now)
	count := e.tasks.of(name)
	epoch := count.now()
	var dead room
	if r.buries > 0 {
		var err error
		if dead, err = e.dead.of(name).reserve(ctx, r.buries, e.countDead(name)); err != nil {
			return err
		}
	}
	places, err := collect(ctx, e, pgx.RowTo[int], `
		SELECT * FROM queue.settle($1::text, $2::boolean, $3::bigint[], $4::bigint[], $5::int[], $6::bigint[],
			$7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::bigint)`,
		name, r.mixed(), r.numbers, r.tokens, r.kinds, r.delays, r.reasons, r.errors, r.results, r.progress, dead.there)
	if err != nil {
		if r.buries > 0 {
			e.dead.of(name).doubt(dead)
		}
		count.distrust()
		return err
	}
	gone, buried, again := 0, 0, false
	for _, place := range places {
		i := now[place-1]
		results[i] = nil
		switch verdicts[i].Kind {
		case queue.Done:
			gone++
		case queue.Bury:
			gone++
			buried++
		case queue.Retry, queue.Release:
			again = true
		}
	}
	count.less(gone, epoch)
	if r.buries > 0 {
		// What is beyond the bound was dropped.
		t := e.dead.of(name)
		t.use(dead, min(buried, max(0, int(t.limit()-dead.there))))
	}
	if again {
		e.grewQueue(name)
	}
	return nil
}

func (e *Engine) countDead(name string) counter {
	return func(ctx context.Context) (bound, n int64, err error) {
		err = e.row(ctx, "SELECT bound, n FROM queue.count($1::text, true)", []any{name}, &bound, &n)
		return bound, n, err
	}
}

// round is verdicts on different leases as the server wants them. An array that has
// nothing to tell is left out.
type round struct {
	numbers, tokens   []int64
	kinds             []int32
	delays            []int64
	reasons, errors   []string
	results, progress [][]byte

	buries  int
	classes int // A bit for each statement that the server needs.
}

func makeRound(verdicts []queue.Verdict, of []int) *round {
	r := &round{}
	var delays, errors, results, progress bool
	for _, i := range of {
		v := verdicts[i]
		switch v.Kind {
		case queue.Done:
			r.classes |= 1 << (v.Lease.Token & 1)
		case queue.Bury:
			r.classes |= 4
			r.buries++
		default:
			r.classes |= 8
			delays = true
		}
		errors = errors || v.Kind == queue.Bury || v.Kind == queue.Retry
		results = results || v.Result != nil
		progress = progress || v.Progress != nil
		r.numbers, r.tokens, r.kinds = append(r.numbers, v.Lease.Task), append(r.tokens, v.Lease.Token), append(r.kinds, int32(v.Kind))
	}
	for _, i := range of {
		v := verdicts[i]
		if delays {
			delay := v.Delay
			if v.Kind == queue.Release {
				delay = 0
			}
			r.delays = append(r.delays, delay.Microseconds())
		}
		if errors {
			r.reasons, r.errors = append(r.reasons, string(v.Reason)), append(r.errors, v.Error)
		}
		if results {
			r.results = append(r.results, v.Result)
		}
		if progress {
			r.progress = append(r.progress, v.Progress)
		}
	}
	return r
}

// mixed: the server comes to rows by more than one statement.
func (r *round) mixed() bool { return r.classes&(r.classes-1) != 0 }
