package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"snip/web"
)

// TestUnknownCodesKeepNoRequestInMemory: a code is cut out of the request's text.
// If it were kept as it is, every unknown code would keep its whole request, and
// 1000 requests with a long query 60 MB.
func TestUnknownCodesKeepNoRequestInMemory(t *testing.T) {
	server := newServer(t, web.Config{})
	before := heap()
	for i := range 1000 {
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			fmt.Sprintf("/code-%d?%s", i, strings.Repeat("q", 60_000)), nil))
		if w.Code != http.StatusNotFound {
			t.Fatalf("request %d: status %d, want 404", i, w.Code)
		}
	}
	if grown := heap() - before; grown > 10<<20 {
		t.Errorf("1000 unknown codes keep %d MB in memory, want at most 10", grown>>20)
	}
	runtime.KeepAlive(server)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
