package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// TaskHandler works on one task. A nil error acknowledges it; any other one, or a panic,
// is a failure, after which it is tried again; see GiveUp and RetryIn for more. Its
// context ends with the lease, with HandlerConfig.Limit and with the worker.
type TaskHandler func(ctx context.Context, t *RunningTask) error

// Middleware wraps every handler of a worker. The first of several is the outermost.
type Middleware func(next TaskHandler) TaskHandler

// HandlerConfig says how a handler is treated. The zero value is useful.
type HandlerConfig struct {
	// Attempts is how often a task may fail before it is buried. Default: 20, which take
	// some six hours.
	Attempts int

	// MaxLost is how often its lease may end without a verdict, for the process was
	// killed or stalled, before it is buried. One that could be lost but once more is run
	// alone in its worker, so that it is buried for its own doing only. Default: 3. At
	// least 2.
	MaxLost int

	// Limit ends the context of one run. Leases are renewed until then. Default: 5 min.
	Limit time.Duration

	// Backoff is how long to wait after a task failed so many times, from 1 on.
	// Default: DefaultBackoff.
	Backoff func(failed int) time.Duration

	Codec Codec // Of the payload. Default: JSON.
}

// DefaultBackoff is a second after the first failure and twice as long after each
// further one, up to an hour, of which a random half is left out.
func DefaultBackoff(failed int) time.Duration {
	return backoff(max(failed, 1)-1, time.Second, time.Hour)
}

// Handle lets a worker run a function for the tasks of a type in one of its queues. The
// payload is decoded from the body; a body that cannot be is a failure of the task. For
// the rest of the task see TaskFrom. It returns an error if the worker has a handler of
// this type there already, does not work on that queue, or runs.
func Handle[T any](w *Worker, queue, taskType string, handle func(ctx context.Context, payload T) error, cfg HandlerConfig) error {
	codec := cfg.Codec
	if codec == nil {
		codec = JSON{}
	}
	if handle == nil {
		return fmt.Errorf("handler of %q in queue %q: the function must be set", taskType, queue)
	}
	return w.Handle(queue, taskType, func(ctx context.Context, t *RunningTask) error {
		var payload T
		if err := codec.Decode(t.Body, &payload); err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		return handle(ctx, payload)
	}, cfg)
}

// handler is a registered one.
type handler struct {
	cfg HandlerConfig
	run TaskHandler
}

func (cfg HandlerConfig) check() (HandlerConfig, error) {
	cfg.Attempts = cmp.Or(cfg.Attempts, 20)
	cfg.MaxLost = cmp.Or(cfg.MaxLost, 3)
	cfg.Limit = cmp.Or(cfg.Limit, 5*time.Minute)
	if cfg.Backoff == nil {
		cfg.Backoff = DefaultBackoff
	}
	switch {
	case cfg.Attempts < 1:
		return cfg, fmt.Errorf("Attempts is %d, must be at least 1", cfg.Attempts)
	case cfg.MaxLost < 2:
		return cfg, fmt.Errorf("MaxLost is %d, must be at least 2", cfg.MaxLost)
	case cfg.Limit < time.Millisecond:
		return cfg, fmt.Errorf("Limit is %s, must be at least 1ms", cfg.Limit)
	}
	return cfg, nil
}

// RunningTask is the task a handler works on.
type RunningTask struct {
	Queue string
	Leased

	run *taskRun

	mu     sync.Mutex
	result []byte
}

// TaskFrom returns the task of a handler's context, nil for any other context.
func TaskFrom(ctx context.Context) *RunningTask {
	t, _ := ctx.Value(runningKey{}).(*RunningTask)
	return t
}

// SaveProgress keeps up to 64 KiB with the task, to be seen by Controls.Get and by who
// works on it next, in Leased.Progress. It extends the lease, and returns ErrLeaseLost
// if that is over.
func (t *RunningTask) SaveProgress(ctx context.Context, progress []byte) error {
	if progress == nil {
		progress = []byte{}
	}
	return t.run.saveProgress(ctx, progress)
}

// SetResult keeps up to 64 KiB with the task once it is done, for QueueConfig.KeepDone.
func (t *RunningTask) SetResult(result []byte) error {
	if len(result) > maxVerdictBytes {
		return fmt.Errorf("result has %d bytes, at most %d are kept", len(result), maxVerdictBytes)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result = result
	return nil
}

func (t *RunningTask) takeResult() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result
}

// buryError and retryError are verdicts of a handler.
type (
	buryError  struct{ error }
	retryError struct {
		error
		in time.Duration
	}
)

func (e buryError) Unwrap() error  { return e.error }
func (e retryError) Unwrap() error { return e.error }

// GiveUp makes a handler's error the last: the task is buried, whatever attempts it has.
func GiveUp(err error) error { return buryError{cmp.Or(err, errBuried)} }

// RetryIn makes a handler's error a failure after which the task is due again in d,
// whatever the backoff says. It counts as any failure does.
func RetryIn(d time.Duration, err error) error {
	return retryError{cmp.Or(err, errRetry), max(d, 0)}
}

var (
	errBuried = errors.New("the handler gives up")
	errRetry  = errors.New("the handler wants to try again")
)

// verdict is what follows from the end of a run.
func (h *handler) verdict(t *RunningTask, err error) Verdict {
	v := Verdict{Lease: t.Lease, Kind: Done, Result: t.takeResult()}
	if err == nil {
		return v
	}
	v = Verdict{Lease: t.Lease, Kind: Retry, Error: errorText(err)}
	again, mustRetry := errors.AsType[retryError](err)
	_, mustBury := errors.AsType[buryError](err)
	switch {
	case mustBury || t.Failed+1 >= h.cfg.Attempts:
		v.Kind, v.Reason = Bury, ReasonFailed
	case mustRetry:
		v.Delay = min(again.in, maxTaskDelay)
	default:
		if err := recovered(func() error { v.Delay = h.cfg.Backoff(t.Failed + 1); return nil }); err != nil {
			v.Delay = DefaultBackoff(t.Failed + 1)
		}
		v.Delay = min(max(v.Delay, 0), maxTaskDelay)
	}
	return v
}

// early is the verdict on a task that is not to be run any more, if it is none.
func (h *handler) early(t *RunningTask) (Verdict, bool) {
	switch {
	case t.Lost >= h.cfg.MaxLost:
		return Verdict{Lease: t.Lease, Kind: Bury, Reason: ReasonLost, Error: fmt.Sprintf("its lease ended without a verdict %d times", t.Lost)}, true
	case t.Expired:
		return Verdict{Lease: t.Lease, Kind: Bury, Reason: ReasonExpired, Error: "its deadline was over before it was run"}, true
	}
	return Verdict{}, false
}

// errorText is an error as engines keep it.
func errorText(err error) string {
	const most = 8 << 10
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}
