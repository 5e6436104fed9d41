package web_test

import (
	"net/http"
	"strings"
	"testing"

	"snip"
	"snip/web"
)

// TestBodiesRefused: each answer says which field is wrong, and nothing is made.
func TestBodiesRefused(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true})
	tests := []struct{ name, body, field, message string }{
		{"empty", "", "", "must be one JSON object"},
		{"null", "null", "", "must be one JSON object"},
		{"array", "[]", "", "must be one JSON object"},
		{"string", `"https://example.com"`, "", "must be one JSON object"},
		{"cut", `{"url":"https://example.com"`, "", "must be one JSON object"},
		{"two values", `{"url":"https://example.com"}{}`, "", "must be one JSON object"},
		{"something behind", `{"url":"https://example.com"} x`, "", "must be one JSON object"},
		{"comment", `{"url":"https://example.com"/**/}`, "", "must be one JSON object"},
		{"not UTF-8", "{\"url\":\"https://example.com/\xff\"}", "", "not valid UTF-8"},
		{"unknown field", `{"url":"https://example.com","link":"x"}`, "link", "Known are c"},
		{"two unknown fields", `{"uri":"https://example.com","x":1}`, "uri", "There is no such field"},
		{"field in another case", `{"URL":"https://example.com"}`, "URL", "There is no such field"},
		{"field twice", `{"url":"https://example.com/1","url":"https://example.com/2"}`, "url", "more than once"},
		{"field twice, once escaped", `{"url":"https://example.com/1","\u0075rl":"https://example.com/2"}`, "url", "more than once"},
		{"url missing", `{}`, "url", "missing"},
		{"url a number", `{"url":1}`, "url", "Must be a string"},
		{"url null", `{"url":null}`, "url", "Must be a string"},
		{"url an object", `{"url":{}}`, "url", "Must be a string"},
		{"url wrong", `{"url":"bbc.co.uk"}`, "url", "Did you mean https://bbc.co.uk?"},
		{"url that runs code", `{"url":"javascript:alert(1)"}`, "url", "never accepted"},
		{"url with a line end", `{"url":"https://example.com/\r\nSet-Cookie:a=b"}`, "url", "U+000D"},
		{"code a number", `{"url":"https://example.com","code":7}`, "code", "Must be a string"},
		{"code wrong", `{"url":"https://example.com","code":"abcd?env=prod"}`, "code", "letters, digits"},
		{"code reserved", `{"url":"https://example.com","code":"rest"}`, "code", "reserved"},
		{"title wrong", `{"url":"https://example.com","title":"a\nb"}`, "title", "U+000A"},
		{"expiry a number", `{"url":"https://example.com","expires_at":1}`, "expires_at", "Must be a time"},
		{"expiry a date", `{"url":"https://example.com","expires_at":"2027-01-31"}`, "expires_at", "Must be a time"},
		{"expiry empty", `{"url":"https://example.com","expires_at":""}`, "expires_at", "Must be a time"},
		{"expiry zero", `{"url":"https://example.com","expires_at":"0001-01-01T00:00:00Z"}`, "expires_at", "Must be a time"},
		{"expiry in the past", `{"url":"https://example.com","expires_at":"2020-01-01T00:00:00Z"}`, "expires_at", "already"},
		{"high half alone", `{"url":"https://example.com/\ud83d"}`, "url", "half of a surrogate pair"},
		{"low half alone", `{"url":"https://example.com/\ude00"}`, "url", "half of a surrogate pair"},
		{"halves reversed", `{"url":"https://example.com/\ude00\ud83d"}`, "url", "half of a surrogate pair"},
		{"half before a character", `{"url":"https://example.com/\ud83d\u0061"}`, "url", "half of a surrogate pair"},
		{"half before a letter", `{"url":"https://example.com/\ud83dxxxxxx"}`, "url", "half of a surrogate pair"},
		{"half twice", `{"url":"https://example.com/\ud83d\ud83d\ude00"}`, "url", "half of a surrogate pair"},
		{"half in upper case", `{"url":"https://example.com/\uD83D"}`, "url", "half of a surrogate pair"},
		{"half behind a backslash", `{"url":"https://example.com/#\\\ud83d"}`, "url", "half of a surrogate pair"},
		{"half in a title", `{"url":"https://example.com/","title":"\udfff"}`, "title", "half of a surrogate pair"},
	}
	for _, path := range []string{"/shorten", "/api/v1/links"} {
		for _, test := range tests {
			t.Run(path+" "+test.name, func(t *testing.T) {
				s.api(http.MethodPost, path, test.body).wantProblem(t, http.StatusBadRequest, "invalid", test.field, test.message)
			})
		}
	}
	s.api(http.MethodGet, "/api/v1/links", "").want(t, http.StatusOK, `"links":[]`)
}

