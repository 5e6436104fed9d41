package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snip"
	"snip/web"
)

// TestOutageIsLoggedOnceNotPerVisit: a visitor must not be able to fill the log,
// and the reason of an outage must be in it.
func TestOutageIsLoggedOnceNotPerVisit(t *testing.T) {
	var log bytes.Buffer
	broken := routes(func(context.Context, string, string) (snip.Route, error) {
		return snip.Route{}, errors.New("store: find link: no such table: links") // Not an outage, but a fault.
	})
	server := newServer(t, web.Config{Routes: broken, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for i := range 100 {
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/code-%d", i), nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Fatalf("status %d, Retry-After %q, want 503 and one", w.Code, w.Header().Get("Retry-After"))
		}
	}
	server.Close()
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "no such table") {
		t.Errorf("the log has %d lines, want one with the cause:\n%.1000s", lines, log.String())
	}
}
