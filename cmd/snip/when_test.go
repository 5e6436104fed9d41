package main

import (
	"testing"
	"time"
)

// TestWhen: times as people type them, over a change of the clocks, too.
func TestWhen(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 24, 15, 30, 0, 0, berlin) // The clocks are put back in the night.
	for _, c := range []struct {
		text, starts, ends string // The last empty: the same.
	}{
		{"2026-12-24", "2026-12-24T00:00:00+01:00", "2026-12-25T00:00:00+01:00"},
		{"2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"2026-12-24 18:00", "2026-12-24T18:00:00+01:00", ""},
		{"2026-12-24T18:00:01", "2026-12-24T18:00:01+01:00", ""},
		{"2026-12-24T18:00:00Z", "2026-12-24T19:00:00+01:00", ""},
		{"2026-12-24T18:00:00-05:00", "2026-12-25T00:00:00+01:00", ""},
		{" in 3 days ", "2026-10-27T15:30:00+01:00", ""},
		{"in 1 day", "2026-10-25T15:30:00+01:00", ""},
		{"1d", "2026-10-25T15:30:00+01:00", ""},
		{"24h", "2026-10-25T14:30:00+01:00", ""},
		{"in 24 hours", "2026-10-25T14:30:00+01:00", ""},
		{"90m", "2026-10-24T17:00:00+02:00", ""},
		{"2w", "2026-11-07T15:30:00+01:00", ""},
		{"in 1 month", "2026-11-24T15:30:00+01:00", ""},
		{"2 years", "2028-10-24T15:30:00+02:00", ""},
	} {
		for _, end := range []bool{false, true} {
			want := c.starts
			if end && c.ends != "" {
				want = c.ends
			}
			got, err := parseWhen(c.text, now, berlin, end)
			if err != nil || got.In(berlin).Format(time.RFC3339) != want {
				t.Errorf("parseWhen(%q, end %v) = %s, %v, want %s", c.text, end, got.In(berlin).Format(time.RFC3339), err, want)
			}
		}
	}
	for _, text := range []string{
		"", "never", "in", "in days", "3", "-3 days", "in -3 days", "0h", "-5m", "3 fortnights", "in 3.5 days", "2026-13-01", "2026-02-30", "99999999999999999999 days",
		"200000 days", "24.12.2026", "2026-12-24 25:00",
	} {
		if got, err := parseWhen(text, now, berlin, false); err == nil {
			t.Errorf("parseWhen(%q) = %s, want an error", text, got)
		}
	}
}

// TestMonths end when they end.
func TestMonths(t *testing.T) {
	for _, c := range [][2]string{{"2027-01-31", "2027-02-28"}, {"2028-01-31", "2028-02-29"}, {"2026-10-31", "2026-11-30"}, {"2026-12-15", "2027-01-15"}} {
		from, err := time.Parse(time.DateOnly, c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := addMonths(from, 1).Format(time.DateOnly); got != c[1] {
			t.Errorf("a month after %s is %s, want %s", c[0], got, c[1])
		}
	}
}
