package queue

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxTaskID     = 200       // Bytes.
	maxTaskType   = 100       // Bytes.
	maxTaskDelay  = 10 * year // More is a mistake in the unit.
	year          = 366 * 24 * time.Hour
	maxPushTasks  = 10_000
	maxTasksBytes = 64 << 20 // Of one push.
)

// CheckedTask is a task as an engine keeps it.
type CheckedTask struct {
	Task         // With an ID.
	Named bool   // Its producer chose the ID, which therefore is remembered.
	Frame []byte // Its message (see AppendFrames), by itself.
}

// CheckTasks prepares tasks for an engine. It refuses what no engine takes, and names
// the field. Now is the engine's wall clock.
func CheckTasks(c Caps, tasks []Task, now time.Time) ([]CheckedTask, error) {
	if len(tasks) > maxPushTasks {
		return nil, fmt.Errorf("%d tasks in one push, at most %d are taken", len(tasks), maxPushTasks)
	}
	checked := make([]CheckedTask, len(tasks))
	whole := 0
	for i, t := range tasks {
		named := t.ID != ""
		if !named {
			t.ID = newTaskID(now)
		}
		if err := t.check(now); err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
		frame := AppendFrames(nil, []Message{t.Message})
		if len(frame) > c.MaxTaskBytes {
			return nil, fmt.Errorf("task %d: Body and Headers: the task has %d bytes, at most %d are taken", i, len(frame), c.MaxTaskBytes)
		}
		checked[i] = CheckedTask{Task: t, Named: named, Frame: frame}
		whole += len(frame)
	}
	if whole > maxTasksBytes {
		return nil, fmt.Errorf("%d bytes in one push, at most %d are taken", whole, maxTasksBytes)
	}
	return checked, nil
}

// newTaskID returns a random ID that begins with the time: those of tasks that come
// together stand together in an index.
func newTaskID(now time.Time) string {
	id := randomID()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	return hex.EncodeToString(id[:])
}

func (t *Task) check(now time.Time) error {
	switch {
	case len(t.ID) > maxTaskID:
		return fmt.Errorf("ID is %d bytes long, must be at most %d", len(t.ID), maxTaskID)
	case len(t.Type) < 1 || len(t.Type) > maxTaskType:
		return fmt.Errorf("Type is %d bytes long, must be 1 to %d", len(t.Type), maxTaskType)
	case t.Delay < 0:
		return fmt.Errorf("Delay is %s, must not be negative", t.Delay)
	case t.Delay > 0 && !t.At.IsZero():
		return errors.New("At and Delay are both set, only one of them may be")
	case t.Delay > maxTaskDelay || t.At.Sub(now) > maxTaskDelay:
		return errors.New("At or Delay is more than 10 years away")
	case !t.Deadline.IsZero() && !t.Deadline.After(now):
		return fmt.Errorf("Deadline %s is in the past", t.Deadline.Format(time.RFC3339))
	case !t.Deadline.IsZero() && !t.Deadline.After(t.Due(now)):
		return fmt.Errorf("Deadline %s is before the task is due", t.Deadline.Format(time.RFC3339))
	}
	return checkText("ID", t.ID, "Type", t.Type)
}

// Due is when the task is due if it is pushed now: at its At, after its Delay, else now.
func (t *Task) Due(now time.Time) time.Time {
	if t.Delay > 0 {
		return now.Add(t.Delay)
	}
	if t.At.After(now) {
		return t.At
	}
	return now
}

// checkText refuses what an SQL column could not keep: fields and their values in turn.
func checkText(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if s := pairs[i+1]; !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%s %q must be UTF-8 without zero bytes", pairs[i], s)
		}
	}
	return nil
}

const (
	maxPull         = 10_000
	maxVerdictBytes = 64 << 10 // Of Result, Progress and Error, each.
	maxVerdicts     = 10_000
)

// Check refuses what no engine takes, and names the field.
func (p PullRequest) Check() error {
	switch {
	case len(p.Types) == 0:
		return errors.New("Types must name at least one")
	case p.Max < 1 || p.Max > maxPull:
		return fmt.Errorf("Max is %d, must be 1 to %d", p.Max, maxPull)
	case p.Lease < time.Millisecond:
		return fmt.Errorf("Lease is %s, must be at least 1ms", p.Lease)
	case p.AloneFrom < 0:
		return fmt.Errorf("AloneFrom is %d, must not be negative", p.AloneFrom)
	}
	return nil
}

// CheckVerdicts refuses what no engine takes, and names the field.
func CheckVerdicts(verdicts []Verdict) error {
	if len(verdicts) > maxVerdicts {
		return fmt.Errorf("%d verdicts at once, at most %d are taken", len(verdicts), maxVerdicts)
	}
	for i, v := range verdicts {
		if err := v.check(); err != nil {
			return fmt.Errorf("verdict %d: %w", i, err)
		}
	}
	return nil
}

func (v Verdict) check() error {
	switch {
	case v.Kind < Done || v.Kind > Extend:
		return fmt.Errorf("Kind is %d, which is none", v.Kind)
	case v.Delay < 0 || v.Delay > maxTaskDelay:
		return fmt.Errorf("Delay is %s, must be 0 to 10 years", v.Delay)
	case v.Kind == Extend && v.Delay < time.Millisecond:
		return fmt.Errorf("Delay is %s, must be at least 1ms to extend", v.Delay)
	case v.Kind == Bury && v.Reason == "":
		return errors.New("Reason must be set")
	case len(v.Result) > maxVerdictBytes:
		return fmt.Errorf("Result has %d bytes, at most %d are kept", len(v.Result), maxVerdictBytes)
	case len(v.Progress) > maxVerdictBytes:
		return fmt.Errorf("Progress has %d bytes, at most %d are kept", len(v.Progress), maxVerdictBytes)
	case len(v.Error) > maxVerdictBytes:
		return fmt.Errorf("Error has %d bytes, at most %d are kept", len(v.Error), maxVerdictBytes)
	}
	return checkText("Reason", string(v.Reason), "Error", v.Error)
}
