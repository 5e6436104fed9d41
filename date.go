package snip

import (
	"fmt"
	"time"
)

// Date is a day of the calendar.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of a moment, where its zone is.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// ParseDate reads a day such as 2026-11-29.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("%q is not a day such as 2026-11-29", s)
	}
	return DateOf(t), nil
}

func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

func (d Date) utc() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// AddDays returns the day n days later.
func (d Date) AddDays(n int) Date { return DateOf(d.utc().AddDate(0, 0, n)) }

// Sub returns how many days d is after e.
func (d Date) Sub(e Date) int { return int(Day(d.utc()) - Day(e.utc())) }

// Start returns the first moment of the day in a zone: midnight, unless the clocks
// are put past it. A day that a zone left out starts, and ends, when the next does.
func (d Date) Start(zone *time.Location) time.Time {
	noon := time.Date(d.Year, d.Month, d.Day, 12, 0, 0, 0, zone)
	since, until := noon.ZoneBounds()
	switch got := DateOf(noon); {
	case got.Sub(d) > 0:
		return since
	case got.Sub(d) < 0:
		return until
	}
	midnight := noon.Add(-12 * time.Hour)
	if since.IsZero() || midnight.After(since) {
		return midnight
	}
	// The clocks change at midnight or between it and noon.
	before := since.Add(-time.Nanosecond)
	if DateOf(before) != d {
		return since // They were put past midnight.
	}
	h, m, s := before.Clock()
	return since.Add(-time.Duration(h)*time.Hour - time.Duration(m)*time.Minute - time.Duration(s+1)*time.Second)
}
