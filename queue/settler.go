package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// settler carries verdicts to the engine, many at a time: those that come while it
// settles wait for the next time.
type settler struct {
	worker   *Worker
	queue    string
	log      *slog.Logger
	verdicts chan settling
	stopping chan struct{} // Closed when the worker stops: then there is a limit.
}

// settling is a verdict on its way.
type settling struct {
	run     *taskRun
	verdict Verdict
	end     TaskEnd
}

func newSettler(w *Worker, queue string, log *slog.Logger) *settler {
	return &settler{
		worker: w, queue: queue, log: log,
		verdicts: make(chan settling, w.cfg.Concurrency), stopping: make(chan struct{}),
	}
}

// run returns once all that was given is settled, or given up, and verdicts is closed.
func (s *settler) run() {
	var batch []settling
	for first := range s.verdicts {
		clear(batch) // They hold what their tasks held.
		batch = append(batch[:0], first)
		for len(batch) < maxVerdicts {
			select {
			case next, ok := <-s.verdicts:
				if ok {
					batch = append(batch, next)
					continue
				}
			default:
			}
			break
		}
		s.settle(batch)
	}
}

// settle tries until the engine answers. While it does not, nobody else can get the
// tasks, and the slots that are taken bound what waits here.
func (s *settler) settle(batch []settling) {
	verdicts := make([]Verdict, len(batch))
	for i, b := range batch {
		verdicts[i] = b.verdict
	}
	for failures := 0; ; failures++ {
		results, err := s.call(verdicts)
		if err == nil {
			for i, b := range batch {
				s.report(b, results[i], failures > 0)
			}
			return
		}
		s.log.Warn("verdicts could not be given, will be tried again", "tasks", len(batch), "failures", failures+1, "error", err)
		if !s.mayTryAgain(failures) {
			for _, b := range batch {
				b.end.Outcome = OutcomeUnknown
				s.worker.cfg.Observer.taskEnded(b.end)
				b.run.settled()
			}
			return
		}
	}
}

func (s *settler) call(verdicts []Verdict) ([]error, error) {
	limit := callLimit
	if s.isStopping() {
		limit = grace
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.worker.cfg.Engine.Settle(ctx, s.queue, verdicts)
}

// mayTryAgain pauses. A worker that stops tries a few times only.
func (s *settler) mayTryAgain(failures int) bool {
	if s.isStopping() && failures >= 3 {
		return false
	}
	longest := 5 * time.Second
	if s.isStopping() {
		longest = grace / 4
	}
	return pause(context.Background(), backoff(failures, 50*time.Millisecond, longest)) == nil
}

func (s *settler) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

func (s *settler) report(b settling, err error, again bool) {
	switch {
	case errors.Is(err, ErrLeaseLost) && again:
		b.end.Outcome = OutcomeUnknown // An earlier call may have carried it out.
	case errors.Is(err, ErrLeaseLost):
		b.end.Outcome = OutcomeLeaseLost
		s.log.Info("a verdict came too late: the lease was lost", "type", b.end.Type, "id", b.run.task.ID)
	case err != nil:
		b.end.Outcome = OutcomeUnknown
		s.log.Error("a verdict was refused", "type", b.end.Type, "id", b.run.task.ID, "error", err)
	default:
		b.end.Outcome = b.verdict.outcome()
	}
	s.worker.cfg.Observer.taskEnded(b.end)
	b.run.settled()
}

// outcome is what a verdict that was carried out made of its task.
func (v Verdict) outcome() Outcome {
	switch v.Kind {
	case Done:
		return OutcomeDone
	case Retry:
		return OutcomeRetried
	case Release:
		return OutcomeReleased
	default:
		return OutcomeBuried
	}
}
