package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/web"
)

// The four questions, and their parameters.
var statsRoutes = map[string]string{
	"/api/v1/links/abc/stats":     "domain, from, to, zone, step, top",
	"/api/v1/stats":               "code, domain, tag, from, to, zone, step, top",
	"/api/v1/stats/links":         "from, to, zone, limit",
	"/api/v1/stats/unknown-codes": "from, to, zone, limit",
}

// TestStatsOfAQuestion: what is asked reaches the store, and what is left out is
// filled in.
func TestStatsOfAQuestion(t *testing.T) {
	f := &figures{}
	get := openFigures(t, f, web.Config{Zone: zone(t, "Pacific/Auckland")})
	type question struct {
		Codes          []string
		From, To, Zone string
		Step           snip.Step
		Top            int
	}
	for path, want := range map[string]question{
		// At noon UTC the thirtieth has begun there.
		"/api/v1/links/abc/stats":          {[]string{"abc"}, "2026-11-01", "2026-11-30", "Pacific/Auckland", snip.StepDay, 10},
		"/api/v1/stats":                    {nil, "2026-11-01", "2026-11-30", "Pacific/Auckland", snip.StepDay, 10},
		"/api/v1/stats?code=a&code=b":      {[]string{"a", "b"}, "2026-11-01", "2026-11-30", "Pacific/Auckland", snip.StepDay, 10},
		"/api/v1/stats?zone=UTC":           {nil, "2026-10-31", "2026-11-29", "UTC", snip.StepDay, 10},
		"/api/v1/stats?to=2026-01-01":      {nil, "2025-12-03", "2026-01-01", "Pacific/Auckland", snip.StepDay, 10},
		"/api/v1/stats?from=2026-11-30":    {nil, "2026-11-30", "2026-11-30", "Pacific/Auckland", snip.StepDay, 10},
		"/api/v1/stats?top=0&step=month":   {nil, "2026-11-01", "2026-11-30", "Pacific/Auckland", snip.StepMonth, 0},
		"/api/v1/stats?top=1000&step=hour": {nil, "2026-11-01", "2026-11-30", "Pacific/Auckland", snip.StepHour, 1000},
		"/api/v1/links/abc/stats?from=2026-03-28&to=2026-03-29&zone=Europe%2FBerlin&step=week&top=3": {
			[]string{"abc"}, "2026-03-28", "2026-03-29", "Europe/Berlin", snip.StepWeek, 3,
		},
	} {
		get(path).want(t, http.StatusOK)
		q := f.query
		got := question{q.Codes, q.Range.From.String(), q.Range.To.String(), q.Range.Zone.String(), q.Step, q.Top}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for _, route := range []string{"/api/v1/stats/links", "/api/v1/stats/unknown-codes"} {
		for query, want := range map[string]question{
			"":                {nil, "2026-11-01", "2026-11-30", "Pacific/Auckland", 0, 10},
			"?limit=1":        {nil, "2026-11-01", "2026-11-30", "Pacific/Auckland", 0, 1},
			"?limit=1000":     {nil, "2026-11-01", "2026-11-30", "Pacific/Auckland", 0, 1000},
			"?to=2026-01-30":  {nil, "2026-01-01", "2026-01-30", "Pacific/Auckland", 0, 10},
			"?zone=Asia/Kabu": {},
		} {
			answer := get(route + query)
			if want.Zone == "" {
				answer.wantProblem(t, http.StatusBadRequest, "invalid", "zone", "is no time zone")
				continue
			}
			answer.want(t, http.StatusOK)
			got := question{nil, f.days.From.String(), f.days.To.String(), f.days.Zone.String(), 0, f.limit}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s%s: %s", route, query, diff)
			}
		}
	}
}

