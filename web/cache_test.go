package web_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/web"
)

// oracle answers every question about a link as a test wants at that moment.
type oracle struct {
	nowhere
	registry *prometheus.Registry

	mu     sync.Mutex // Protects the fields below.
	asked  map[string]int
	answer routes
}

// openOracle makes a server that asks an oracle, which knows every code at first.
func openOracle(t *testing.T, cfg web.Config) (*web.Server, *oracle) {
	t.Helper()
	o := &oracle{registry: prometheus.NewPedanticRegistry(), asked: map[string]int{}, answer: everyCode}
	cfg.Service, cfg.Routes, cfg.Keys, cfg.Metrics = as(o), o, anyKey{}, o.registry
	return newServer(t, cfg), o
}

func (o *oracle) Route(ctx context.Context, domain, code string) (snip.Route, error) {
	o.mu.Lock()
	o.asked[code]++
	answer := o.answer
	o.mu.Unlock()
	return answer(ctx, domain, code)
}

func (o *oracle) answers(f routes) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = f
}

func (o *oracle) wantAsked(t *testing.T, code string, n int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := o.asked[code]; got != n {
		t.Errorf("the store was asked %d times for %s, want %d", got, code, n)
	}
}

// DeleteLink makes every code unknown.
func (o *oracle) DeleteLink(context.Context, snip.Ref, int64) error {
	o.answers(noCode)
	return nil
}

func everyCode(_ context.Context, _, code string) (snip.Route, error) {
	return snip.Route{Link: 1, Location: target(code), Status: http.StatusTemporaryRedirect}, nil
}

func noCode(_ context.Context, _, code string) (snip.Route, error) {
	return snip.Route{}, unknown(code)
}

func away(context.Context, string, string) (snip.Route, error) { return snip.Route{}, errAway }

func hangs(ctx context.Context, _, _ string) (snip.Route, error) {
	<-ctx.Done()
	return snip.Route{}, ctx.Err()
}

func target(code string) string { return "https://example.com/" + code }

// anyKey knows every key.
type anyKey struct{}

func (anyKey) CheckKey(context.Context, string) (snip.Key, error) {
	return snip.Key{Scopes: []snip.Scope{snip.ScopeAdmin}}, nil
}

func visit(t *testing.T, w *web.Server, path string) answer {
	t.Helper()
	return do(t, w, http.MethodGet, path, "")
}

// visitMany starts visits of a code that the store knows and answers only when finish
// is called, which returns when all is done.
func visitMany(t *testing.T, w *web.Server, o *oracle, n int, code string) (finish func()) {
	t.Helper()
	answered := make(chan struct{})
	o.answers(func(ctx context.Context, domain, code string) (snip.Route, error) {
		<-answered
		return everyCode(ctx, domain, code)
	})
	var visits sync.WaitGroup
	for range n {
		visits.Go(func() { visit(t, w, "/"+code).wantRedirect(t, target(code)) })
	}
	synctest.Wait()
	return func() {
		close(answered)
		visits.Wait()
		synctest.Wait()
	}
}

func TestCacheAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		time.Sleep(60*time.Second - 1)
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		o.wantAsked(t, "abc", 1)
		time.Sleep(time.Nanosecond)
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		o.wantAsked(t, "abc", 2)

		o.answers(noCode)
		visit(t, w, "/none").want(t, http.StatusNotFound)
		time.Sleep(5*time.Second - 1)
		visit(t, w, "/none").want(t, http.StatusNotFound)
		o.wantAsked(t, "none", 1)
		o.answers(everyCode)
		time.Sleep(time.Nanosecond)
		visit(t, w, "/none").wantRedirect(t, target("none"))
		o.wantAsked(t, "none", 2)
	})
}

// TestCacheForgets: what another process deleted is gone when the time is over.
func TestCacheForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		o.answers(noCode)
		time.Sleep(60 * time.Second)
		visit(t, w, "/abc").want(t, http.StatusNotFound)
		o.answers(away)
		time.Sleep(5 * time.Second)
		visit(t, w, "/abc").want(t, http.StatusServiceUnavailable)
	})
}

func TestOneQuestionForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		visitMany(t, w, o, 1000, "abc")()
		o.wantAsked(t, "abc", 1)
	})
}

// TestKnownLinksOutliveTheStore: however long it is away, and however it fails.
func TestKnownLinksOutliveTheStore(t *testing.T) {
	for name, outage := range map[string]struct {
		answer routes
		wait   time.Duration // That a visitor waits when the store is asked.
	}{
		"fails": {away, 0},
		"hangs": {hangs, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := openOracle(t, web.Config{})
				visit(t, w, "/abc").wantRedirect(t, target("abc"))
				o.answers(outage.answer)
				for n := range 5 {
					time.Sleep(time.Hour)
					start := time.Now()
					visit(t, w, "/abc").wantRedirect(t, target("abc"))
					if took := time.Since(start); took != outage.wait {
						t.Errorf("took %v, want %v", took, outage.wait)
					}
					time.Sleep(time.Second - 1)
					start = time.Now()
					visit(t, w, "/abc").wantRedirect(t, target("abc"))
					if took := time.Since(start); took != 0 {
						t.Errorf("took %v within the second after, want none", took)
					}
					o.wantAsked(t, "abc", 2+n)
				}
				o.answers(noCode)
				time.Sleep(10 * time.Second) // What still hangs comes to its end.
				visit(t, w, "/abc").want(t, http.StatusNotFound)
			})
		})
	}
}

func TestNewCodesWaitTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		o.answers(hangs)
		start := time.Now()
		visit(t, w, "/abc").want(t, http.StatusServiceUnavailable)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
		o.answers(func(ctx context.Context, domain, code string) (snip.Route, error) {
			time.Sleep(2*time.Second - 1)
			return everyCode(ctx, domain, code)
		})
		visit(t, w, "/slow").wantRedirect(t, target("slow"))
		// An outage is no answer: the next visitor asks again.
		time.Sleep(5 * time.Second)
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
	})
}

// TestVisitorWhoLeaves: others wait for the same answer.
func TestVisitorWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		o.answers(func(ctx context.Context, domain, code string) (snip.Route, error) {
			cancel()
			synctest.Wait()
			if err := ctx.Err(); err != nil {
				t.Errorf("the question ended with its visitor: %v", err)
			}
			return everyCode(ctx, domain, code)
		})
		doContext(ctx, w, http.MethodGet, "/abc", "")
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		o.wantAsked(t, "abc", 1)
	})
}

// TestOldAnswersAreNotKept: an answer that was under way when its link changed.
func TestOldAnswersAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		finish := visitMany(t, w, o, 1, "abc")
		do(t, w, http.MethodDelete, "/api/v1/links/abc", "", "Authorization", "Bearer k").want(t, http.StatusNoContent)
		// Who comes after the change does not wait for the old answer.
		visit(t, w, "/abc").want(t, http.StatusNotFound)
		finish()
		visit(t, w, "/abc").want(t, http.StatusNotFound)
		o.wantAsked(t, "abc", 2)
	})
}
