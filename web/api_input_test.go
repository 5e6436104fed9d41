package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"snip"
	"snip/web"
)

// What people send by mistake, or on purpose. Each answer names the field.

func TestCodesAskedFor(t *testing.T) {
	s := openSite(t, web.Config{})
	for _, code := range []string{"a", "-a", "A_", strings.Repeat("a", 64)} {
		s.api(http.MethodPost, "/api/v1/links", fmt.Sprintf(`{"url":"https://example.com","code":%q}`, code)).
			want(t, http.StatusCreated, fmt.Sprintf(`"code":%q`, code))
	}
	for code, message := range map[string]string{
		strings.Repeat("a", 65): "at most 64", "a/b": "letters, digits", "a?b": "letters, digits", "a b": "letters, digits",
		"\U0001F600": "letters, digits", "a\u200fb": "letters, digits", "\u202eabc": "letters, digits", "é": "letters, digits",
		".": "letters, digits", "..": "letters, digits", "api": "reserved", "API": "reserved", "shorten": "reserved", "-": "reserved",
	} {
		s.api(http.MethodPost, "/api/v1/links", fmt.Sprintf(`{"url":"https://example.com","code":%q}`, code)).
			wantProblem(t, http.StatusBadRequest, "invalid", "code", message)
	}
}

func TestTargetsAskedFor(t *testing.T) {
	s := openSite(t, web.Config{})
	long := "https://example.com/" + strings.Repeat("a", snip.MaxTarget-len("https://example.com/"))
	for _, target := range []string{long, "http://10.0.0.1/", "http://[::1]/", "http://localhost:8080/", "https://user:pass@example.com/"} {
		got := s.api(http.MethodPost, "/api/v1/links", fmt.Sprintf(`{"url":%q}`, target))
		got.want(t, http.StatusCreated)
		if got.field(t, "url") != target {
			t.Errorf("%.100s is answered as %.100s", target, got.body)
		}
	}
	for target, message := range map[string]string{
		long + "a": "at most 65536", "https://example.com/\r\nX: y": "U+000D",
		"javascript:alert(1)": "never accepted", "": "", "https://": "",
	} {
		got := s.api(http.MethodPost, "/api/v1/links", fmt.Sprintf(`{"url":%q}`, target))
		got.wantProblem(t, http.StatusBadRequest, "invalid", "url", message)
	}
}

