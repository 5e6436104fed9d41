package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/wire"
)

// sameZone: every load of a zone is another pointer.
var sameZone = cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })

func berlin(t *testing.T) snip.Range {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return snip.Range{From: snip.Date{Year: 2026, Month: 11, Day: 1}, To: snip.Date{Year: 2026, Month: 11, Day: 2}, Zone: zone}
}

// travel writes a value as the server does, and reads it as the client does.
func travel[T any](t *testing.T, v T) (text string, read T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	return string(b), read
}

// TestStats: the shape is a promise to programs, and nothing is lost on the way.
func TestStats(t *testing.T) {
	r := berlin(t)
	domain := "go.example"
	s := snip.Stats{
		Domain: &domain, Codes: []string{"go"}, Tag: "tag", Range: r, Step: snip.StepDay, Counts: snip.Counts{Clicks: 10, HumanClicks: 7},
		Series: []snip.Point{
			{Start: r.From.Start(r.Zone), Counts: snip.Counts{}},
			{Start: r.To.Start(r.Zone), Counts: snip.Counts{Clicks: 10, HumanClicks: 7}},
		},
		Before:   snip.Period{From: r.Before().From, To: r.Before().To, Counts: snip.Counts{Clicks: 3, HumanClicks: 2}},
		Visitors: []snip.Visitors{{Day: r.From, Visitors: 5}},
		Coarse:   r.To.Start(r.Zone), CountedUpTo: time.Date(2026, 11, 29, 12, 1, 7, 500_000_000, time.UTC), Dropped: 4,
	}
	for d := range snip.NumDimensions {
		s.Dimensions[d] = snip.Breakdown{
			Top:  []snip.ValueCount{{Value: d.String() + " \x1b<b>", Counts: snip.Counts{Clicks: 5, HumanClicks: 5}}, {Counts: snip.Counts{Clicks: 1}}},
			More: snip.Counts{Clicks: 1, HumanClicks: 1}, Other: snip.Counts{Clicks: int64(d) + 3, HumanClicks: 1},
		}
	}
	text, answer := travel(t, wire.StatsOf(s))
	const start = `{"domain":"go.example","codes":["go"],"tag":"tag","from":"2026-11-01","to":"2026-11-02","zone":"Europe/Berlin","step":"day",` +
		`"clicks":10,"human_clicks":7,` +
		`"series":[{"start":"2026-11-01T00:00:00+01:00","clicks":0,"human_clicks":0},` +
		`{"start":"2026-11-02T00:00:00+01:00","clicks":10,"human_clicks":7}],"dimensions":{`
	const class = `"class":{"top":[{"value":"class \u001b\u003cb\u003e","clicks":5,"human_clicks":5},` +
		`{"value":"","clicks":1,"human_clicks":0}],"more":{"clicks":1,"human_clicks":1},"other":{"clicks":3,"human_clicks":1}}`
	const end = `},"before":{"from":"2026-10-30","to":"2026-10-31","clicks":3,"human_clicks":2},` +
		`"visitors":[{"day":"2026-11-01","visitors":5}],"visitors_error":0.02,` +
		`"coarse":"2026-11-01T23:00:00Z","counted_up_to":"2026-11-29T12:01:07.5Z","dropped":4}`
	if !strings.HasPrefix(text, start) || !strings.Contains(text, class) || !strings.HasSuffix(text, end) {
		t.Errorf("written as %s", text)
	}
	got, err := answer.Stats()
	if diff := cmp.Diff(s, got, sameZone); diff != "" || err != nil {
		t.Errorf("read: %v\n%s", err, diff)
	}
	if zone := got.Series[1].Start.Location(); zone != got.Range.Zone {
		t.Errorf("a step starts in zone %v, want that of the range", zone)
	}
}

