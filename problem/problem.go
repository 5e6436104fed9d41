// Package problem is how errors travel: problem details as of RFC 9457, written by
// the server and read by the client, so that an error of the domain survives the
// wire.
package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"snip"
)

// ContentType is the media type of problem details.
const ContentType = "application/problem+json"

// statuses is the one table between the domain's codes and HTTP's.
var statuses = map[snip.Code]int{
	snip.Invalid:      http.StatusBadRequest,
	snip.NotFound:     http.StatusNotFound,
	snip.Conflict:     http.StatusConflict,
	snip.Unauthorized: http.StatusUnauthorized,
	snip.Forbidden:    http.StatusForbidden,
	snip.Changed:      http.StatusPreconditionFailed,
	snip.Reused:       http.StatusUnprocessableEntity,
	snip.TooMany:      http.StatusTooManyRequests,
	snip.TooLarge:     http.StatusRequestEntityTooLarge,
	snip.Unavailable:  http.StatusServiceUnavailable,
	snip.Internal:     http.StatusInternalServerError,
}

// Status returns the HTTP status of a code.
func Status(c snip.Code) int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Problem is the body of an answer that is an error.
type Problem struct {
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Detail string    `json:"detail,omitempty"`
	Code   snip.Code `json:"code"`
	Errors []Field   `json:"errors,omitempty"`
}

// Field is one input that is wrong.
type Field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Of returns the problem of an error. What is not a *snip.Error is ours to mend:
// its text stays here.
func Of(err error) Problem {
	e, ok := errors.AsType[*snip.Error](err)
	if !ok {
		e = &snip.Error{Code: snip.Internal, Message: "Something went wrong on the server. It was logged."}
	}
	status := Status(e.Code)
	p := Problem{Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code}
	if e.Field != "" {
		p.Errors = []Field{{Field: e.Field, Message: e.Message}}
	}
	return p
}

// Read returns the error that an answer holds: a *snip.Error, whatever the server
// wrote.
func Read(resp *http.Response) error {
	var p Problem
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil || p.Code == "" {
		return &snip.Error{Code: Code(resp.StatusCode), Message: fmt.Sprintf("The server answered %s.", resp.Status)}
	}
	e := &snip.Error{Code: p.Code, Message: p.Detail}
	if len(p.Errors) > 0 {
		e.Field, e.Message = p.Errors[0].Field, p.Errors[0].Message
	}
	return e
}

// Code returns the code of an HTTP status, or the nearest for one that is not in
// the table: Invalid for most of the client's errors, Internal for all others.
func Code(status int) snip.Code {
	for code, s := range statuses {
		if s == status {
			return code
		}
	}
	switch {
	case status == http.StatusGone:
		return snip.NotFound
	case status >= 400 && status < 500:
		return snip.Invalid
	}
	return snip.Internal
}
