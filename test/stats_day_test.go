package test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	domain "snip"
)

// spread makes clicks of people, evenly over a time.
func spread(link int64, from, to time.Time, n int) []domain.Click {
	clicks := make([]domain.Click, n)
	for i := range clicks {
		at := from.Add(to.Sub(from) * time.Duration(i) / time.Duration(n-1))
		clicks[i] = domain.Click{Link: link, At: at.Truncate(time.Microsecond), Visitor: hash(domain.Day(at), i)}
	}
	return clicks
}

// Row L22: 33 clicks over a day, as somebody sees it at 22 o'clock, eight hours behind
// UTC, where it is the next day already.
func TestTodayIsTheDayOfTheViewer(t *testing.T) {
	s := newInstance(t, "day", "now")
	behind := mustZone(t, "America/Los_Angeles")
	s.feed(spread(s.links["day"], time.Date(2026, 1, 20, 0, 0, 0, 0, behind), time.Date(2026, 1, 20, 21, 59, 59, 0, behind), 33), nil)
	// Somewhere it is 22 o'clock at this moment.
	here := evening(t, time.Now())
	y, m, d := time.Now().In(here).Date()
	s.feed(spread(s.links["now"], time.Date(y, m, d, 0, 0, 0, 0, here), time.Now(), 33), nil)
	s.resume()

	for _, name := range []string{"America/Los_Angeles", "Etc/GMT+8"} {
		zone := mustZone(t, name)
		for _, step := range []string{"hour", "day", "week", "month"} {
			for _, from := range []string{"2026-01-20", "2026-01-14", "2026-01-01"} {
				q := question{codes: []string{"day"}, from: from, to: "2026-01-20", zone: zone, step: step, top: 10}
				s.mustAgree(q)
				v := s.ask(q)
				if last := v.Series[len(v.Series)-1]; v.Clicks != 33 || step != "hour" && last.Clicks != 33 {
					t.Errorf("%s: %d clicks, %d of them in the last step, want 33", q, v.Clicks, last.Clicks)
				}
			}
		}
	}

	// Whoever names no days asks for those up to today, where they are.
	var v statsView
	s.get("/api/v1/links/now/stats", url.Values{"zone": {here.String()}}, &v)
	today := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	want := rangeView{today.AddDate(0, 0, -29).Format(time.DateOnly), today.Format(time.DateOnly), here.String()}
	if v.rangeView != want || v.Step != "day" || len(v.Series) != 30 {
		t.Fatalf("%+v in %d steps of one %s, want %+v in 30 of one day", v.rangeView, len(v.Series), v.Step, want)
	}
	if v.Clicks != 33 || v.Series[29].Clicks != 33 {
		t.Errorf("%d clicks, %d of them today, want 33", v.Clicks, v.Series[29].Clicks)
	}
}

// evening returns a zone in which it is past 22 o'clock, but not 23.
func evening(t *testing.T, now time.Time) *time.Location {
	t.Helper()
	ahead := 22 - now.UTC().Hour() // -1 to 22.
	if ahead > 14 {
		ahead -= 24
	}
	// The name has the sign of how far it is behind.
	return mustZone(t, fmt.Sprintf("Etc/GMT%+d", -ahead))
}

// TestClockADayAhead: a click of tomorrow counts, and is told of tomorrow.
func TestClockADayAhead(t *testing.T) {
	s := newInstance(t, "ahead")
	now := time.Now()
	s.feed(append(spread(s.links["ahead"], now, now.Add(time.Millisecond), 2),
		domain.Click{Link: s.links["ahead"], At: now.Add(24 * time.Hour)}), nil)
	s.resume() // The link has all three.
	today, tomorrow := now.UTC().Format(time.DateOnly), now.Add(24*time.Hour).UTC().Format(time.DateOnly)
	for _, q := range []struct {
		question
		clicks int64
	}{
		{question{from: today, to: today}, 2},
		{question{from: tomorrow, to: tomorrow}, 1},
		{question{from: today, to: tomorrow}, 3},
	} {
		q.zone, q.step = time.UTC, "day"
		for _, codes := range [][]string{{"ahead"}, nil} {
			q.codes = codes
			s.mustAgree(q.question)
			if v := s.ask(q.question); v.Clicks != q.clicks {
				t.Errorf("%s: %d clicks, want %d", q, v.Clicks, q.clicks)
			}
		}
	}
}