func TestSettingsAskedFor(t *testing.T) {
	s := openSite(t, web.Config{})
	for body, want := range map[string][2]string{
		`"expires_at":"2026-11-29T11:59:59Z"`:                               {"expires_at", "already"},
		`"tags":["a\nb"]`:                                                   {"tags[0]", ""},
		`"tags":["` + strings.Repeat("x", 51) + `"]`:                        {"tags[0]", "at most 50"},
		`"tags":[""]`:                                                       {"tags[0]", ""},
		`"tags":[` + strings.Repeat(`"a",`, 50) + `"b"]`:                    {"tags", "at most 50"},
		`"title":"` + strings.Repeat("x", 501) + `"`:                        {"title", "at most 500"},
		`"password":"` + strings.Repeat("x", 257) + `"`:                     {"password", "at most 256"},
		`"click_limit":1000000001`:                                          {"click_limit", "from 0 to"},
		`"click_limit":9223372036854775808`:                                 {"click_limit", "from 0 to"},
		`"click_limit":"1"`:                                                 {"click_limit", "whole number"},
		`"fallback_url":"javascript:x"`:                                     {"fallback_url", "never accepted"},
		`"rules":[{"url":"nowhere"}]`:                                       {"rules[0].url", "no scheme"},
		`"rules":[{}]`:                                                      {"rules[0]", ""},
		`"rules":[{"url":"https://a.example"},{"url":"https://b.example"}]`: {"rules[1]", ""},
		`"rules":[{"split":[{"url":"https://a.example","weight":0},{"url":"https://b.example","weight":0}]}]`: {"rules[0].split", ""},
		`"rules":[{"split":[{"url":"https://a.example","weight":1000001}]}]`:                                  {"rules[0].split[0].weight", "from 0 to 1000000"},
		`"rules":[{"split":[{"url":"https://a.example"}]}]`:                                                   {"rules[0].split[0].weight", "missing"},
		`"rules":[{"when":{"until":"2020-01-01T00:00:00Z"},"url":"https://a.example"}]`:                       {"rules[0]", ""},
		`"rules":[{"when":{"countries":["XX"]},"url":"https://a.example"}]`:                                   {"rules[0].when.countries[0]", ""},
		`"rules":[{"when":{"devices":["toaster"]},"url":"https://a.example"}]`:                                {"rules[0].when.devices[0]", ""},
		`"rules":[{"when":{"query":{"a":"b"}},"url":"https://a.example"}]`:                                    {"rules[0].when.query.a", "Must be an array"},
		`"rules":[{"when":{"query":{"a":[],"a":[]}},"url":"https://a.example"}]`:                              {"rules[0].when.query.a", "more than once"},
		`"rules":[{"when":{"from":null},"url":"https://a.example"}]`:                                          {"rules[0].when.from", "Must be a time"},
		`"rules":[{"when":{"when":{}},"url":"https://a.example"}]`:                                            {"rules[0].when.when", "Known are countries, devices"},
		`"rules":[{"url":"https://a.example","split":[{"url":"https://b.example","weight":1}]}]`:              {"rules[0]", ""},
		`"campaign":{"source":"x","source":"y"}`:                                                              {"campaign.source", "more than once"},
		`"campaign":null`:                                                                                     {"campaign", "Must be an object"},
		`"campaign":[]`:                                                                                       {"campaign", "Must be an object"},
		`"note":"\u0000"`:                                                                                     {"note", "U+0000"},
		`"domain":"none.example"`:                                                                             {"domain", ""},
		`"rules":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000):                                  {"rules[0]", "Must be an object"},
	} {
		got := s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com",`+body+`}`)
		var p struct{ Errors []struct{ Field string } }
		got.decode(t, &p)
		if got.status < 400 || got.status >= 500 || len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Field, want[0]) || !strings.Contains(got.body, want[1]) {
			t.Errorf("%.120s: %d %.300s, want field %s, %q", body, got.status, got.body, want[0], want[1])
		}
	}
	// What stands in a tag is text, whatever it looks like; but lists of tags are written
	// with commas elsewhere.
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com","tags":["a,b"]}`).
		wantProblem(t, http.StatusBadRequest, "invalid", "tags[0]", "comma")
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com","code":"tagged","tags":["é","<b>"]}`).
		want(t, http.StatusCreated, `"tags":["<b>","é"]`)
	s.api(http.MethodGet, "/api/v1/links?tag=%3Cb%3E&tag=%C3%A9", "").want(t, http.StatusOK, `"code":"tagged"`)
	s.api(http.MethodGet, "/api/v1/links?tag=b", "").want(t, http.StatusOK, `"links":[]`)
}

// TestIdempotency: asking again makes no second link, and another thing is refused.
func TestIdempotency(t *testing.T) {
	s := openSite(t, web.Config{})
	ask := func(key, body string) answer {
		return s.do(http.MethodPost, "/api/v1/links", body, "Authorization", "Bearer "+s.key, "Content-Type", "application/json", "Idempotency-Key", key)
	}
	first := ask("k", `{"url":"https://example.com/1"}`)
	first.want(t, http.StatusCreated)
	again := ask("k", `{"url":"https://example.com/1"}`)
	again.want(t, http.StatusCreated)
	if first.field(t, "code") != again.field(t, "code") || again.header.Get("Location") != first.header.Get("Location") {
		t.Errorf("asked again: %s, first %s", again.body, first.body)
	}
	ask("k", `{"url":"https://example.com/2"}`).wantProblem(t, http.StatusUnprocessableEntity, "reused", "", "")
	ask(strings.Repeat("k", 255), `{"url":"https://example.com/2"}`).want(t, http.StatusCreated)
	for _, key := range []string{"", strings.Repeat("k", 256), "a\tb", "é"} {
		ask(key, `{"url":"https://example.com/2"}`).wantProblem(t, http.StatusBadRequest, "invalid", "Idempotency-Key", "")
	}
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/3","code":"c"}`).want(t, http.StatusCreated)
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/3","code":"c","reuse":true}`).want(t, http.StatusOK, `"code":"c"`)
}