// TestNothing: lists are never null, and what is unknown is.
func TestNothing(t *testing.T) {
	text, answer := travel(t, wire.StatsOf(snip.Stats{Range: snip.Range{From: snip.Date{Year: 2026, Month: 1, Day: 1}, To: snip.Date{Year: 2026, Month: 1, Day: 1}},
		Before: snip.Period{From: snip.Date{Year: 2025, Month: 12, Day: 31}, To: snip.Date{Year: 2025, Month: 12, Day: 31}}}))
	for _, part := range []string{
		`{"domain":null,"codes":[],"tag":"",`, `"zone":"UTC"`, `"series":[],`, `"visitors":[],`,
		`"campaign":{"top":[],`, `"alias":{"top":[],`, `"arm":{"top":[],`,
		`"coarse":null,"counted_up_to":null,"dropped":0}`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
	got, err := answer.Stats()
	if err != nil || !got.Coarse.IsZero() || !got.CountedUpTo.IsZero() || got.Range.Zone.String() != "UTC" {
		t.Errorf("read: %+v, %v", got, err)
	}
}

// wholeLink has something in every field.
func wholeLink(at time.Time) snip.Link {
	return snip.Link{
		ID: 4, Domain: "go.example", Code: "go", Aliases: []string{"golang"}, Owner: 2, Version: 3,
		Settings: snip.Settings{
			Target: "https://go.dev/", Title: "Go", Note: "a\nb", Tags: []string{"a", "b"}, StartsAt: at, ExpiresAt: at, ClickLimit: 5, Fallback: "https://go.dev/x",
			Status: 302, Query: snip.QueryKeep, ForwardPath: true, Rules: []snip.Rule{{Name: "r", Target: "https://go.dev/r"}}, Campaign: snip.Campaign{Name: "c"},
		},
		HasPassword: true, ArchivedAt: at, CreatedAt: at, UpdatedAt: at, LimitUsed: 1, Clicks: 90, HumanClicks: 80,
	}
}

func TestPopular(t *testing.T) {
	made := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	p := snip.Popular{
		Range: berlin(t), Counts: snip.Counts{Clicks: 10, HumanClicks: 7},
		Links: []snip.LinkCount{{Link: wholeLink(made), Counts: snip.Counts{Clicks: 9, HumanClicks: 7}}},
		More:  snip.Counts{Clicks: 1}, CountedUpTo: made, Dropped: 2,
	}
	text, answer := travel(t, wire.PopularOf(p, func(l snip.Link) string { return "https://" + l.Domain + "/" + l.Code }))
	link, err := json.Marshal(wire.LinkOf(p.Links[0].Link, "https://go.example/go"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"from":"2026-11-01","to":"2026-11-02","zone":"Europe/Berlin","clicks":10,"human_clicks":7,` +
		`"links":[{"link":` + string(link) + `,"clicks":9,"human_clicks":7}],` +
		`"more":{"clicks":1,"human_clicks":0},"coarse":null,"counted_up_to":"2026-11-01T12:00:00Z","dropped":2}`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	got, err := answer.Popular()
	if diff := cmp.Diff(p, got, sameZone); diff != "" || err != nil {
		t.Errorf("read: %v\n%s", err, diff)
	}
}

func TestUnknownCodes(t *testing.T) {
	u := snip.UnknownCodes{Range: berlin(t), Hits: 9, Codes: []snip.CodeHits{{Code: "x", Hits: 3}}, More: 2, Other: 4}
	text, answer := travel(t, wire.UnknownCodesOf(u))
	const want = `{"from":"2026-11-01","to":"2026-11-02","zone":"Europe/Berlin","hits":9,"codes":[{"code":"x","hits":3}],"more":2,"other":4}`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	got, err := answer.UnknownCodes()
	if diff := cmp.Diff(u, got, sameZone); diff != "" || err != nil {
		t.Errorf("read: %v\n%s", err, diff)
	}
}

// TestWrittenByOthers: what is no answer of a Snip is an error, not figures of
// another day.
func TestWrittenByOthers(t *testing.T) {
	good := wire.StatsOf(snip.Stats{Range: berlin(t)})
	good.Before.From, good.Before.To = "2026-10-30", "2026-10-31"
	for name, change := range map[string]func(*wire.Stats){
		"zone":   func(s *wire.Stats) { s.Zone = "Middle-earth/Shire" },
		"from":   func(s *wire.Stats) { s.From = "" },
		"to":     func(s *wire.Stats) { s.To = "2026-02-30" },
		"step":   func(s *wire.Stats) { s.Step = "fortnight" },
		"before": func(s *wire.Stats) { s.Before.From = "yesterday" },
		"day":    func(s *wire.Stats) { s.Visitors = []wire.Visitors{{Day: "0"}} },
	} {
		answer := good
		change(&answer)
		if got, err := answer.Stats(); err == nil {
			t.Errorf("%s: read as %+v, want an error", name, got)
		}
	}
	if _, err := good.Stats(); err != nil {
		t.Error(err)
	}
	if _, err := (wire.Popular{}).Popular(); err == nil {
		t.Error("an empty object is which links are popular, want an error")
	}
	if _, err := (wire.UnknownCodes{}).UnknownCodes(); err == nil {
		t.Error("an empty object is codes that were asked for, want an error")
	}
}
