package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"snip"
	"snip/web"
)

// FuzzStatsQuery: whatever is asked, the store gets a question that holds together, or
// the answer says what is wrong with it.
func FuzzStatsQuery(f *testing.F) {
	for _, query := range []string{
		"", "from=2026-03-28&to=2026-03-29&zone=Europe/Berlin&step=hour&top=3", "zone=Pacific%2FKiritimati&to=9999-12-31",
		"zone=Pacific/Apia&from=2011-12-29&to=2011-12-31&step=hour", "code=a&code=%ff&step=week", "from=1970-01-01&step=month",
		"limit=7&zone=Asia/Kathmandu", "top=-1", "step=", "%zz", "a;b", "from=2026-11-01;to=2026-11-02",
	} {
		f.Add(query)
	}
	asked := &figures{}
	w := newServer(f, web.Config{Service: as(asked), Keys: anyKey{}})
	f.Fuzz(func(t *testing.T, query string) {
		*asked = figures{}
		for route := range statsRoutes {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, route, nil)
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer k")
			rec := httptest.NewRecorder()
			w.Handler().ServeHTTP(rec, r)
			switch rec.Code {
			case http.StatusOK:
				checkQuestion(t, asked, strings.HasSuffix(route, "stats"))
			case http.StatusBadRequest:
				if got := rec.Header().Get("Content-Type"); got != "application/problem+json" {
					t.Errorf("%s?%s: an error of type %q", route, query, got)
				}
			default:
				t.Errorf("%s?%s: status %d: %s", route, query, rec.Code, rec.Body)
			}
		}
		if _, err := url.ParseQuery(query); err != nil && (asked.query.Step != 0 || asked.limit != 0) {
			t.Errorf("%q is no query (%v) and was answered", query, err)
		}
	})
}

// checkQuestion checks the last question that reached the store: its days lie between
// its bounds, and its steps are in order, without a gap.
func checkQuestion(t *testing.T, asked *figures, steps bool) {
	t.Helper()
	days, step := asked.days, snip.StepDay
	if steps {
		days, step = asked.query.Range, asked.query.Step
		if top := asked.query.Top; top < 0 || top > snip.MaxTop {
			t.Errorf("asks for the top %d", top)
		}
	} else if asked.limit < 1 || asked.limit > snip.MaxTop {
		t.Errorf("asks for %d", asked.limit)
	}
	start, end := days.Bounds()
	if !start.Before(end) {
		t.Errorf("%v ends before it starts", days)
	}
	edges := days.Steps(step)
	if !edges[0].Equal(start) || !edges[len(edges)-1].Equal(end) {
		t.Errorf("the steps of %v go from %s to %s", days, edges[0], edges[len(edges)-1])
	}
	for i := range edges[1:] {
		if !edges[i].Before(edges[i+1]) {
			t.Errorf("step %d of %v begins at %s, the one before at %s", i+1, days, edges[i+1], edges[i])
		}
	}
}
