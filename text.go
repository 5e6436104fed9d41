package snip

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// checkLine checks a line of text that people read. What is the text in words.
func checkLine(field, what, text string, most int) error {
	return checkWords(field, what, text, most, "")
}

// checkLines is checkLine for text that may have several lines.
func checkLines(field, what, text string, most int) error {
	return checkWords(field, what, text, most, "\t\n\r")
}

func checkWords(field, what, text string, most int, allowed string) error {
	if !utf8.ValidString(text) {
		return invalid(field, "The %s is not valid UTF-8.", what)
	}
	for i, c := range text {
		if unicode.IsControl(c) && !strings.ContainsRune(allowed, c) {
			return invalid(field, "The %s holds a control character (%U) at byte %d. Remove it.", what, c, i)
		}
	}
	if n := utf8.RuneCountInString(text); n > most {
		return invalid(field, "The %s has %d characters; at most %d are accepted.", what, n, most)
	}
	return nil
}

// CheckTag returns an *Error for a field if there cannot be such a tag.
func CheckTag(field, tag string) error {
	switch {
	case tag == "":
		return invalid(field, "The tag is empty. Leave it out.")
	case strings.Contains(tag, ","):
		return invalid(field, "A tag holds no comma. Send several tags as a list.")
	case strings.TrimSpace(tag) != tag:
		return invalid(field, "The tag begins or ends with a space. Remove it.")
	}
	return checkLine(field, "tag", tag, MaxTag)
}

// CleanTags returns tags in the order in which links have them: that of their bytes,
// each once. The list it is given stays as it is.
func CleanTags(tags []string) []string {
	clean := slices.Clone(tags)
	slices.Sort(clean)
	return slices.Compact(clean)
}

func checkTags(tags []string) error {
	if len(tags) > MaxTags {
		return invalid("tags", "These are %d tags; at most %d are accepted.", len(tags), MaxTags)
	}
	for i, tag := range tags {
		field := item("tags", i)
		if err := CheckTag(field, tag); err != nil {
			return err
		}
		if slices.Contains(tags[:i], tag) {
			return invalid(field, "The tag %q is there twice.", tag)
		}
	}
	return nil
}

// checkInstant keeps to the years that can be written as RFC 3339.
func checkInstant(field string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return invalid(field, "The year must lie between 1 and 9999.")
	}
	return nil
}

// written is a moment as messages name it.
func written(t time.Time) string { return t.UTC().Format(time.RFC3339) }
