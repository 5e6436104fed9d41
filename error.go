package snip

import (
	"errors"
	"fmt"
	"strconv"
)

// Code says what kind of error it is. It survives the wire: the API answers with
// it and the client turns the answer back into the same error.
type Code string

const (
	Invalid      Code = "invalid"      // A field is wrong; Field and Message say which and how to mend it.
	NotFound     Code = "not_found"    // No such link, domain or key.
	Conflict     Code = "conflict"     // The code is taken, or something else stands against it.
	Unauthorized Code = "unauthorized" // A key is missing or not known.
	Forbidden    Code = "forbidden"    // The key does not allow it.
	Changed      Code = "changed"      // It is not in the version any more that was seen. Nothing was kept.
	Reused       Code = "reused"       // The idempotency key stands for another request.
	TooLarge     Code = "too_large"    // The body is over its limit.
	TooMany      Code = "too_many"     // Too many attempts in a short time.
	Unavailable  Code = "unavailable"  // A store is away or full. Nothing was kept: try again later.
	Internal     Code = "internal"     // Ours to mend.
)

// Error is an error a person can act on. Message is a sentence for them; Field
// names the input it speaks of, as the API spells it, or is empty.
type Error struct {
	Code    Code
	Field   string
	Message string
	Cause   error // For the log only; never shown.
}

func (e *Error) Error() string {
	s := e.Message
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// CodeOf tells the code of any error: Internal for one that is not an *Error.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

func invalid(field, format string, args ...any) error {
	return &Error{Code: Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// item names one of a list in a field.
func item(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// inField names another field in an error of a check, whose field is a general one.
func inField(field string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Field = field
	}
	return err
}
