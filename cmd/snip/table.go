package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"snip"
)

const (
	barWidth   = 24 // Of the longest bar.
	labelWidth = 36 // Of a label at most.
)

// table has a label, numbers and a bar in each row.
type table struct {
	heads []string // Of the label, and of each number.
	rows  []row
}

// row is one line. The first of its numbers is how long its bar is, the last how
// much of that is solid.
type row struct {
	label   string
	numbers []int64
}

func (t *table) add(label string, c snip.Counts) {
	t.rows = append(t.rows, row{label, []int64{c.Clicks, c.HumanClicks}})
}

// addRest adds what is told of together, if there is any.
func (t *table) addRest(label string, c snip.Counts) {
	if c != (snip.Counts{}) {
		t.add(label, c)
	}
}

// writeTables writes those that have rows, with columns of one width.
func writeTables(b *strings.Builder, tables []table) {
	label, number := 0, 0
	for _, t := range tables {
		label = max(label, utf8.RuneCountInString(t.heads[0]))
		for _, h := range t.heads[1:] {
			number = max(number, len(h))
		}
		for _, r := range t.rows {
			label = max(label, min(labelWidth, utf8.RuneCountInString(r.label)))
			for _, n := range r.numbers {
				number = max(number, len(strconv.FormatInt(n, 10)))
			}
		}
	}
	b.WriteByte('\n')
	for _, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		line := fmt.Sprintf("%-*s", label, t.heads[0])
		for _, h := range t.heads[1:] {
			line += fmt.Sprintf("  %*s", number, h)
		}
		b.WriteString(line + "\n")
		var most int64
		for _, r := range t.rows {
			most = max(most, r.numbers[0])
		}
		for _, r := range t.rows {
			line := fmt.Sprintf("%-*s", label, cut(r.label))
			for _, n := range r.numbers {
				line += fmt.Sprintf("  %*d", number, n)
			}
			line += "  " + bar(r.numbers[0], r.numbers[len(r.numbers)-1], most)
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		b.WriteByte('\n')
	}
}

// bar is as long as n is beside most, and as much of it is solid as solid is of n.
// What is there at all can be seen.
func bar(n, solid, most int64) string {
	cells := func(n int64) int {
		if n <= 0 || most <= 0 {
			return 0
		}
		return min(barWidth, int(math.Ceil(float64(n)/float64(most)*barWidth)))
	}
	full := min(cells(solid), cells(n))
	return strings.Repeat("█", full) + strings.Repeat("░", cells(n)-full)
}

// cut makes a label fit.
func cut(label string) string {
	if utf8.RuneCountInString(label) <= labelWidth {
		return label
	}
	return string([]rune(label)[:labelWidth-1]) + "…"
}

// printable writes what a terminal might obey, or could not show, as Go does in a
// string: strangers choose what a referrer or a campaign is.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// printableJSON writes the same of a JSON text in JSON's way. Control characters of
// ASCII it cannot hold, but others that some terminals obey.
func printableJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
