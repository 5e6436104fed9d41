package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snip"
	"snip/web"
)

// TestPreviewWhileStoreIsAway: a link that redirects can be previewed as well.
func TestPreviewWhileStoreIsAway(t *testing.T) {
	links := &once{}
	server, err := web.New(web.Config{Links: links, Stats: nowhere{}, Keys: nowhere{}, Notes: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w
	}
	if w := get("/code"); w.Code != http.StatusTemporaryRedirect {
		t.Fatalf("status %d, want 307", w.Code)
	}
	if w := get("/code+"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "https://a.example/") {
		t.Errorf("status %d, want 200 and the target: %s", w.Code, w.Body)
	}
}

// once is a store that answers one question and is away from then on.
type once struct {
	nowhere
	asked bool
}

func (o *once) Link(context.Context, string) (snip.Link, error) {
	if o.asked {
		return snip.Link{}, &snip.Error{Code: snip.Unavailable, Message: "The database cannot be reached."}
	}
	o.asked = true
	return snip.Link{ID: 1, Code: "code", Target: "https://a.example/"}, nil
}