// TestStatsRefused: a question that cannot be answered names the parameter, and asks
// nobody.
func TestStatsRefused(t *testing.T) {
	f := &figures{before: func() { t.Error("the store was asked") }}
	get := openFigures(t, f, web.Config{Progress: func(context.Context) (time.Time, int64, error) {
		t.Error("the progress was asked for")
		return time.Time{}, 0, nil
	}})
	refused := func(path, query, field, message string) {
		t.Helper()
		get(path+"?"+query).wantProblem(t, http.StatusBadRequest, "invalid", field, message)
	}
	for path, parameters := range statsRoutes {
		for query, want := range map[string][2]string{
			"from=yesterday":                     {"from", "Must be a day such as 2026-11-29."},
			"from=":                              {"from", "Must be a day"},
			"to=2026-02-30":                      {"to", "Must be a day"},
			"to=2026-1-1":                        {"to", "Must be a day"},
			"from=2026-11-01T00:00:00Z":          {"from", "Must be a day"},
			"from=2026-11-02&to=2026-11-01":      {"from", "ends before it starts"},
			"from=2026-12-01":                    {"from", "ends before it starts"}, // To is today.
			"from=1969-12-31&to=2026-11-01":      {"from", "between 1970 and 9999"},
			"from=0000-01-01":                    {"from", "between 1970 and 9999"},
			"from=10000-01-01":                   {"from", "Must be a day"},
			"from=1970-01-01&to=2970-01-01":      {"from", "Ask for fewer days"},
			"zone=":                              {"zone", "is no time zone"},
			"zone=Local":                         {"zone", `"Local" is no time zone`},
			"zone=Mars/Olympus":                  {"zone", "is no time zone"},
			"zone=Europe":                        {"zone", "is no time zone"},
			"zone=../../etc/passwd":              {"zone", "is no time zone"},
			"zone=/etc/localtime":                {"zone", "is no time zone"},
			"zone=%00":                           {"zone", "no text"},
			"zone=right/UTC":                     {"zone", "is no time zone"},
			"zone=" + strings.Repeat("x", 5_000): {"zone", "is no time zone"},
			"zone=UTC&zone=UTC":                  {"zone", "more than once"},
			"from=2026-11-01&from=2026-11-02":    {"from", "more than once"},
			"form=2026-11-01":                    {"form", "There is no such parameter. There are " + parameters + "."},
			"From=2026-11-01":                    {"From", "There is no such parameter"},
			"=1":                                 {"", "There is no such parameter"},
			"%1B%5B31m=1":                        {"\x1b[31m", "There is no such parameter"},
			"from=2026-11-01;to=2026-11-02":      {"", "cannot be read"},
			"from=%zz":                           {"", "cannot be read"},
		} {
			refused(path, query, want[0], want[1])
		}
		count := map[bool]string{true: "top", false: "limit"}[strings.Contains(parameters, "top")]
		for _, n := range []string{"-1", "1001", "x", "", "1.5", "0x10", "9223372036854775808"} {
			refused(path, count+"="+n, count, "Must be a whole number from ")
		}
		refused(path, count+"=1&"+count+"=1", count, "more than once")
	}
	for _, path := range []string{"/api/v1/links/abc/stats", "/api/v1/stats"} {
		refused(path, "step=minute", "step", "one of hour, day, week, month")
		refused(path, "step=", "step", "one of hour")
		refused(path, "step=day&step=week", "step", "more than once")
		refused(path, "limit=1", "limit", "There is no such parameter")
		refused(path, "step=hour&from=2025-01-01&to=2026-11-01", "from", "more than 10000 steps")
	}
	for _, path := range []string{"/api/v1/stats/links", "/api/v1/stats/unknown-codes"} {
		refused(path, "limit=0", "limit", "from 1 to 1000")
		refused(path, "step=day", "step", "There is no such parameter")
		refused(path, "code=abc", "code", "There is no such parameter")
	}
	refused("/api/v1/links/abc/stats", "code=abc", "code", "There is no such parameter")
	refused("/api/v1/stats", "code=", "code", "at least 1")
	refused("/api/v1/stats", "code=abc&code=", "code", "at least 1")
	refused("/api/v1/stats", "tag=", "tag", "at least 1")
	refused("/api/v1/stats", strings.Repeat("code=a&", snip.MaxStatsLinks+1), "code", "At most 100")
}