func TestBodiesAccepted(t *testing.T) {
	s := openSite(t, web.Config{})
	for body, target := range map[string]string{
		`{"url":"https://example.com/\ud83d\ude00"}`:                              "https://example.com/\U0001F600",
		`{"url":"https://example.com/\uD83D\uDE00\u0061"}`:                        "https://example.com/\U0001F600a",
		`{"url":"https://example.com/#\\ud83d"}`:                                  `https://example.com/#\ud83d`,
		`{"url":"https://example.com/#\\\\ud83d\""}`:                              `https://example.com/#\\ud83d"`,
		`{"url":"https:\/\/example.com\/?a=<b>&c='\u0026\u00e9"}`:                 "https://example.com/?a=<b>&c='&é",
		" \t\r\n{ \"url\" : \"https://example.com/\uFFFD\" , \"title\":\"\" }\n ": "https://example.com/\uFFFD",
		`{"url":"https://example.com/","expires_at":null}`:                        "https://example.com/",
	} {
		got := s.api(http.MethodPost, "/api/v1/links", body)
		got.want(t, http.StatusCreated)
		l, err := s.store.Link(t.Context(), snip.Ref{Code: got.field(t, "code")})
		if err != nil || l.Target != target {
			t.Errorf("%s: kept as %q, %v, want %q", body, l.Target, err, target)
		}
		// The answer has it as typed, too.
		if answered := got.field(t, "url"); answered != target {
			t.Errorf("%s: answered as %q, want %q", body, answered, target)
		}
	}
}

func TestContentType(t *testing.T) {
	s := openSite(t, web.Config{})
	const body = `{"url":"https://example.com"}`
	for _, sent := range []string{"text/plain", "application/x-www-form-urlencode", "application/jsonp", "json", "application/json; charset", "multipart/form-data; boundary=x"} {
		s.do(http.MethodPost, "/api/v1/links", body, "Authorization", "Bearer "+s.key, "Content-Type", sent).
			wantProblem(t, http.StatusBadRequest, "invalid", "Content-Type", "must be JSON")
	}
	s.do(http.MethodPost, "/api/v1/links", body, "Authorization", "Bearer "+s.key).
		wantProblem(t, http.StatusBadRequest, "invalid", "Content-Type", "must be JSON")
	for _, sent := range []string{"application/json; charset=utf-8", "Application/JSON"} {
		s.do(http.MethodPost, "/api/v1/links", body, "Authorization", "Bearer "+s.key, "Content-Type", sent).
			want(t, http.StatusCreated)
	}
}

func TestBodySize(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true})
	body := `{"url":"https://example.com"}`
	body += strings.Repeat(" ", 1<<20-len(body))
	for _, path := range []string{"/shorten", "/api/v1/links"} {
		s.api(http.MethodPost, path, body).want(t, http.StatusCreated)
		s.api(http.MethodPost, path, body+" ").wantProblem(t, http.StatusRequestEntityTooLarge, "too_large", "", "1048576 bytes")
	}
}

// FuzzBody: whatever is sent, the answer is a link or says what is wrong, and what
// is kept is what any JSON reader reads.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"url":"https://example.com/\ud83d\ude00"}`, `{"url":"https://example.com/\ud83d"}`, `{"url":"\\ud83d","code":"a"}`,
		`{"url":"https://example.com","expires_at":null,"title":"T"}`, `{"url":1}`, `{"a":{"url":"x"}}`, `{`, `{}{}`, "\xff",
	} {
		f.Add(seed)
	}
	kept := &keeper{}
	w := newServer(f, web.Config{Service: as(kept), Keys: anyKey{}})
	f.Fuzz(func(t *testing.T, body string) {
		kept.last = snip.NewLink{}
		got := do(t, w, http.MethodPost, "/api/v1/links", body, "Authorization", "Bearer k", "Content-Type", "application/json")
		switch got.status {
		case http.StatusCreated:
			if answered := got.field(t, "url"); answered != kept.last.Target {
				t.Errorf("%q: kept %q, answered %q", body, kept.last.Target, answered)
			}
			if n := strings.Count(kept.last.Target, "\uFFFD"); n > strings.Count(body, "\uFFFD")+strings.Count(strings.ToLower(body), `\ufffd`) {
				t.Errorf("%q: kept as %q", body, kept.last.Target)
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
			if got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%q: %v", body, got)
			}
		default:
			t.Errorf("%q: status %d", body, got.status)
		}
	})
}
