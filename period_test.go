package snip_test

import (
	"archive/zip"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"snip"
)

// TestEveryZone walks through slots of the years around today in every zone there
// is: each lies in the day that its own clock shows, and days follow each other.
func TestEveryZone(t *testing.T) {
	names := zones(t)
	if len(names) < 400 {
		t.Fatalf("%d zones, want all of them", len(names))
	}
	from, to := snip.Date{Year: 2025, Month: time.December, Day: 30}, snip.Date{Year: 2027, Month: time.January, Day: 2}
	lengths := map[time.Duration]bool{}
	for _, name := range names {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		r := snip.Range{From: from, To: to, Zone: zone}
		days, hours := r.Steps(snip.StepDay), r.Steps(snip.StepHour)
		if len(days) != r.Days()+1 {
			t.Errorf("%s: %d days, want %d", name, len(days)-1, r.Days())
		}
		d := from
		for i, start := range days[:len(days)-1] {
			lengths[days[i+1].Sub(start)] = true
			for at := start; at.Before(days[i+1]); at = at.Add(snip.Slot) {
				if snip.DateOf(at) != d {
					t.Fatalf("%s: %s lies in the day %s", name, at, d)
				}
			}
			d = d.AddDays(1)
		}
		in := func(at time.Time) string { return at.Format("2006-01-02 15 -0700") }
		for i, start := range hours[:len(hours)-1] {
			if !start.Truncate(snip.Slot).Equal(start) {
				t.Fatalf("%s: the hour from %s does not begin with a slot", name, start)
			}
			for at := start; at.Before(hours[i+1]); at = at.Add(snip.Slot) {
				if at.Hour() != start.Hour() {
					t.Fatalf("%s: %s lies in the hour of %s", name, in(at), in(start))
				}
			}
		}
	}
	for _, want := range []time.Duration{23 * time.Hour, 23*time.Hour + 30*time.Minute, 24 * time.Hour, 24*time.Hour + 30*time.Minute, 25 * time.Hour} {
		if !lengths[want] {
			t.Errorf("no day of %s, want one", want)
		}
	}
}

func TestStart(t *testing.T) {
	for _, test := range []struct{ zone, day, want string }{
		{"UTC", "2026-11-29", "2026-11-29T00:00:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"}, // 23 hours.
		{"Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z"}, // 25 hours.
		{"Europe/Berlin", "2026-10-26", "2026-10-25T23:00:00Z"},
		{"Asia/Kathmandu", "2026-11-29", "2026-11-28T18:15:00Z"},
		{"America/Los_Angeles", "2026-11-29", "2026-11-29T08:00:00Z"},
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z"},        // Begins at one o'clock.
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z"},      // Has midnight twice.
		{"America/Havana", "2026-11-02", "2026-11-02T05:00:00Z"},      //
		{"Asia/Beirut", "2026-10-25", "2026-10-24T22:00:00Z"},         // The evening before has 23 o'clock twice.
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z"},        // Was left out.
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"},        //
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z"}, // 24 and a half.
		{"Australia/Lord_Howe", "2026-04-06", "2026-04-05T13:30:00Z"},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := snip.ParseDate(test.day)
		if err != nil {
			t.Fatal(err)
		}
		if got := day.Start(zone).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s starts at %s in %s, want %s", test.day, got, test.zone, test.want)
		}
	}
}

// TestSteps: weeks start on Monday, months with their first, and the range cuts
// both.
func TestSteps(t *testing.T) {
	for _, test := range []struct {
		from, to string
		step     snip.Step
		want     []string
	}{
		{"2026-11-29", "2026-11-29", snip.StepDay, []string{"2026-11-29", "2026-11-30"}},
		{"2026-11-25", "2026-12-08", snip.StepWeek, []string{"2026-11-25", "2026-11-30", "2026-12-07", "2026-12-09"}},
		{"2026-11-30", "2026-12-06", snip.StepWeek, []string{"2026-11-30", "2026-12-07"}},
		{"2026-01-31", "2026-03-01", snip.StepMonth, []string{"2026-01-31", "2026-02-01", "2026-03-01", "2026-03-02"}},
		{"2011-12-29", "2011-12-31", snip.StepDay, []string{"2011-12-29", "2011-12-31", "2012-01-01"}},
	} {
		zone, err := time.LoadLocation("Pacific/Apia")
		if err != nil {
			t.Fatal(err)
		}
		r := snip.Range{From: date(t, test.from), To: date(t, test.to), Zone: zone}
		var got []string
		for _, at := range r.Steps(test.step) {
			got = append(got, snip.DateOf(at).String())
		}
		if len(got) != len(test.want) {
			t.Errorf("%s of %s to %s: %v, want %v", test.step, test.from, test.to, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s of %s to %s: %v, want %v", test.step, test.from, test.to, got, test.want)
				break
			}
		}
	}
}

func TestRangesThatCannotBeAnswered(t *testing.T) {
	for _, test := range []struct {
		from, to string
		step     snip.Step
		field    string
	}{
		{"2026-11-29", "2026-11-28", snip.StepDay, "from"},
		{"1969-12-31", "2026-11-28", snip.StepMonth, "from"},
		{"1970-01-01", "9999-12-31", snip.StepMonth, "from"},
		{"1026-11-29", "2026-11-29", snip.StepMonth, "from"},
		{"2024-11-29", "2026-11-29", snip.StepHour, "from"},
		{"2026-11-29", "2026-11-29", snip.StepHour, ""},
		{"2000-01-01", "2026-11-29", snip.StepDay, ""},
	} {
		err := snip.Range{From: date(t, test.from), To: date(t, test.to)}.Check(test.step)
		if test.field == "" {
			if err != nil {
				t.Errorf("%s to %s by %s: %v", test.from, test.to, test.step, err)
			}
			continue
		}
		if e, ok := errors.AsType[*snip.Error](err); !ok || e.Code != snip.Invalid || e.Field != test.field {
			t.Errorf("%s to %s by %s: %v, want field %q to be named", test.from, test.to, test.step, err, test.field)
		}
	}
	for _, text := range []string{"", "2026-13-01", "2026-02-30", "29.11.2026", "2026-11-29T00:00:00Z", "12026-11-29", "-026-11-29"} {
		if d, err := snip.ParseDate(text); err == nil {
			t.Errorf("ParseDate(%q) = %s, want an error", text, d)
		}
	}
}

func date(t *testing.T, text string) snip.Date {
	t.Helper()
	d, err := snip.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// zones are the names of all zones that come with Go.
func zones(t *testing.T) []string {
	t.Helper()
	root := strings.TrimSpace(string(goCommand(t, ".", "env", "GOROOT")))
	files, err := zip.OpenReader(filepath.Join(root, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var names []string
	for _, f := range files.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	return names
}
