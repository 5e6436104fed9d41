package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"snip"
)

// maxBody bounds what is sent to the API.
const maxBody = 1 << 20

// fields are those that a body may have, each with what reads it.
type fields map[string]reader

// reader reads one field, or says in a sentence what it must be.
type reader func(raw json.RawMessage) (wrong string)

// decode reads a JSON object. It refuses what the decoder of the standard library
// would change in silence, for what a person typed is kept as typed or not at all.
func decode(w http.ResponseWriter, r *http.Request, known fields) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &snip.Error{Code: snip.Invalid, Field: "Content-Type", Message: "The body must be JSON, sent with Content-Type: application/json."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return unreadable(err)
	}
	if !utf8.Valid(body) {
		return &snip.Error{Code: snip.Invalid, Message: "The body is not valid UTF-8."}
	}
	if !json.Valid(body) || !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return &snip.Error{Code: snip.Invalid, Message: `The body must be one JSON object, such as {"url": "https://example.com"}.`}
	}
	return readFields(json.NewDecoder(bytes.NewReader(body)), known)
}

// unreadable says why a body could not be read.
func unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &snip.Error{Code: snip.TooLarge, Message: fmt.Sprintf("The body is longer than %d bytes.", maxBody)}
	}
	return &snip.Error{Code: snip.Invalid, Message: "The body did not arrive whole.", Cause: err}
}

// readFields reads an object that is valid JSON. The decoder keeps the last of two
// fields of one name; which one was meant nobody can tell.
func readFields(d *json.Decoder, known fields) error {
	if _, err := d.Token(); err != nil { // {
		return fmt.Errorf("web: read fields: %w", err)
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fmt.Errorf("web: read fields: %w", err)
		}
		field := name.(string) // In an object nothing else comes first.
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("web: read field %q: %w", field, err)
		}
		wrong := ""
		switch read, ok := known[field]; {
		case !ok:
			wrong = "There is no such field. Known are " + strings.Join(slices.Sorted(maps.Keys(known)), ", ") + "."
		case seen[field]:
			wrong = "Is there more than once."
		default:
			wrong = read(raw)
		}
		if wrong != "" {
			return &snip.Error{Code: snip.Invalid, Field: field, Message: wrong}
		}
		seen[field] = true
	}
	return nil
}

// text reads a string.
func text(to *string) reader {
	return func(raw json.RawMessage) string {
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, to) != nil {
			return "Must be a string."
		}
		if halfPair(raw) {
			return `Holds half of a surrogate pair (such as \ud83d alone), which is no character.`
		}
		return ""
	}
}

// halfPair finds an escape that is half of a surrogate pair: the decoder would make
// U+FFFD of it without a word. The string is valid JSON.
func halfPair(s []byte) bool {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return false
		}
		s = s[i:]
		if s[1] != 'u' {
			s = s[2:]
			continue
		}
		first := escaped(s)
		s = s[6:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || utf16.DecodeRune(first, escaped(s)) == utf8.RuneError {
			return true
		}
		s = s[6:]
	}
}

// escaped is the code of an escape \uXXXX.
func escaped(s []byte) rune {
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// instant reads a time; null is the zero time.
func instant(to *time.Time) reader {
	return func(raw json.RawMessage) string {
		if string(raw) == "null" {
			*to = time.Time{}
			return ""
		}
		// The zero time means never, which nobody can mean by a date.
		if json.Unmarshal(raw, to) != nil || to.IsZero() {
			return `Must be a time such as "2027-01-31T12:00:00Z", or null for never.`
		}
		return ""
	}
}

// present reads a field and notes that it was there.
func present[T any](to **T, value *T, read func(*T) reader) reader {
	return func(raw json.RawMessage) string {
		*to = value
		return read(value)(raw)
	}
}
