package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snip/web"
)

// TestPreviewWhileStoreIsAway: a link that redirects can be previewed as well.
func TestPreviewWhileStoreIsAway(t *testing.T) {
	server := newServer(t, web.Config{Service: as(down{}), Routes: routes(everyCode)})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w
	}
	if w := get("/code"); w.Code != http.StatusTemporaryRedirect {
		t.Fatalf("status %d, want 307", w.Code)
	}
	if w := get("/code+"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "https://example.com/code") {
		t.Errorf("status %d, want 200 and the target: %s", w.Code, w.Body)
	}
}
