package web_test

import (
	"net/http"
	"testing"
	"time"

	"snip/web"
)

// BenchmarkRedirect answers a cached link; what it costs over BenchmarkBareHandler
// is Snip's part.
func BenchmarkRedirect(b *testing.B) {
	w, err := web.New(web.Config{Links: &links{link: everyCode}, Stats: nowhere{}, Keys: anyKey{}, Notes: noNotes{}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	benchmark(b, w.Handler())
}

// BenchmarkBareHandler answers the same to everybody.
func BenchmarkBareHandler(b *testing.B) {
	benchmark(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Location", target("abc"))
		h.Set("Cache-Control", "private, no-store")
		h.Set("Content-Length", "0")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
}

func benchmark(b *testing.B, h http.Handler) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/abc?utm_campaign=spring", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:5678"
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	r.Header.Set("Accept-Language", "de,en;q=0.5")
	w := &header{values: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.values)
		h.ServeHTTP(w, r)
	}
	if w.status != http.StatusTemporaryRedirect || w.values.Get("Location") != target("abc") {
		b.Fatalf("status %d, %v", w.status, w.values)
	}
}

// header keeps the head of an answer and nothing else.
type header struct {
	values http.Header
	status int
}

func (h *header) Header() http.Header         { return h.values }
func (h *header) Write(b []byte) (int, error) { return len(b), nil }
func (h *header) WriteHeader(status int)      { h.status = status }

type noNotes struct{}

func (noNotes) Record(time.Time, []byte) error { return nil }
