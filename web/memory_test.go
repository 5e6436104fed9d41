package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"snip"
	"snip/web"
)

// TestUnknownCodesKeepNoRequestInMemory: a code is cut out of the request's text.
// If it were kept as it is, every unknown code would keep its whole request, and
// 1000 requests with a long query 60 MB.
func TestUnknownCodesKeepNoRequestInMemory(t *testing.T) {
	server, err := web.New(web.Config{Links: nowhere{}, Stats: nowhere{}, Keys: nowhere{}, Notes: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
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

// nowhere knows no link, no key, and keeps no note.
type nowhere struct {
	snip.Links
	snip.Statistics
}

func (nowhere) Link(_ context.Context, code string) (snip.Link, error) {
	return snip.Link{}, &snip.Error{Code: snip.NotFound, Message: "No link has the code " + code + "."}
}

func (nowhere) CheckKey(context.Context, string) (snip.Key, error) {
	return snip.Key{}, &snip.Error{Code: snip.Forbidden, Message: "This key is not known here."}
}

func (nowhere) Record(time.Time, []byte) error { return nil }
