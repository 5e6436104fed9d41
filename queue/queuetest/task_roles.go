package queuetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"snip/queue"
)

// doom is the type of tasks that always fail.
const doom = "doom"

// produce pushes for ever. Of tasks that do not die it pushes some twice.
func produce(ctx context.Context, e queue.TaskEngine) error {
	process := queue.NewSegmentID()
	for i := 0; ; {
		kind := send
		if rand.IntN(4) == 0 {
			kind = doom
		}
		var tasks []queue.Task
		for range 1 + rand.IntN(10) {
			i++
			tasks = append(tasks, queue.Task{
				Message: queue.Message{ID: fmt.Sprintf("%s-%d", process, i), Type: kind},
				Delay:   time.Duration(rand.IntN(2)*rand.IntN(20)) * time.Millisecond,
			})
		}
		for {
			_, err := e.Push(ctx, mail, tasks)
			if err == nil {
				break
			}
			if !errors.Is(err, queue.ErrFull) {
				return fmt.Errorf("push: %w", err)
			}
			time.Sleep(5 * time.Millisecond) // Somebody works.
		}
		if kind == doom || rand.IntN(4) > 0 {
			continue
		}
		results, err := e.Push(ctx, mail, tasks)
		if err != nil && !errors.Is(err, queue.ErrFull) {
			return fmt.Errorf("push again: %w", err)
		}
		for _, r := range results {
			if r.Pushed {
				return fmt.Errorf("task %q was pushed twice", r.ID)
			}
		}
	}
}

const (
	pullsAtOnce = 5
	briefLease  = 300 * time.Millisecond
	attempts    = 3
)

// hands are a worker that uses nothing but the engine.
type hands struct {
	engine queue.TaskEngine
	stalls bool // Now and then, for longer than a lease.
}

func (h hands) workOn(ctx context.Context) error {
	for {
		if err := h.work(ctx); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // There may be nothing to do.
	}
}

// work pulls once and ends what it gets, one by one or all at once.
func (h hands) work(ctx context.Context) error {
	pulled, err := h.engine.Pull(ctx, mail, queue.PullRequest{Types: []string{send, doom}, Max: pullsAtOnce, Lease: briefLease})
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	var verdicts []queue.Verdict
	for _, l := range pulled.Tasks {
		if rand.IntN(4) == 0 {
			extend := queue.Verdict{Lease: l.Lease, Kind: queue.Extend, Delay: briefLease, Progress: []byte("half")}
			if _, err := h.engine.Settle(ctx, mail, []queue.Verdict{extend}); err != nil {
				return fmt.Errorf("extend: %w", err)
			}
		}
		time.Sleep(time.Duration(rand.IntN(2)) * time.Millisecond) // The work.
		verdicts = append(verdicts, judge(l))
	}
	if h.stalls && len(verdicts) > 0 && rand.IntN(30) == 0 {
		time.Sleep(briefLease + briefLease/4) // Somebody else may have them by then.
	}
	step := 1 + rand.IntN(pullsAtOnce)
	for i := 0; i < len(verdicts); i += step {
		if _, err := h.engine.Settle(ctx, mail, verdicts[i:min(i+step, len(verdicts))]); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
	return nil
}

func judge(l queue.Leased) queue.Verdict {
	v := queue.Verdict{Lease: l.Lease, Kind: queue.Done}
	switch n := rand.IntN(10); {
	case n == 0:
		v.Kind = queue.Release
	case l.Type == doom && l.Failed+1 >= attempts:
		v.Kind, v.Reason, v.Error = queue.Bury, queue.ReasonFailed, "doomed"
	case l.Type == doom || n == 1:
		v.Kind, v.Delay, v.Error = queue.Retry, time.Duration(rand.IntN(20))*time.Millisecond, "failed"
	}
	return v
}

// work is a worker as programs have it.
func work(ctx context.Context, e queue.TaskEngine) error {
	w, err := queue.NewWorker(queue.WorkerConfig{
		Engine: e, Queues: []queue.QueueConfig{hardship}, Concurrency: pullsAtOnce,
		Lease: briefLease, Poll: 5 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	// Only what is doomed dies: what is lost often is not to blame here.
	cfg := queue.HandlerConfig{
		Attempts: attempts, MaxLost: 1 << 20,
		Backoff: func(int) time.Duration { return time.Duration(rand.IntN(20)) * time.Millisecond },
	}
	err = w.Handle(mail, doom, func(context.Context, *queue.RunningTask) error { return errors.New("doomed") }, cfg)
	if err != nil {
		return err
	}
	cfg.Attempts = 1 << 20
	err = w.Handle(mail, send, func(context.Context, *queue.RunningTask) error {
		if rand.IntN(10) == 0 {
			return errors.New("failed")
		}
		return nil
	}, cfg)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}
