package web_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/web"
)

// report keeps what it is told of unknown codes, as a store does.
type report struct {
	mu      sync.Mutex // Protects the fields below.
	writes  int
	kept    map[string]int64
	largest int                             // Most sums told at once.
	answer  func(ctx context.Context) error // Nil: everything is kept.
}

func (r *report) AddUnknownCodes(ctx context.Context, hits []snip.UnknownHits) error {
	r.mu.Lock()
	answer := r.answer
	r.writes++
	r.largest = max(r.largest, len(hits))
	r.mu.Unlock()
	if answer != nil {
		if err := answer(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range hits {
		r.kept[h.Slot.Format("15:04 ")+h.Code] += h.Hits
	}
	return nil
}

func (r *report) answers(f func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// asked returns how often it was told something, and how many sums at most.
func (r *report) asked() (writes, largest int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes, r.largest
}

func (r *report) all() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.kept)
}

// watched is a server that runs in a bubble of time and reports unknown codes.
// Only codes that begin with "link" have one.
type watched struct {
	t        *testing.T
	web      *web.Server
	report   *report
	registry *prometheus.Registry
	log      bytes.Buffer // To be read after stop.
	stop     func()
}

func watch(t *testing.T, now func() time.Time) *watched {
	t.Helper()
	w := &watched{t: t, report: &report{kept: map[string]int64{}}, registry: prometheus.NewPedanticRegistry()}
	w.web = newServer(t, web.Config{
		Routes: routes(func(ctx context.Context, domain, code string) (snip.Route, error) {
			if !strings.HasPrefix(code, "link") {
				return snip.Route{}, unknown(code)
			}
			r, err := everyCode(ctx, domain, code)
			if code == "link-expired" {
				r.ExpiresAt = time.Now().Add(-time.Second)
			}
			return r, err
		}),
		Unknown: w.report, Metrics: w.registry, Now: now,
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.web.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// ask visits an unknown code n times.
func (w *watched) ask(path string, n int) {
	w.t.Helper()
	for range n {
		if a := do(w.t, w.web, http.MethodGet, path, ""); a.status != http.StatusNotFound {
			w.t.Fatalf("GET %s: status %d, want 404", path, a.status)
		}
	}
}

// wantKept checks what was written so far.
func (w *watched) wantKept(want map[string]int64) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.report.all()); diff != "" {
		w.t.Error(diff)
	}
}

func (w *watched) wantMetrics(waiting, dropped int) {
	w.t.Helper()
	if got := metric(w.t, w.registry, "snip_unknown_hits_waiting"); got != float64(waiting) {
		w.t.Errorf("%v hits are said to wait, want %d", got, waiting)
	}
	if got := metric(w.t, w.registry, "snip_unknown_hits_dropped_total"); got != float64(dropped) {
		w.t.Errorf("%v hits are said to be dropped, want %d", got, dropped)
	}
}

// aWhile is longer than anything waits to be written.
const aWhile = 11 * time.Second

func TestUnknownCodesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // It is midnight.
		w := watch(t, time.Now)
		w.ask("/none", 3)
		w.ask("/none/?who=me", 1)
		w.ask("/None", 1)
		w.ask("/login", 1) // A word that no link can have is no link either.
		for _, r := range [][2]string{
			{http.MethodHead, "/none"}, {http.MethodOptions, "/none"}, {http.MethodPost, "/none"}, {http.MethodGet, "/none+"},
			{http.MethodGet, "/link"}, {http.MethodGet, "/link+"}, {http.MethodGet, "/link-expired"},
			{http.MethodGet, "/none.php"}, {http.MethodGet, "/none/none"}, {http.MethodGet, "/api"},
		} {
			do(t, w.web, r[0], r[1], "")
		}
		w.wantKept(map[string]int64{})
		w.wantMetrics(6, 0)
		time.Sleep(aWhile)
		want := map[string]int64{"00:00 none": 4, "00:00 None": 1, "00:00 login": 1}
		w.wantKept(want)
		w.wantMetrics(0, 0)

		time.Sleep(15 * time.Minute)
		w.ask("/none", 2)
		time.Sleep(24 * time.Hour)
		want["00:15 none"] = 2
		w.wantKept(want)
		if n, _ := w.report.asked(); n != 2 {
			t.Errorf("%d writes in a day, want 2", n)
		}
		w.stop()
		if n, _ := w.report.asked(); n != 2 {
			t.Errorf("%d writes after a stop with nothing to write, want 2", n)
		}
	})
}

// What comes in the last seconds is written when the server stops.
func TestLastUnknownCodesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, time.Now)
		w.ask("/none", 3)
		w.stop()
		w.wantKept(map[string]int64{"00:00 none": 3})
	})
}

func TestUnknownCodesAreBoundedInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, time.Now)
		const codes = 1700
		for i := range codes {
			w.ask(fmt.Sprintf("/none-%d", i), 1)
		}
		w.ask("/none-0", 1) // It has its place.
		w.wantMetrics(codes+1, 0)
		time.Sleep(aWhile)
		kept := w.report.all()
		if len(kept) != 1001 || kept["00:00 none-0"] != 2 || kept["00:00 "] != codes-1000 {
			t.Errorf("%d codes were kept apart, with %d hits of the first and %d of all others; want 1000, 2 and %d",
				len(kept)-1, kept["00:00 none-0"], kept["00:00 "], codes-1000)
		}
		w.wantMetrics(0, 0)
		// After a write there is room again.
		w.ask("/late", 1)
		time.Sleep(aWhile)
		if got := w.report.all()["00:00 late"]; got != 1 {
			t.Errorf("%d hits of a code after the write, want 1", got)
		}
	})
}

func TestManyVisitorsOfUnknownCodesAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, time.Now)
		failing := true
		w.report.answers(func(context.Context) error {
			if failing = !failing; failing {
				return errAway
			}
			return nil
		})
		const visitors, visits = 8, 300
		var wg sync.WaitGroup
		for range visitors {
			wg.Go(func() {
				for i := range visits {
					w.ask(fmt.Sprintf("/none-%d", i%7), 1)
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		w.report.answers(nil)
		w.stop()
		if sum := total(w.report.all()); sum != visitors*visits {
			t.Errorf("%d hits were kept, want %d", sum, visitors*visits)
		}
	})
}

// TestReportKeepsNoRequestInMemory: see TestUnknownCodesKeepNoRequestInMemory. Asking
// for a code again must not put its newer request in the place of its own text.
func TestReportKeepsNoRequestInMemory(t *testing.T) {
	server := newServer(t, web.Config{Unknown: &report{}})
	before := heap()
	for i := range 1000 {
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			fmt.Sprintf("/code-%d?%s", i%500, strings.Repeat("q", 60_000)), http.NoBody))
		if w.Code != http.StatusNotFound {
			t.Fatalf("request %d: status %d, want 404", i, w.Code)
		}
	}
	if grown := heap() - before; grown > 10<<20 {
		t.Errorf("500 unknown codes keep %d MB in memory, want at most 10", grown>>20)
	}
	runtime.KeepAlive(server)
}

func TestRunWithoutAReport(t *testing.T) {
	server := newServer(t, web.Config{})
	do(t, server, http.MethodGet, "/none", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Run(ctx); err != nil {
		t.Error(err)
	}
}

func total(hits map[string]int64) (sum int64) {
	for _, n := range hits {
		sum += n
	}
	return sum
}
