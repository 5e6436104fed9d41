package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/wire"
)

// asked runs snip stats against a server that counted what November did, and returns
// what it printed and what the server was asked.
func asked(t *testing.T, args ...string) (code int, out string, questions []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		questions = append(questions, r.URL.Path+"?"+r.URL.Query().Encode())
		st := november(t)
		q := r.URL.Query()
		st.Codes, st.Tag = q["code"], q.Get("tag")
		if q.Has("domain") {
			st.Domain = new(q.Get("domain"))
		}
		var answer any = wire.StatsOf(st)
		if r.URL.Path == "/api/v1/stats/links" {
			links := []snip.LinkCount{{Link: snip.Link{Code: "xyz", Settings: snip.Settings{Title: "\u009b2J"}}, Counts: snip.Counts{Clicks: 6, HumanClicks: 6}}}
			answer = wire.PopularOf(snip.Popular{Range: st.Range, Links: links}, func(l snip.Link) string { return "https://sni.example/" + l.Code })
		}
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		if err := e.Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"stats"}, args...), []string{"SNIP_SERVER=" + server.URL}, &stdout, &stderr)
	if stderr.Len() > 0 {
		t.Logf("%q: %s", args, &stderr)
	}
	return code, stdout.String(), questions
}

// TestStatsAsks: what is not said is for the server to choose, and what it chose is
// asked for in the second question.
func TestStatsAsks(t *testing.T) {
	const popular = "/api/v1/stats/links?from=2026-11-01&limit=10&to=2026-11-03&zone=Europe%2FBerlin"
	for args, want := range map[string][]string{
		"":                {"/api/v1/stats?top=10", popular},
		"--json":          {"/api/v1/stats?top=10", popular},
		"go":              {"/api/v1/stats?code=go&top=10"},
		"go go2 --json":   {"/api/v1/stats?code=go&code=go2&top=10"},
		"--top 0":         {"/api/v1/stats?top=0"},
		"--tag spring":    {"/api/v1/stats?tag=spring&top=10"},
		"--domain -":      {"/api/v1/stats?domain=&top=10"},
		"a.example/go":    {"/api/v1/stats?code=go&domain=a.example&top=10"},
		"go a.example/go": nil,
		"a.example/go a.example/go2 --domain a.example": {"/api/v1/stats?code=go&code=go2&domain=a.example&top=10"},
		"go --domain a.example --tag t":                 {"/api/v1/stats?code=go&domain=a.example&tag=t&top=10"},
		"a.example/go --domain b.example":               nil,
		"--top 3":                                       {"/api/v1/stats?top=3", strings.Replace(popular, "limit=10", "limit=3", 1)},
		"go --from= --to":                               nil,
		"go --zone= --from=2026-11-01 --to=2026-11-03 --step=week": {
			"/api/v1/stats?code=go&from=2026-11-01&step=week&to=2026-11-03&top=10&zone=",
		},
	} {
		code, out, questions := asked(t, strings.Fields(args)...)
		if diff := cmp.Diff(want, questions); diff != "" {
			t.Errorf("snip stats %s: %s", args, diff)
		}
		if wrong := want == nil; wrong && (code != 2 || out != "") || !wrong && (code != 0 || out == "") {
			t.Errorf("snip stats %s: exit code %d and %q", args, code, out)
		}
	}
}

// TestStatsJSON: the answers as the API gave them, one a line, and nothing in them
// that a terminal obeys.
func TestStatsJSON(t *testing.T) {
	_, out, _ := asked(t, "--json")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for the statistics and one for the popular links: %s", len(lines), out)
	}
	if !strings.HasPrefix(lines[0], `{"domain":null,"codes":[],"tag":"","from":"2026-11-01","to":"2026-11-03","zone":"Europe/Berlin","step":"day","clicks":10,`) {
		t.Errorf("statistics: %s", lines[0])
	}
	if !strings.Contains(lines[1], `"short_url":"https://sni.example/xyz"`) || !strings.Contains(lines[1], `"title":"\u009b2J"`) {
		t.Errorf("popular links: %s", lines[1])
	}
	_, out, _ = asked(t, "go", "--json")
	if strings.Count(out, "\n") != 1 || !json.Valid([]byte(out)) {
		t.Errorf("of one link: %s", out)
	}
}
