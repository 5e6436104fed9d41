package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"snip/web"
)

const formType = "application/x-www-form-urlencoded"

// TestForm: the home page's form is answered with a page, a program's with JSON,
// and what cannot be read is refused in the same words.
func TestForm(t *testing.T) {
	const page, program = "text/html,*/*;q=0.8", "*/*"
	handler := openServer(t, web.Config{OpenShorten: true})
	for name, c := range map[string]struct {
		accept, body string
		status       int
		texts        []string
	}{
		"page":            {page, "url=https://a.example/&code=", 201, []string{"<h1>", "/made", "https://a.example/"}},
		"program":         {program, "url=https://a.example/", 201, []string{`"code":"made"`, `"url":"https://a.example/"`}},
		"as it was typed": {program, "url=+https://a.example/%0A", 201, []string{`"url":" https://a.example/\n"`}}, // The store's rules refuse it.
		"JSON, no header": {program, `{"url":"https://a.example/?a=b"}`, 400, []string{`"Content-Type"`}},
		"unknown field":   {program, "url=https://a.example/&uri=x", 400, []string{`"field":"uri"`}},
		"field twice":     {program, "url=https://a.example/&url=https://b.example/", 400, []string{`"field":"url"`}},
		"bad encoding":    {program, "url=%zz", 400, []string{"whole"}},
		"too long":        {program, "url=" + strings.Repeat("x", 1<<20), 413, []string{`"too_large"`}},
		"error on a page": {page, "url=https://a.example/&x=<b>", 400, []string{`role="alert"`, `value="https://a.example/"`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/shorten", strings.NewReader(c.body))
			r.Header.Set("Content-Type", formType)
			r.Header.Set("Accept", c.accept)
			handler.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("status %d, want %d: %.500s", w.Code, c.status, w.Body)
			}
			for _, text := range c.texts {
				if !strings.Contains(w.Body.String(), text) {
					t.Errorf("the answer lacks %q: %.2000s", text, w.Body)
				}
			}
		})
	}
}

// TestFormRefusesPastedSpace: it is neither kept nor taken away, and the reason
// stands at its field.
func TestFormRefusesPastedSpace(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true})
	for field, values := range map[string]url.Values{
		"url":  {"url": {" https://a.example/"}},
		"code": {"url": {"https://a.example/"}, "code": {"abc "}},
	} {
		got := s.form(values)
		got.want(t, http.StatusBadRequest)
		if !strings.Contains(got.body, `id="`+field+`-wrong"`) {
			t.Errorf("space in %s: no reason at the field: %s", field, got.body)
		}
	}
}

// TestFormNeedsKey: where shortening is not open, a form needs a key as JSON does.
func TestFormNeedsKey(t *testing.T) {
	handler := openServer(t, web.Config{})
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/shorten", strings.NewReader("url=https://a.example/"))
	r.Header.Set("Content-Type", formType)
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("status %d, WWW-Authenticate %q, want 401 and one", w.Code, w.Header().Get("WWW-Authenticate"))
	}
}