// TestStatsAreNoOlderThanTheyClaim: up to when is asked before the figures are, and
// if nobody knows there are figures all the same.
func TestStatsAreNoOlderThanTheyClaim(t *testing.T) {
	known := time.Date(2026, 11, 29, 13, 0, 0, 500_000_000, time.FixedZone("", 3600))
	var upTo time.Time
	var progressErr error
	asked := 0
	f := &figures{}
	get := openFigures(t, f, web.Config{Progress: func(context.Context) (time.Time, int64, error) {
		asked++
		return upTo, 7, progressErr
	}})
	f.before = func() {
		if asked != 1 {
			t.Errorf("the progress was asked for %d times before the store, want once", asked)
		}
	}
	for path := range statsRoutes {
		if strings.HasSuffix(path, "unknown-codes") {
			continue // It is no count of clicks.
		}
		for _, c := range []struct {
			upTo time.Time
			err  error
			want string
		}{
			{known, nil, `"counted_up_to":"2026-11-29T12:00:00.5Z","dropped":7}`},
			{known, errors.New("engine away"), `"counted_up_to":null,"dropped":7}`},
			{time.Time{}, nil, `"counted_up_to":null,"dropped":7}`},
		} {
			asked, upTo, progressErr = 0, c.upTo, c.err
			get(path).want(t, http.StatusOK, c.want)
		}
	}
	openFigures(t, &figures{}, web.Config{})("/api/v1/stats").want(t, http.StatusOK, `"counted_up_to":null,"dropped":0}`)
}

// TestStatsAnswers: what was counted is told whole. What strangers sent is text in
// it, and nothing more.
func TestStatsAnswers(t *testing.T) {
	hostile := "</script>\x1b[2J\x00\n\"'&é\u202e"
	f := &figures{
		stats: snip.Stats{
			Counts: snip.Counts{Clicks: 3, HumanClicks: 2},
			Series: []snip.Point{{Start: time.Date(2026, 11, 1, 0, 0, 0, 0, zone(t, "Asia/Kathmandu")), Counts: snip.Counts{Clicks: 3, HumanClicks: 2}}},
			Before: snip.Period{From: date(t, "2026-10-31"), To: date(t, "2026-10-31"), Counts: snip.Counts{Clicks: 1}},
			Coarse: time.Date(2026, 11, 1, 5, 45, 0, 0, zone(t, "Asia/Kathmandu")),
		},
		popular: snip.Popular{
			Counts: snip.Counts{Clicks: 3, HumanClicks: 2}, More: snip.Counts{Clicks: 1},
			Links: []snip.LinkCount{{Link: snip.Link{Code: "abc", Settings: snip.Settings{Target: "https://example.com/?<b>&"}}, Counts: snip.Counts{Clicks: 2, HumanClicks: 2}}},
		},
		unknown: snip.UnknownCodes{Hits: 6, Codes: []snip.CodeHits{{Code: "wp-login", Hits: 3}}, More: 2, Other: 1},
	}
	f.stats.Dimensions[snip.ByReferrer] = snip.Breakdown{
		Top: []snip.ValueCount{{Value: hostile, Counts: snip.Counts{Clicks: 3, HumanClicks: 2}}},
	}
	get := openFigures(t, f, web.Config{BaseURL: "https://sni.example"})

	got := get("/api/v1/stats?code=abc&from=2026-11-01&to=2026-11-01&zone=Asia/Kathmandu")
	got.want(t, http.StatusOK,
		`{"domain":null,"codes":["abc"],"tag":"","from":"2026-11-01","to":"2026-11-01","zone":"Asia/Kathmandu","step":"day","clicks":3,"human_clicks":2,`,
		`"series":[{"start":"2026-11-01T00:00:00+05:45","clicks":3,"human_clicks":2}]`,
		`"before":{"from":"2026-10-31","to":"2026-10-31","clicks":1,"human_clicks":0},"visitors":[],"visitors_error":0.02,`,
		`"coarse":"2026-11-01T00:00:00Z"`)
	got.wantHeader(t, "Content-Type", "application/json")
	got.wantHeader(t, "Cache-Control", "no-store")
	got.wantHeader(t, "X-Content-Type-Options", "nosniff")
	if strings.ContainsAny(got.body[:len(got.body)-1], "\x00\x1b\n") {
		t.Errorf("a control character is in the answer: %q", got.body)
	}
	var parsed struct {
		Dimensions map[string]struct{ Top []struct{ Value string } }
	}
	got.decode(t, &parsed)
	if len(parsed.Dimensions) != int(snip.NumDimensions) || parsed.Dimensions["referrer"].Top[0].Value != hostile {
		t.Errorf("dimensions %+v, want %d and the referrer %q", parsed.Dimensions, snip.NumDimensions, hostile)
	}

	get("/api/v1/stats/links").want(t, http.StatusOK,
		`{"from":"2026-10-31","to":"2026-11-29","zone":"UTC","clicks":3,"human_clicks":2,"links":[{"link":{"id":0,"domain":"","code":"abc",`,
		`"short_url":"https://sni.example/abc",`, `"url":"https://example.com/?<b>&"`, `},"clicks":2,"human_clicks":2}],"more":{"clicks":1,"human_clicks":0}`)
	get("/api/v1/stats/unknown-codes").wantJSON(t, map[string]any{
		"from": "2026-10-31", "to": "2026-11-29", "zone": "UTC", "hits": 6.0, "more": 2.0, "other": 1.0,
		"codes": []any{map[string]any{"code": "wp-login", "hits": 3.0}},
	})
}

