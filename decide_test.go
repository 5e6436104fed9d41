package snip_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestDecide(t *testing.T) {
	forever := &snip.Route{Link: 1, Location: "https://example.com/?a+b"}
	until := func(at time.Time) *snip.Route {
		return &snip.Route{Link: 1, Location: "https://example.com/", ExpiresAt: at}
	}
	sent := snip.Decision{Status: 307, Location: forever.Location, Outcome: snip.OutcomeRedirect, Count: true}
	gone := snip.Decision{Status: 410, Outcome: snip.OutcomeGone}
	unknown := snip.Decision{Status: 404, Outcome: snip.OutcomeNotFound}
	options := snip.Decision{Status: 204, Outcome: snip.OutcomeOptions}
	refused := snip.Decision{Status: 405, Outcome: snip.OutcomeMethod}
	preview := snip.Decision{Status: 200, Outcome: snip.OutcomePreview}
	tests := []struct {
		name  string
		route *snip.Route
		visit snip.Visit
		want  snip.Decision
	}{
		{"GET", forever, snip.Visit{Method: "GET"}, sent},
		{"L15 HEAD is no click", forever, snip.Visit{Method: "HEAD"}, snip.Decision{Status: 307, Location: forever.Location, Outcome: snip.OutcomeRedirect}},
		{"L15 OPTIONS", forever, snip.Visit{Method: "OPTIONS"}, options},
		{"L15 OPTIONS on an unknown code", nil, snip.Visit{Method: "OPTIONS"}, options},
		{"POST", forever, snip.Visit{Method: "POST"}, refused},
		{"POST to an unknown code", nil, snip.Visit{Method: "POST"}, refused},
		{"lower case is another method", forever, snip.Visit{Method: "get"}, refused},
		{"no method", forever, snip.Visit{}, refused},
		{"unknown", nil, snip.Visit{Method: "GET"}, unknown},
		{"unknown preview", nil, snip.Visit{Method: "GET", Preview: true}, unknown},
		{"preview is no click", forever, snip.Visit{Method: "GET", Preview: true}, preview},
		{"preview by HEAD", forever, snip.Visit{Method: "HEAD", Preview: true}, preview},
		{"L35 expired", until(noon.Add(-time.Hour)), snip.Visit{Method: "GET"}, gone},
		{"expired this moment", until(noon), snip.Visit{Method: "HEAD"}, gone},
		{"expired preview", until(noon), snip.Visit{Method: "GET", Preview: true}, gone},
		{"not quite expired", until(noon.Add(1)), snip.Visit{Method: "GET"}, snip.Decision{Status: 307, Location: "https://example.com/", Outcome: snip.OutcomeRedirect, Count: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, snip.Decide(test.route, test.visit, noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRouteOfLink(t *testing.T) {
	l := snip.Link{ID: 7, Settings: snip.Settings{Target: "http://www.tübingen.de/ü", ExpiresAt: noon}}
	got, err := l.Route("", "")
	want := snip.Route{Link: 7, Location: "http://www.xn--tbingen-n2a.de/ü", Status: 307, ExpiresAt: noon}
	if err != nil || got != want {
		t.Errorf("Route() = %+v, %v, want %+v", got, err, want)
	}
	l.Target = "http://a\u202Eb/"
	if got, err := l.Route("", ""); err == nil {
		t.Errorf("Route() = %+v, nil, want an error", got)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add(true, "https://example.com/", int64(0), "GET", false, int64(0))
	f.Add(true, "https://example.com/", int64(1), "HEAD", true, int64(2))
	f.Add(false, "", int64(0), "OPTIONS", false, int64(0))
	f.Fuzz(func(t *testing.T, known bool, location string, expires int64, method string, preview bool, now int64) {
		var r *snip.Route
		if known {
			r = &snip.Route{Link: 1, Location: location}
			if expires != 0 {
				r.ExpiresAt = time.UnixMicro(expires)
			}
		}
		at := time.UnixMicro(now)
		d := snip.Decide(r, snip.Visit{Method: method, Preview: preview}, at)
		status := map[snip.Outcome]int{
			snip.OutcomeRedirect: 307, snip.OutcomePreview: 200, snip.OutcomeNotFound: 404,
			snip.OutcomeGone: 410, snip.OutcomeOptions: 204, snip.OutcomeMethod: 405,
		}[d.Outcome]
		if status == 0 || d.Status != status {
			t.Errorf("status %d with outcome %q", d.Status, d.Outcome)
		}
		sent := d.Status == http.StatusTemporaryRedirect
		if sent != (d.Location != "") && location != "" {
			t.Errorf("status %d with location %q", d.Status, d.Location)
		}
		if sent && (r == nil || r.Expired(at) || preview || d.Location != location) {
			t.Errorf("sent to %q", d.Location)
		}
		if d.Count != (sent && method == "GET") {
			t.Errorf("count %v for %s with status %d", d.Count, method, d.Status)
		}
	})
}
