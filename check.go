package snip

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// Check returns an *Error that names the first field by which no link can be made.
func (n NewLink) Check(now time.Time, r Rules) error {
	if err := r.CheckTarget(n.Target); err != nil {
		return err
	}
	if n.Code != "" {
		if err := CheckCode(n.Code); err != nil {
			return err
		}
	}
	if err := checkTitle(n.Title); err != nil {
		return err
	}
	if err := checkExpiry(n.ExpiresAt); err != nil {
		return err
	}
	if !n.ExpiresAt.IsZero() && !now.Before(n.ExpiresAt) {
		return wrongExpiry("A new link cannot have expired already; it is %s now.", now.UTC().Format(time.RFC3339))
	}
	return nil
}

// Check returns an *Error that names the first field that no link can have. An
// expiry in the past is none: it ends the link at once.
func (e LinkEdit) Check(r Rules) error {
	if e.Target != nil {
		if err := r.CheckTarget(*e.Target); err != nil {
			return err
		}
	}
	if e.Code != nil {
		if err := CheckCode(*e.Code); err != nil {
			return err
		}
	}
	if e.Title != nil {
		if err := checkTitle(*e.Title); err != nil {
			return err
		}
	}
	if e.ExpiresAt != nil {
		return checkExpiry(*e.ExpiresAt)
	}
	return nil
}

func checkTitle(title string) error { return checkLine("title", title, MaxTitle) }

// checkLine checks a line of text that people read.
func checkLine(field, text string, most int) error {
	wrong := func(format string, args ...any) error {
		return &Error{Code: Invalid, Field: field, Message: fmt.Sprintf("The "+field+" "+format, args...)}
	}
	if !utf8.ValidString(text) {
		return wrong("is not valid UTF-8.")
	}
	for i, c := range text {
		if unicode.IsControl(c) {
			return wrong("holds a control character (%U) at byte %d. Remove it.", c, i)
		}
	}
	if n := utf8.RuneCountInString(text); n > most {
		return wrong("has %d characters; at most %d are accepted.", n, most)
	}
	return nil
}

// checkExpiry keeps to the years that can be written as RFC 3339.
func checkExpiry(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return wrongExpiry("The year of expiry must lie between 1 and 9999.")
	}
	return nil
}

func wrongExpiry(format string, args ...any) error {
	return &Error{Code: Invalid, Field: "expires_at", Message: fmt.Sprintf(format, args...)}
}
