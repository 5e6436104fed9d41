package queue

import (
	"errors"
	"fmt"
	"time"
)

// What callers branch on. Engines return these, wrapped or not; errors.Is finds them.
var (
	// ErrUnsupported: the engine does not claim the capability that was asked for.
	// Nothing is emulated in its place.
	ErrUnsupported = errors.New("not supported by this engine")

	// ErrNotFound: the topic or queue was never declared, the partition is outside its
	// range, or the task is not there.
	ErrNotFound = errors.New("not found")

	// ErrFull: the bound is reached and the overflow policy is reject. It is found
	// in a *FullError, which says when to try again.
	ErrFull = errors.New("full")

	// ErrFenced: somebody else moved the position since it was read, so this
	// commit changed nothing. The work it stood for belongs to another owner.
	ErrFenced = errors.New("fenced: another owner moved the position")

	// ErrConflict: somebody else has it, or changed it, meanwhile: a roster that was
	// swapped since it was loaded, a task that is leased.
	ErrConflict = errors.New("in the hands of another")

	// ErrLeaseLost: the lease is over, and the task belongs to somebody else or to
	// nobody. The verdict changed nothing.
	ErrLeaseLost = errors.New("lease lost")

	// ErrPositionLost: the log does not hold this position. What stood there was
	// trimmed, or the position comes from a log that was emptied, replaced or
	// restored since.
	ErrPositionLost = errors.New("position is not in the log")

	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("closed")
)

// FullError reports a bound that was reached. It is an ErrFull.
type FullError struct {
	Subject    string        // What is full, such as `topic "clicks"`.
	RetryAfter time.Duration // When trying again is worth it; at least a second.
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%s is full, retry after %s", e.Subject, e.RetryAfter)
}

func (e *FullError) Is(target error) bool { return target == ErrFull }

// SequenceError answers an append whose first number is not the next one of its
// segment. Nothing was appended. Expected is the number the engine waits for:
// larger than what was sent when an append landed although its reply was lost,
// smaller when the engine lost its own tail.
type SequenceError struct {
	Segment  SegmentID
	Expected uint64
}

func (e *SequenceError) Error() string {
	return fmt.Sprintf("segment %s: expected message number %d", e.Segment, e.Expected)
}
