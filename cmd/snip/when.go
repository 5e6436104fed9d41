package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"snip"
)

// howTimes says how times are typed.
const howTimes = `2026-12-24, "2026-12-24 18:00", 2026-12-24T18:00:00+01:00, "in 3 days", 72h or 2w`

// parseWhen reads a moment as people type it: see howTimes. Without an offset it is one
// of the zone; a day alone is its start, or, at the end of a time, its end.
func parseWhen(text string, now time.Time, zone *time.Location, end bool) (time.Time, error) {
	text = strings.TrimSpace(text)
	if d, err := snip.ParseDate(text); err == nil {
		if end {
			d = d.AddDays(1)
		}
		return d.Start(zone), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	if t, ok := later(text, now.In(zone)); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time such as %s", text, howTimes)
}

// later reads how long it is until a moment. Days and what is longer are those of the
// calendar: the clock shows the same, whatever it was put to meanwhile.
func later(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "in "))
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), d > 0
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 100_000 {
		return time.Time{}, false
	}
	switch strings.TrimSuffix(strings.TrimSpace(text[len(digits):]), "s") {
	case "minute":
		return now.Add(time.Duration(n) * time.Minute), true
	case "hour":
		return now.Add(time.Duration(n) * time.Hour), true
	case "d", "day":
		return now.AddDate(0, 0, n), true
	case "w", "week":
		return now.AddDate(0, 0, 7*n), true
	case "month":
		return addMonths(now, n), true
	case "year":
		return addMonths(now, 12*n), true
	}
	return time.Time{}, false
}

// addMonths keeps to the month: a month after 31 January is the last day of February.
func addMonths(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	last := time.Date(y, m+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return t.AddDate(0, n, min(d, last)-d)
}
