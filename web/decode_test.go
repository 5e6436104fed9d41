package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snip"
	"snip/problem"
	"snip/web"
)

// TestAmbiguousBodiesAreRefused: of two values nobody can tell which was meant, and
// a date of the year 1 would silently mean never.
func TestAmbiguousBodiesAreRefused(t *testing.T) {
	handler := openServer(t, web.Config{OpenShorten: true})
	for name, c := range map[string]struct{ body, field string }{
		"field twice":         {`{"url":"https://a.example/","url":"https://b.example/"}`, "url"},
		"field twice, spelt":  {`{"url":"https://a.example/","\u0075rl":"https://b.example/"}`, "url"},
		"zero time":           {`{"url":"https://a.example/","expires_at":"0001-01-01T00:00:00Z"}`, "expires_at"},
		"two objects":         {`{"url":"https://a.example/"}{"url":"https://b.example/"}`, ""},
		"array":               {`[{"url":"https://a.example/"}]`, ""},
		"null":                {`null`, ""},
		"nothing":             {``, ""},
		"no end":              {`{"url":"https://a.example/"`, ""},
		"unknown in an order": {`{"uri":"https://a.example/","x":1}`, "uri"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/shorten", strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			handler.ServeHTTP(w, r)
			var p problem.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusBadRequest {
				t.Fatalf("status %d, %v, want 400 and a problem: %s", w.Code, err, w.Body)
			}
			field := ""
			if len(p.Errors) > 0 {
				field = p.Errors[0].Field
			}
			if field != c.field {
				t.Errorf("the problem names field %q, want %q: %s", field, c.field, w.Body)
			}
		})
	}
}

func openServer(t *testing.T, cfg web.Config) http.Handler {
	t.Helper()
	cfg.Links, cfg.Keys, cfg.Notes = maker{}, nowhere{}, nowhere{}
	server, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server.Handler()
}

// maker makes every link that it is asked for, and keeps none.
type maker struct{ nowhere }

func (maker) CreateLink(_ context.Context, n snip.NewLink) (snip.Link, error) {
	return snip.Link{ID: 1, Code: "made", Target: n.Target}, nil
}