// TestStatsOfAStore: the same questions over a real store, where nobody has clicked.
func TestStatsOfAStore(t *testing.T) {
	s := openSite(t, web.Config{Zone: zone(t, "America/New_York")})
	s.create(snip.NewLink{Code: "abc"})
	s.create(snip.NewLink{Code: "xyz"})
	for _, query := range []string{"?code=abc", "?code=abc&code=xyz", "?code=abc&code=abc", ""} {
		got := s.api(http.MethodGet, "/api/v1/stats"+query, "")
		got.want(t, http.StatusOK, `"clicks":0,"human_clicks":0,"series":[{"start":"2026-10-31T00:00:00-04:00",`,
			`{"start":"2026-11-29T00:00:00-05:00","clicks":0,"human_clicks":0}]`, `"coarse":null`)
		var answer struct{ Series []struct{} }
		if got.decode(t, &answer); len(answer.Series) != 30 {
			t.Errorf("%q: %d steps, want 30", query, len(answer.Series))
		}
	}
	for _, query := range []string{"code=none", "code=abc&code=none", "code=abc&domain=go.example", "code=" + url.QueryEscape("a/b?é")} {
		s.api(http.MethodGet, "/api/v1/stats?"+query, "").
			wantProblem(t, http.StatusNotFound, "not_found", "code", "No link")
	}
	s.api(http.MethodGet, "/api/v1/stats/links", "").want(t, http.StatusOK, `"links":[],`)
	s.api(http.MethodGet, "/api/v1/stats/unknown-codes", "").want(t, http.StatusOK, `"hits":0,"codes":[],"more":0,"other":0}`)
}

// TestStatsHead: HEAD has the headers of GET, and no body.
func TestStatsHead(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	address, client := serve(t, s.web)
	for path := range statsRoutes {
		for query, status := range map[string]int{"": http.StatusOK, "?zone=": http.StatusBadRequest} {
			head := ask(t, client, http.MethodHead, address+path+query, "Authorization", "Bearer "+s.key)
			get := ask(t, client, http.MethodGet, address+path+query, "Authorization", "Bearer "+s.key)
			for _, a := range []answer{head, get} {
				a.want(t, status)
				a.header.Del("Date")
				a.header.Del("Content-Length") // Of a long answer it is not known.
			}
			if diff := cmp.Diff(get.header, head.header); diff != "" || head.body != "" || get.body == "" {
				t.Errorf("HEAD %s%s has %d bytes: %s", path, query, len(head.body), diff)
			}
		}
	}
}
