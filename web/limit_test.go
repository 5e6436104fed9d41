package web_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snip"
	"snip/web"
)

const (
	aPerson    = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	aPhone     = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
	aBot       = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	aMessenger = "TelegramBot (like TwitterBot)"
)

// come visits as a browser does that sends this user agent.
func (s *site) come(path, userAgent string, headers ...string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", append([]string{"User-Agent", userAgent}, headers...)...)
}

// TestWhoUsesUpALimit is L17: who is nobody yet does not.
func TestWhoUsesUpALimit(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "once", Settings: snip.Settings{ClickLimit: 1}})
	for range 3 {
		s.come("/once", aMessenger).wantRedirect(t, l.Target)
		s.come("/once", aBot).wantRedirect(t, l.Target)
		s.come("/once", aPerson, "Sec-Purpose", "prefetch").wantRedirect(t, l.Target)
		s.do(http.MethodHead, "/once", "", "User-Agent", aPerson).wantRedirect(t, l.Target)
		s.do(http.MethodGet, "/once+", "", "Accept", asPage, "User-Agent", aPerson).want(t, http.StatusOK, "A link without preview")
	}
	s.wantClicks(9)
	s.come("/once", aPerson).wantRedirect(t, l.Target)
	s.wantClicks(10)
	s.come("/once", aPerson).want(t, http.StatusGone, "as often as it may be")
	s.come("/once", aMessenger).want(t, http.StatusGone)
	s.do(http.MethodHead, "/once", "", "User-Agent", aPerson).want(t, http.StatusGone)
	s.wantClicks(10)
}

// TestLimitIsExact is L18, on three servers over one store.
func TestLimitIsExact(t *testing.T) {
	const limit, clients, each = 20, 50, 2
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "some", Settings: snip.Settings{ClickLimit: limit}})
	s.create(snip.NewLink{Code: "once", Settings: snip.Settings{ClickLimit: 1}})
	servers := []*web.Server{s.web, s.another(web.Config{}), s.another(web.Config{})}
	var some, once, gone atomic.Int64
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for range each {
				for code, sent := range map[string]*atomic.Int64{"some": &some, "once": &once} {
					switch got := do(t, servers[i%3], http.MethodGet, "/"+code, "", "User-Agent", aPerson); got.status {
					case http.StatusTemporaryRedirect:
						sent.Add(1)
						got.wantRedirect(t, l.Target)
					case http.StatusGone:
						gone.Add(1)
					default:
						t.Errorf("status %d", got.status)
					}
				}
			}
		})
	}
	wait.Wait()
	if some.Load() != limit || once.Load() != 1 || gone.Load() != 2*clients*each-limit-1 {
		t.Errorf("%d and %d were sent on, %d told that it is over; want %d, 1 and %d", some.Load(), once.Load(), gone.Load(), limit, 2*clients*each-limit-1)
	}
	s.wantClicks(limit + 1)
}

func TestFallbackOfUsedUpLinks(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "once", Settings: snip.Settings{ClickLimit: 1, Fallback: "https://example.com/over"}})
	s.come("/once", aPerson).wantRedirect(t, l.Target)
	if arm := s.notes.last(t).Arm; arm != "" {
		t.Errorf("arm %q, want none", arm)
	}
	s.come("/once", aPerson).wantRedirect(t, l.Fallback)
	if arm := s.notes.last(t).Arm; arm != "fallback" {
		t.Errorf("arm %q, want fallback", arm)
	}
	s.wantClicks(2)
}

// limits answers as a test wants.
type limits func(ctx context.Context) (bool, error)

func (f limits) TakeClick(ctx context.Context, _, _ int64) (bool, error) { return f(ctx) }
func (f limits) ClickLeft(ctx context.Context, _, _ int64) (bool, error) { return f(ctx) }

// TestLimitsWhileTheStoreIsAway: rather no redirect than one too many, but for no other
// link.
func TestLimitsWhileTheStoreIsAway(t *testing.T) {
	for name, answer := range map[string]limits{
		"fails": func(context.Context) (bool, error) { return true, errAway },
		"hangs": func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return true, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				noted := &notes{}
				w := newServer(t, web.Config{Limits: answer, Notes: noted, Routes: routes(func(ctx context.Context, domain, code string) (snip.Route, error) {
					if code == "plain" {
						return everyCode(ctx, domain, code)
					}
					return leading(snip.Link{ID: 2, Settings: snip.Settings{Target: target(code), ClickLimit: 5}}, "")(ctx, domain, code)
				})})
				start := time.Now()
				for _, headers := range [][]string{{"User-Agent", aPerson}, {"User-Agent", aBot}} {
					got := do(t, w, http.MethodGet, "/limited", "", headers...)
					got.want(t, http.StatusServiceUnavailable)
					got.wantHeader(t, "Retry-After", "5")
					got.wantHeader(t, "Cache-Control", "private, no-store")
				}
				if took := time.Since(start); took > 4*time.Second {
					t.Errorf("two visitors waited for %v, want at most 2 s each", took)
				}
				if n := len(noted.all()); n > 0 {
					t.Errorf("%d clicks were noted", n)
				}
				visit(t, w, "/plain").wantRedirect(t, target("plain"))
			})
		})
	}
}

// A visitor who leaves while the redirect is taken has it, and it is noted.
func TestVisitorWhoLeavesALimitedLink(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	noted := &notes{}
	w := newServer(t, web.Config{Notes: noted, Limits: limits(func(ctx context.Context) (bool, error) {
		cancel()
		return true, ctx.Err()
	}), Routes: leading(snip.Link{ID: 2, Settings: snip.Settings{Target: target("a"), ClickLimit: 5}}, "")})
	doContext(ctx, w, http.MethodGet, "/abc", "", "User-Agent", aPerson).wantRedirect(t, target("a"))
	if n := len(noted.all()); n != 1 {
		t.Errorf("%d clicks were noted, want 1", n)
	}
}
