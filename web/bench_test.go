package web_test

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"snip/event"
	"snip/queue/spool"
	"snip/web"
)

// BenchmarkRedirect answers a cached link, its click noted in a spool: all that is
// Snip's part of a redirect.
func BenchmarkRedirect(b *testing.B) { benchmark(b, redirects(b)) }

// BenchmarkBareHandler answers the same to everybody.
func BenchmarkBareHandler(b *testing.B) { benchmark(b, http.HandlerFunc(constant)) }

// BenchmarkServedRedirect and BenchmarkServedBareHandler are what becomes of the two
// behind net/http, on one connection that stays. The client allocates nothing.
func BenchmarkServedRedirect(b *testing.B) { benchmarkServed(b, redirects(b)) }

func BenchmarkServedBareHandler(b *testing.B) { benchmarkServed(b, http.HandlerFunc(constant)) }

// BenchmarkShipperMessage makes an event of a note.
func BenchmarkShipperMessage(b *testing.B) {
	note := &lastNote{}
	w := newServer(b, web.Config{Routes: routes(everyCode), Notes: note})
	w.Handler().ServeHTTP(&header{values: http.Header{}}, someVisit(b))
	s := openShipper(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		if m := s.Message(spool.Record{At: noon, Payload: *note}); m.Type != event.ClickType {
			b.Fatalf("a message of type %q", m.Type)
		}
	}
}

// lastNote keeps the note that came last.
type lastNote []byte

func (n *lastNote) Record(_ time.Time, note []byte) error {
	*n = append((*n)[:0], note...)
	return nil
}

// redirects is a server all of whose codes are links.
func redirects(b *testing.B) http.Handler {
	clicks, err := spool.Open(spool.Config{Dir: b.TempDir(), Topic: "clicks", SegmentBytes: 32 << 20, Sync: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := clicks.Close(); err != nil {
			b.Error(err)
		}
	})
	return newServer(b, web.Config{Routes: routes(everyCode), Notes: clicks}).Handler()
}

func constant(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h["Location"], h["Cache-Control"], h["Content-Length"] = constantLocation, constantControl, constantLength
	w.WriteHeader(http.StatusTemporaryRedirect)
}

var constantLocation, constantControl, constantLength = []string{target("abc")}, []string{"private, no-store"}, []string{"0"}

func someVisit(b *testing.B) *http.Request {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/abc?utm_campaign=spring", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:5678"
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	r.Header.Set("Accept-Language", "de,en;q=0.5")
	return r
}

func benchmark(b *testing.B, h http.Handler) {
	r := someVisit(b)
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

func benchmarkServed(b *testing.B, h http.Handler) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server, served := &http.Server{Handler: h}, make(chan error)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		_ = server.Close() // Serve says how it ended.
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			b.Error(err)
		}
	}()
	r := someVisit(b)
	r.Host = "snip.example"
	var request bytes.Buffer
	if err := r.Write(&request); err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(request.Bytes()); err != nil {
			b.Fatal(err)
		}
		line, err := answers.ReadSlice('\n')
		if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 307")) {
			b.Fatalf("answered %q, %v", line, err)
		}
		for len(line) > 2 {
			if line, err = answers.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
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
