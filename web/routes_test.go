package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snip/visitor"
	"snip/web"
)

// TestOtherMethodsAreNotMissingPages: a path that is there but not with this method
// says which it has.
func TestOtherMethodsAreNotMissingPages(t *testing.T) {
	handler := openServer(t, web.Config{})
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{
		{http.MethodPut, "/shorten", "GET, HEAD, POST", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/api/v1/links", "GET, HEAD, POST", http.StatusMethodNotAllowed},
		{http.MethodPost, "/api/v1/links/made", "GET, HEAD, PATCH, DELETE", http.StatusMethodNotAllowed},
		{http.MethodPatch, "/api/v1/links/made/stats", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodPost, "/api/v1/stats", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodPut, "/api/v1/stats/links", "GET, HEAD", http.StatusMethodNotAllowed},
		{http.MethodOptions, "/api/v1/stats/unknown-codes", "GET, HEAD", http.StatusNoContent},
		{http.MethodOptions, "/api/v1/links", "GET, HEAD, POST", http.StatusNoContent},
		{http.MethodGet, "/api/v1/stats/nothing", "", http.StatusNotFound},
		{http.MethodGet, "/api/v1/nothing", "", http.StatusNotFound},
		{http.MethodGet, "/shorten", "", http.StatusSeeOther}, // To the form.
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if allow := w.Header().Get("Allow"); w.Code != c.status || allow != c.allow {
			t.Errorf("%s %s: status %d, Allow %q, want %d, %q", c.method, c.path, w.Code, allow, c.status, c.allow)
		}
	}
}

// TestFormBehindProxy: the page's own form is accepted where a proxy asks for
// another host, and that of another site is not.
func TestFormBehindProxy(t *testing.T) {
	handler := openServer(t, web.Config{OpenShorten: true, BaseURL: "https://snip.example"})
	for origin, status := range map[string]int{
		"https://snip.example":  http.StatusCreated,
		"https://other.example": http.StatusForbidden,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://10.0.0.1:8080/shorten", strings.NewReader("url=https://a.example/"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		handler.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("from %s: status %d, want %d: %s", origin, w.Code, status, w.Body)
		}
	}
}

func TestBaseURLMustBeAnOrigin(t *testing.T) {
	for _, base := range []string{"snip.example", "https://snip.example/", "https://snip.example/go"} {
		visitors, err := visitor.New(visitor.Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = web.New(web.Config{
			Service: as(maker{}), Routes: nowhere{}, Limits: nowhere{}, Keys: nowhere{}, Notes: nowhere{}, Visitors: visitors, BaseURL: base,
		})
		if err == nil || !strings.Contains(err.Error(), "BaseURL") {
			t.Errorf("New with BaseURL %q = %v, want an error that names it", base, err)
		}
	}
}
