package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
)

// november is what a link got in three days.
func november(t *testing.T) snip.Stats {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) snip.Date { return snip.Date{Year: 2026, Month: 11, Day: n} }
	st := snip.Stats{
		Codes: []string{"go"}, Range: snip.Range{From: day(1), To: day(3), Zone: zone}, Step: snip.StepDay,
		Counts: snip.Counts{Clicks: 10, HumanClicks: 7},
		Series: []snip.Point{
			{Start: day(1).Start(zone)},
			{Start: day(2).Start(zone), Counts: snip.Counts{Clicks: 8, HumanClicks: 6}},
			{Start: day(3).Start(zone), Counts: snip.Counts{Clicks: 2, HumanClicks: 1}},
		},
		Before:      snip.Period{From: snip.Date{Year: 2026, Month: 10, Day: 29}, To: snip.Date{Year: 2026, Month: 10, Day: 31}, Counts: snip.Counts{Clicks: 3}},
		Visitors:    []snip.Visitors{{Day: day(2), Visitors: 5}},
		CountedUpTo: time.Date(2026, 11, 29, 12, 1, 7, 0, time.UTC), Dropped: 4,
	}
	st.Dimensions[snip.ByClass] = snip.Breakdown{Top: []snip.ValueCount{
		{Value: "human", Counts: snip.Counts{Clicks: 7, HumanClicks: 7}}, {Value: "bot", Counts: snip.Counts{Clicks: 3}},
	}}
	st.Dimensions[snip.ByReferrer] = snip.Breakdown{
		Top:  []snip.ValueCount{{Value: "", Counts: snip.Counts{Clicks: 4, HumanClicks: 4}}},
		More: snip.Counts{Clicks: 5, HumanClicks: 2}, Other: snip.Counts{Clicks: 1, HumanClicks: 1},
	}
	return st
}

func TestStatsText(t *testing.T) {
	const want = `go, 2026-11-01 to 2026-11-03, Europe/Berlin

clicks  10  +233 %  (3 in the 3 days before)
people   7  (0 in the 3 days before)

DAY                 CLICKS    PEOPLE
2026-11-01               0         0
2026-11-02               8         6  ██████████████████░░░░░░
2026-11-03               2         1  ███░░░

CLASS               CLICKS    PEOPLE
human                    7         7  ████████████████████████
bot                      3         0  ░░░░░░░░░░░

REFERRER            CLICKS    PEOPLE
(none)                   4         4  ████████████████████
(further ones)           5         2  ██████████░░░░░░░░░░░░░░
(not kept apart)         1         1  █████

UTC DAY           VISITORS
2026-11-02               5  ████████████████████████

many visitors are an estimate, within 2 %
counted up to 2026-11-29T13:01:07+01:00; dropped by this server, ever: 4
`
	if diff := cmp.Diff(want, statsText(november(t), snip.Popular{})); diff != "" {
		t.Error(diff)
	}
}

func TestStatsTextOfEverything(t *testing.T) {
	st := november(t)
	st.Codes = nil
	popular := snip.Popular{
		Links: []snip.LinkCount{{Link: snip.Link{Code: "xyz"}, Counts: snip.Counts{Clicks: 6, HumanClicks: 6}}},
		More:  snip.Counts{Clicks: 4, HumanClicks: 1},
	}
	got := statsText(st, popular)
	if !strings.HasPrefix(got, "all links, 2026-11-01 to") {
		t.Errorf("begins with %.40q", got)
	}
	wantLines(t, got, "LINK                CLICKS    PEOPLE", "xyz                      6         6  "+strings.Repeat("█", 24),
		"(all others)             4         1  ████░░░░░░░░░░░░")
}

// TestStatsTextSaysWhatIsNotKnown, and what is not exact.
func TestStatsTextSaysWhatIsNotKnown(t *testing.T) {
	st := november(t)
	st.CountedUpTo, st.Visitors = time.Time{}, nil
	st.Coarse = st.Range.To.Start(st.Range.Zone)
	st.Before.To = st.Before.From
	got := statsText(st, snip.Popular{})
	wantLines(t, got,
		"clicks  10  +233 %  (3 in the day before)",
		"not exact: up to 2026-11-03T00:00:00+01:00 whole days of another zone are kept, and a day or a step begins within one",
		"up to when clicks are counted is unknown; dropped by this server, ever: 4")
	for _, text := range []string{"VISITORS", "estimate"} {
		if strings.Contains(got, text) {
			t.Errorf("tells of %s that there were not:\n%s", text, got)
		}
	}
}

// TestStepsAreToldApart: the two hours that a clock shows twice among them.
func TestStepsAreToldApart(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	october := snip.Date{Year: 2026, Month: 10, Day: 25}
	for step, want := range map[snip.Step][]string{
		snip.StepHour:  {"2026-10-25 02:00 +02:00", "2026-10-25 02:00 +01:00"},
		snip.StepDay:   {"2026-10-25", "2026-10-26"},
		snip.StepWeek:  {"2026-10-25", "2026-10-26", "2026-11-02"},
		snip.StepMonth: {"2026-10", "2026-11"},
	} {
		r := snip.Range{From: october, To: october.AddDays(10), Zone: zone}
		st := snip.Stats{Range: r, Step: step}
		steps := r.Steps(step)
		for _, start := range steps[:len(steps)-1] {
			st.Series = append(st.Series, snip.Point{Start: start})
		}
		labels := map[string]int{}
		for _, r := range seriesTable(st).rows {
			labels[r.label]++
			if labels[r.label] > 1 {
				t.Errorf("two rows %s", r.label)
			}
		}
		for _, label := range want {
			if labels[label] != 1 {
				t.Errorf("by the %s there is no row %s", step, label)
			}
		}
	}
}

// TestStrangersDoNotSpeakToTheTerminal: referrers and campaigns are what a visitor
// sent.
func TestStrangersDoNotSpeakToTheTerminal(t *testing.T) {
	st := november(t)
	st.Codes = []string{"\x1b[31mred"}
	st.Dimensions[snip.ByCampaign] = snip.Breakdown{Top: []snip.ValueCount{
		{Value: "\x1b]0;owned\x07"}, {Value: "a\r\nb\tc\x00"}, {Value: "\u009b2J\u202eevil"}, {Value: "\xff\xfeé日本"},
		{Value: strings.Repeat("ü", 500)},
	}}
	got := statsText(st, snip.Popular{Links: []snip.LinkCount{{Link: snip.Link{Code: "\x1b[2J"}}}})
	for _, r := range got {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\ufffd') {
			t.Errorf("%q reaches the terminal", r)
		}
	}
	for _, text := range []string{
		`\x1b[31mred, 2026`, `\x1b]0;owned\a`, `a\r\nb\tc\x00`, `\u009b2J\u202eevil`, `\xff\xfeé日本`, `\x1b[2J`,
		strings.Repeat("ü", labelWidth-1) + "…",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("lacks %s:\n%s", text, got)
		}
	}
	for line := range strings.Lines(got) {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}
