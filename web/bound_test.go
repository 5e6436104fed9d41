package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snip"
	"snip/web"
)

func TestQuestionsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		var mu sync.Mutex
		var now, most int
		o.answers(func(ctx context.Context, domain, code string) (snip.Route, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			return everyCode(ctx, domain, code)
		})
		var wait sync.WaitGroup
		for i := range 640 {
			code := fmt.Sprintf("c%d", i)
			wait.Go(func() { visit(t, w, "/"+code).wantRedirect(t, target(code)) })
		}
		wait.Wait()
		if most != 64 {
			t.Errorf("%d questions at once, want 64", most)
		}
	})
}

// TestFloodOfUnknownCodes is L33: it fills what is kept for unknown codes and
// pushes no link out.
func TestFloodOfUnknownCodes(t *testing.T) {
	const flood = 100_000
	w, o := openOracle(t, web.Config{CacheUnknown: 1000, Now: new(clock).Now})
	visit(t, w, "/abc").wantRedirect(t, target("abc"))
	o.answers(noCode)
	labels := len(outcomes(t, o.registry))
	for i := range flood {
		if got := visit(t, w, fmt.Sprintf("/none-%d", i)); got.status != http.StatusNotFound {
			t.Fatalf("status %d, want 404", got.status)
		}
	}
	visit(t, w, "/abc").wantRedirect(t, target("abc"))
	o.wantAsked(t, "abc", 1)
	// The cache tidies up behind what it takes in.
	eventually(t, "at most 1000 unknown codes are kept", func() bool {
		return metric(t, o.registry, "snip_cache_unknown") <= 1000
	})
	if n := metric(t, o.registry, "snip_cache_unknown"); n < 100 {
		t.Errorf("%v unknown codes are kept, want about 1000", n)
	}
	if n := metric(t, o.registry, "snip_cache_links"); n != 1 {
		t.Errorf("%v links are kept, want 1", n)
	}
	if n := len(outcomes(t, o.registry)); n != labels {
		t.Errorf("%d series of redirects after the flood, %d before", n, labels)
	}
}

func TestLinksKeptAreBounded(t *testing.T) {
	const each = 10_000
	w, o := openOracle(t, web.Config{CacheBytes: 20 * each, Now: new(clock).Now})
	o.answers(func(context.Context, string, string) (snip.Route, error) {
		return snip.Route{Link: 1, Location: target(strings.Repeat("x", each))}, nil
	})
	for i := range 500 {
		visit(t, w, fmt.Sprintf("/c%d", i))
	}
	eventually(t, "fewer than 20 long links are kept", func() bool {
		return metric(t, o.registry, "snip_cache_links") < 20
	})
	if n := metric(t, o.registry, "snip_cache_links"); n < 10 {
		t.Errorf("%v links are kept, want about 19", n)
	}
}

// eventually waits for what happens soon by itself.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not so after 10 s: %s", what)
		}
	}
}