// TestTwoEdits: of two who edit what they saw, at the same time, one is told that it
// is not so any more.
func TestTwoEdits(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	for _, edited := range []struct{ path, body string }{
		{"/api/v1/links/abc", `{"note":"%d"}`}, {"/api/v1/domains/-", `{"not_found_text":"%d"}`},
	} {
		tag := s.api(http.MethodGet, edited.path, "").header.Get("ETag")
		var statuses [2]int
		var wait sync.WaitGroup
		for i := range statuses {
			wait.Go(func() {
				got := s.do(http.MethodPatch, edited.path, fmt.Sprintf(edited.body, i),
					"Authorization", "Bearer "+s.key, "Content-Type", "application/json", "If-Match", tag)
				if statuses[i] = got.status; got.status == http.StatusPreconditionFailed {
					got.wantProblem(t, http.StatusPreconditionFailed, "changed", "", "")
				}
			})
		}
		wait.Wait()
		if slices.Sort(statuses[:]); statuses != [2]int{http.StatusOK, http.StatusPreconditionFailed} {
			t.Errorf("%s: %v, want one 200 and one 412", edited.path, statuses)
		}
	}
}

// TestIfMatch: which tags stand for what was seen.
func TestIfMatch(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	edit := func(match string) answer {
		return s.do(http.MethodPatch, "/api/v1/links/abc", `{"title":"T"}`, "Authorization", "Bearer "+s.key, "Content-Type", "application/json", "If-Match", match)
	}
	edit("*").want(t, http.StatusOK)
	tag := s.api(http.MethodGet, "/api/v1/links/abc", "").header.Get("ETag")
	for _, match := range []string{`"1"`, `"0"`, `"-1"`, `"x"`, `""`, `"99999999999999999999"`} {
		edit(match).wantProblem(t, http.StatusPreconditionFailed, "changed", "", "")
	}
	for _, match := range []string{"", "1", `"1`, `"1", "2"`, `"1"x`, "W/1"} {
		edit(match).wantProblem(t, http.StatusBadRequest, "invalid", "If-Match", "ETag")
	}
	s.do(http.MethodDelete, "/api/v1/links/abc", "", "Authorization", "Bearer "+s.key, "If-Match", `"1"`).
		wantProblem(t, http.StatusPreconditionFailed, "changed", "", "")
	got := edit("W/" + tag)
	got.want(t, http.StatusOK)
	s.do(http.MethodDelete, "/api/v1/links/abc", "", "Authorization", "Bearer "+s.key, "If-Match", got.header.Get("ETag")).
		want(t, http.StatusNoContent)
}

// flood is a body without an end that anybody would wait for.
type flood struct{ left, read int64 }

func (f *flood) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), f.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	f.left -= n
	f.read += n
	return int(n), nil
}

// TestFlood: of a body of 100 MB no more is read than is accepted, and the client is
// told why.
func TestFlood(t *testing.T) {
	const size = 100 << 20
	s := openSite(t, web.Config{OpenShorten: true})
	address, client := serve(t, s.web)
	for _, path := range []string{"/shorten", "/api/v1/links", "/api/v1/links/bulk"} {
		for _, known := range []int64{-1, size} {
			body := &flood{left: size}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, io.NopCloser(body))
			r.ContentLength = known
			r.Header.Set("Authorization", "Bearer "+s.key)
			r.Header.Set("Content-Type", "application/json")
			rec := httptest.NewRecorder()
			s.web.Handler().ServeHTTP(rec, r)
			answer{rec.Code, rec.Header(), rec.Body.String()}.wantProblem(t, http.StatusRequestEntityTooLarge, "too_large", "", "1048576 bytes")
			if body.read > 1<<20+64<<10 || known > 0 && body.read > 0 {
				t.Errorf("%s: %d bytes were read", path, body.read)
			}

			sent, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, io.NopCloser(&flood{left: size}))
			if err != nil {
				t.Fatal(err)
			}
			sent.ContentLength = known
			sent.Header = r.Header
			resp, err := client.Do(sent)
			if err != nil {
				t.Errorf("%s with length %d: %v, want an answer", path, known, err)
				continue
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s with length %d over the network: %s", path, known, resp.Status)
			}
		}
	}
	s.api(http.MethodGet, "/api/v1/links", "").want(t, http.StatusOK, `"links":[]`)
}
