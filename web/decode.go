package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"snip"
)

// maxBody bounds what is sent to the API.
const maxBody = 1 << 20

// readJSON reads a body that is one JSON object as its schema says. It refuses what
// the decoder of the standard library would change in silence, for what a person
// typed is kept as typed or not at all.
func readJSON(w http.ResponseWriter, r *http.Request, known huma.Registry, s *huma.Schema) ([]byte, error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, wrongField("Content-Type", "The body must be JSON, sent with Content-Type: application/json.")
	}
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close") // Rather than to read what nobody wants.
		return nil, tooLarge()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, unreadable(err)
	}
	if !utf8.Valid(body) {
		return nil, wrongField("", "The body is not valid UTF-8.")
	}
	if !json.Valid(body) || !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return nil, wrongField("", `The body must be one JSON object, such as {"url": "https://example.com"}.`)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return body, (&checker{body, d, known}).value("", s)
}

// unreadable says why a body could not be read.
func unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	return &snip.Error{Code: snip.Invalid, Message: "The body did not arrive whole.", Cause: err}
}

func tooLarge() error {
	return &snip.Error{Code: snip.TooLarge, Message: fmt.Sprintf("The body is longer than %d bytes.", maxBody)}
}

func wrongField(field, format string, args ...any) error {
	return &snip.Error{Code: snip.Invalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// checker compares valid JSON with a schema, and finds the first thing that is wrong.
// It goes no deeper than the schema does.
type checker struct {
	body  []byte
	d     *json.Decoder
	known huma.Registry
}

// next returns the next token, and the bytes it was read from, with what stands before
// it.
func (c *checker) next() (json.Token, []byte, error) {
	start := c.d.InputOffset()
	t, err := c.d.Token()
	if err != nil {
		return nil, nil, fmt.Errorf("web: read valid JSON: %w", err)
	}
	return t, c.body[start:c.d.InputOffset()], nil
}

// value checks the next value, which is that of a field.
func (c *checker) value(field string, s *huma.Schema) error {
	for s.Ref != "" {
		s = c.known.SchemaFromRef(s.Ref)
	}
	t, raw, err := c.next()
	if err != nil {
		return err
	}
	wrong := ""
	switch v := t.(type) {
	case json.Delim:
		switch {
		case v == '{' && s.Type == huma.TypeObject:
			return c.object(field, s)
		case v == '[' && s.Type == huma.TypeArray:
			return c.array(field, s)
		}
		wrong = mustBe(s)
	case nil:
		if !s.Nullable {
			wrong = mustBe(s)
		}
	case bool:
		if s.Type != huma.TypeBoolean {
			wrong = mustBe(s)
		}
	case json.Number:
		wrong = wrongNumber(v, s)
	case string:
		if wrong = wrongEscape(v, raw); wrong == "" {
			wrong = wrongString(v, s)
		}
	}
	if wrong != "" {
		return wrongField(field, "%s", wrong)
	}
	return nil
}

// object checks the fields of an object, whose brace was read. The decoder keeps the
// last of two fields of one name; which one was meant nobody can tell.
func (c *checker) object(field string, s *huma.Schema) error {
	others, open := s.AdditionalProperties.(*huma.Schema)
	seen := map[string]bool{}
	for c.d.More() {
		t, raw, err := c.next()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("web: read valid JSON: %v is no name of a field", t)
		}
		inner := within(field, name)
		as, ok := s.Properties[name]
		if !ok && open {
			as, ok = others, true
		}
		wrong := wrongEscape(name, raw)
		switch {
		case !ok:
			wrong = "There is no such field. Known are " + strings.Join(fieldNames(s), ", ") + "."
		case seen[name]:
			wrong = "Is there more than once."
		}
		if wrong != "" {
			return wrongField(inner, "%s", wrong)
		}
		seen[name] = true
		if err := c.value(inner, as); err != nil {
			return err
		}
	}
	for _, name := range s.Required {
		if !seen[name] {
			return wrongField(within(field, name), "Is missing.")
		}
	}
	if s.MaxProperties != nil && len(seen) > *s.MaxProperties {
		return wrongField(field, "Has %d entries; at most %d are accepted.", len(seen), *s.MaxProperties)
	}
	_, _, err := c.next()
	return err
}

// array checks the items of an array, whose bracket was read.
func (c *checker) array(field string, s *huma.Schema) error {
	n := 0
	for ; c.d.More(); n++ {
		if err := c.value(field+"["+strconv.Itoa(n)+"]", s.Items); err != nil {
			return err
		}
	}
	switch {
	case s.MaxItems != nil && n > *s.MaxItems:
		return wrongField(field, "Has %d entries; at most %d are accepted.", n, *s.MaxItems)
	case s.MinItems != nil && n < *s.MinItems:
		return wrongField(field, "Has %d entries; it takes at least %d.", n, *s.MinItems)
	}
	_, _, err := c.next()
	return err
}

func within(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// mustBe says what a value must be that is of another type.
func mustBe(s *huma.Schema) string {
	what := map[string]string{
		huma.TypeString: "a string", huma.TypeInteger: "a whole number", huma.TypeBoolean: "true or false",
		huma.TypeArray: "an array", huma.TypeObject: "an object",
	}[s.Type]
	if s.Format == "date-time" {
		what = `a time such as "2027-01-31T12:00:00Z"`
	}
	if s.Nullable {
		what += ", or null for none"
	}
	return "Must be " + what + "."
}

// wrongNumber says what is wrong with a number, and nothing if all is well.
func wrongNumber(v json.Number, s *huma.Schema) string {
	if s.Type != huma.TypeInteger {
		return mustBe(s)
	}
	least, most := bounds(s)
	n, err := strconv.ParseInt(v.String(), 10, 64)
	switch {
	case err != nil || n < least || n > most:
		return fmt.Sprintf("Must be a whole number from %d to %d.", least, most)
	case len(s.Enum) > 0 && !among(s.Enum, v.String()):
		return "Must be one of " + listed(s.Enum) + "."
	}
	return ""
}

// bounds returns what an integer lies between.
func bounds(s *huma.Schema) (least, most int64) {
	least, most = math.MinInt64, math.MaxInt64
	if s.Minimum != nil {
		least = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		most = int64(*s.Maximum)
	}
	return least, most
}

// wrongString says what is wrong with a string. A pattern is there for the reader of
// the description alone: whatever has one is checked with better words elsewhere.
func wrongString(v string, s *huma.Schema) string {
	if s.Type != huma.TypeString {
		return mustBe(s)
	}
	n := utf8.RuneCountInString(v)
	switch {
	case s.Format == "date-time":
		// The zero time means none, which nobody can mean by a date.
		if t, err := time.Parse(time.RFC3339, v); err != nil || t.IsZero() {
			return mustBe(s)
		}
	case len(s.Enum) > 0 && !among(s.Enum, v):
		return "Must be one of " + listed(s.Enum) + "."
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("Has %d characters; at most %d are accepted.", n, *s.MaxLength)
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Sprintf("Has %d characters; it takes at least %d.", n, *s.MinLength)
	}
	return ""
}

// wrongEscape finds what is no character in a string, and the one that no database
// keeps in a text.
func wrongEscape(v string, raw []byte) string {
	switch {
	case halfPair(raw):
		return `Holds half of a surrogate pair (such as \ud83d alone), which is no character.`
	case strings.ContainsRune(v, 0):
		return "Holds a character that nothing shows (U+0000). Remove it."
	}
	return ""
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
