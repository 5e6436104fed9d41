package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/web"
)

const (
	asPage = "text/html,application/xhtml+xml,*/*;q=0.8"
	asJSON = "application/json"
)

func TestRedirect(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "Abc-_9", Settings: snip.Settings{Target: "https://example.com/a?b=c#d"}})
	address, client := serve(t, s.web)
	got := ask(t, client, http.MethodGet, address+"/Abc-_9?q=1", "User-Agent", "A", "Referer", "https://r.example/", "Sec-Purpose", "prefetch")
	got.wantRedirect(t, l.Target)
	got.wantHeader(t, "Cache-Control", "private, no-store")
	got.wantHeader(t, "Content-Length", "0")
	if got.body != "" {
		t.Errorf("body %q, want none", got.body)
	}
	note := s.notes.last(t)
	if note.Address == "" {
		t.Error("no address noted")
	}
	note.Address = ""
	want := web.Note{Link: l.ID, UserAgent: "A", Referrer: "https://r.example/", Query: "q=1", Purpose: "prefetch"}
	if diff := cmp.Diff(want, note); diff != "" {
		t.Errorf("note: %s", diff)
	}
	s.wantClicks(1)
	ask(t, client, http.MethodGet, address+"/abc-_9").want(t, http.StatusNotFound) // Case matters.
	s.wantClicks(1)
}

// TestTargetsArriveAsTyped is L1, L4, L5, L6 and L7.
func TestTargetsArriveAsTyped(t *testing.T) {
	s := openSite(t, web.Config{})
	address, client := serve(t, s.web)
	for name, test := range map[string]struct{ target, location string }{
		"L1 plus":           {"https://en.wikipedia.org/wiki/?2+2_(TV_channel)", ""},
		"L1 encoded plus":   {"https://guides.apple.com/?ug=a%2BGA", ""},
		"L2 bare name":      {"https://google.com/?abc#123", ""},
		"L4 no path":        {"http://linksredirect.com?pub_id=28CL11&url=https://paytm.com/dth", ""},
		"L5 host":           {"http://www.tübingen.de/", "http://www.xn--tbingen-n2a.de/"},
		"L6 fragment":       {"https://www.typescriptlang.org/play?#code/AbC", ""},
		"L7 mailto":         {"mailto:a@b.c?subject=T&body=x%0D%0Ay", ""},
		"markup":            {`https://example.com/?q="<b>'&amp;`, ""},
		"path not in ASCII": {"https://example.com/wiki/Tübingen", ""},
		"long":              {"https://example.com/?" + strings.Repeat("+", 60_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.location == "" {
				test.location = test.target
			}
			code := s.create(snip.NewLink{Settings: snip.Settings{Target: test.target}}).Code
			ask(t, client, http.MethodGet, address+"/"+code).wantRedirect(t, test.location)
		})
	}
}

// TestHead is L15: HEAD has the headers of GET, no body, and is no click.
func TestHead(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	s.create(snip.NewLink{Code: "old", Settings: snip.Settings{ExpiresAt: s.clock.Now().Add(time.Minute)}})
	s.clock.add(time.Hour)
	address, client := serve(t, s.web)
	for _, path := range []string{"/abc", "/abc/", "/abc+", "/old", "/none", "/", "/robots.txt", "/favicon.ico"} {
		before := len(s.notes.all())
		head := ask(t, client, http.MethodHead, address+path, "Accept", asPage, "User-Agent", "Mozilla/5.0")
		s.wantClicks(before)
		get := ask(t, client, http.MethodGet, address+path, "Accept", asPage, "User-Agent", "Mozilla/5.0")
		get.header.Del("Date")
		head.header.Del("Date")
		if diff := cmp.Diff(get.header, head.header); diff != "" || head.status != get.status || head.body != "" {
			t.Errorf("HEAD %s: status %d, %d bytes, want %d and none: %s", path, head.status, len(head.body), get.status, diff)
		}
		if n := len(get.header.Values("Content-Length")); n != 1 {
			t.Errorf("GET %s: %d headers Content-Length", path, n)
		}
	}
}

// TestSlash is L11: no extra hop.
func TestSlash(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc"})
	s.visit("/abc/?a=b").wantRedirect(t, l.Target)
	s.visit("/%61bc").wantRedirect(t, l.Target)
	s.wantClicks(2)
}

func TestPreview(t *testing.T) {
	s := openSite(t, web.Config{BaseURL: "https://sni.example"})
	s.create(snip.NewLink{Code: "abc", Settings: snip.Settings{Target: `https://example.com/?q="><script>alert(1)</script>`, Title: "<b>T</b>"}})
	got := s.do(http.MethodGet, "/abc+", "", "Accept", asPage)
	got.want(t, http.StatusOK, "https://sni.example/abc", "&lt;script&gt;", "&lt;b&gt;T")
	got.wantHeader(t, "Cache-Control", "private, no-store")
	if strings.Contains(got.body, "<script>") || strings.Contains(got.body, "<b>") {
		t.Errorf("markup is not escaped: %s", got.body)
	}
	s.do(http.MethodGet, "/none+", "", "Accept", asPage).want(t, http.StatusNotFound)
	// As some programs write it, and proxies behind which nobody can tell.
	s.do(http.MethodGet, "/abc%2B", "", "Accept", asPage).want(t, http.StatusOK, "Go there")
	s.do(http.MethodGet, "/%61bc%2B", "", "Accept", asPage).want(t, http.StatusOK, "Go there")
	s.wantClicks(0)
}

func TestNotFound(t *testing.T) {
	s := openSite(t, web.Config{})
	page := s.do(http.MethodGet, "/none", "", "Accept", asPage)
	page.want(t, http.StatusNotFound, "<!doctype html>", "No link has this code.")
	page.wantHeader(t, "Content-Type", "text/html; charset=utf-8")
	page.wantHeader(t, "Cache-Control", "private, no-store")
	for _, accept := range []string{asJSON, "*/*", ""} {
		got := s.do(http.MethodGet, "/none", "", "Accept", accept)
		got.want(t, http.StatusNotFound, `"code":"not_found"`, `"status":404`)
		got.wantHeader(t, "Content-Type", "application/problem+json")
	}
	s.wantClicks(0)
}

// TestGone is L35: 410, and what was counted stays.
func TestGone(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "old", Settings: snip.Settings{ExpiresAt: s.clock.Now().Add(time.Minute)}})
	s.clock.add(time.Minute)
	got := s.do(http.MethodGet, "/old", "", "Accept", asPage)
	got.want(t, http.StatusGone, "<!doctype html>", "This link has expired.")
	got.wantHeader(t, "Cache-Control", "private, no-store")
	s.visit("/old").want(t, http.StatusGone, `"status":410`, "This link has expired.")
	s.do(http.MethodGet, "/old+", "", "Accept", asPage).want(t, http.StatusGone)
	s.wantClicks(0)
	s.api(http.MethodGet, "/api/v1/links/old/stats", "").want(t, http.StatusOK, `"clicks":0`)
}

// TestChangesAreSeenAtOnce is L28 on one instance, and L42.
func TestChangesAreSeenAtOnce(t *testing.T) {
	s := openSite(t, web.Config{})
	s.visit("/abc").want(t, http.StatusNotFound)
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/1","code":"abc"}`).want(t, http.StatusCreated)
	s.visit("/abc").wantRedirect(t, "https://example.com/1")

	s.api(http.MethodPatch, "/api/v1/links/abc", `{"url":"https://example.com/2"}`).want(t, http.StatusOK)
	s.visit("/abc").wantRedirect(t, "https://example.com/2")

	s.visit("/xyz").want(t, http.StatusNotFound)
	s.api(http.MethodPatch, "/api/v1/links/abc", `{"code":"xyz"}`).want(t, http.StatusOK)
	s.visit("/abc").want(t, http.StatusNotFound)
	s.visit("/xyz").wantRedirect(t, "https://example.com/2")

	soon := s.clock.Now().Add(10 * time.Second).Format(time.RFC3339)
	s.api(http.MethodPatch, "/api/v1/links/xyz", `{"expires_at":"`+soon+`"}`).want(t, http.StatusOK)
	s.visit("/xyz").wantRedirect(t, "https://example.com/2")
	s.clock.add(10 * time.Second) // Less than what the cache keeps it for.
	s.visit("/xyz").want(t, http.StatusGone)

	s.api(http.MethodPatch, "/api/v1/links/xyz", `{"expires_at":null}`).want(t, http.StatusOK)
	s.visit("/xyz").wantRedirect(t, "https://example.com/2")
	s.api(http.MethodDelete, "/api/v1/links/xyz", "").want(t, http.StatusNoContent)
	s.visit("/xyz").want(t, http.StatusNotFound)
	s.wantClicks(5)

	s.visit("/form").want(t, http.StatusNotFound)
	s.api(http.MethodPost, "/shorten", `{"url":"https://example.com/3","code":"form"}`).want(t, http.StatusCreated)
	s.visit("/form").wantRedirect(t, "https://example.com/3")
}

// TestMethods is L15: neither an OPTIONS nor a method that there is not asks the
// store or is counted.
func TestMethods(t *testing.T) {
	s := openSite(t, web.Config{Routes: noLinks(t)})
	for _, path := range []string{"/abc", "/abc/", "/abc+", "/none", "/abc/more"} {
		got := s.do(http.MethodOptions, path, "", "Origin", "https://other.example", "Access-Control-Request-Method", "GET")
		got.want(t, http.StatusNoContent)
		got.wantHeader(t, "Allow", "GET, HEAD, OPTIONS")
		for _, method := range []string{http.MethodPut, http.MethodDelete, "BREW"} {
			s.wantNoMethod(method, path)
		}
	}
	s.wantNoMethod(http.MethodPost, "/abc+")
	s.wantClicks(0)
}

// TestPostIsForPasswords: a link without one has nothing to do with it.
func TestPostIsForPasswords(t *testing.T) {
	s := openSite(t, web.Config{Routes: routes(everyCode)})
	s.wantNoMethod(http.MethodPost, "/abc")
	s.wantClicks(0)
}

func (s *site) wantNoMethod(method, path string) {
	s.t.Helper()
	got := s.do(method, path, "")
	got.want(s.t, http.StatusMethodNotAllowed)
	got.wantHeader(s.t, "Allow", "GET, HEAD, OPTIONS")
	got.wantHeader(s.t, "Cache-Control", "private, no-store")
}

// TestPathsThatAreNoCodes: they never ask the store.
func TestPathsThatAreNoCodes(t *testing.T) {
	s := openSite(t, web.Config{Routes: noLinks(t)})
	for _, path := range []string{
		"/abc++", "/abc+/b", "/a.b", "/a.b/c", "/index.php", "/wp-login.php", "/a%20b", "/ü", "/%00", "/a%2Fb", "/a%2Fb/c", "/a;b",
		"/+", "/" + strings.Repeat("a", snip.MaxCode+1), "/.well-known/x", "/.well-known/security.txt", "/.env",
		"/api", "/api/", "/api/v2/x", "/-/", "/-", "/-/assets/", "/shorten/x",
	} {
		s.visit(path).want(t, http.StatusNotFound)
	}
	for _, path := range []string{"//abc", "/./abc"} { // Sent to the path they mean.
		if got := s.visit(path); got.status == http.StatusOK || got.status >= 500 {
			t.Errorf("GET %s: status %d", path, got.status)
		}
	}
	robots := s.visit("/robots.txt")
	robots.want(t, http.StatusOK, "User-agent: *", "Disallow: /api/")
	robots.wantHeader(t, "Content-Type", "text/plain; charset=utf-8")
	// Who reloads the page that showed a new link gets the form again.
	form := s.visit("/shorten")
	form.want(t, http.StatusSeeOther)
	form.wantHeader(t, "Location", "/")
	icon := s.visit("/favicon.ico")
	icon.want(t, http.StatusOK, "<svg")
	icon.wantHeader(t, "Content-Type", "image/svg+xml")
	s.wantClicks(0)
}

// noLinks fails the test if a link is looked up.
func noLinks(t *testing.T) routes {
	return func(_ context.Context, _, code string) (snip.Route, error) {
		t.Errorf("the store was asked for %q", code)
		return snip.Route{}, unknown(code)
	}
}

func TestUnavailable(t *testing.T) {
	s := openSite(t, web.Config{Routes: routes(away)})
	for accept, text := range map[string]string{asPage: "<!doctype html>", asJSON: `"code":"unavailable"`} {
		got := s.do(http.MethodGet, "/abc", "", "Accept", accept)
		got.want(t, http.StatusServiceUnavailable, text)
		got.wantHeader(t, "Retry-After", "5")
		got.wantHeader(t, "Cache-Control", "private, no-store")
	}
	s.wantClicks(0)
}

// TestNotesThatFail: whatever becomes of a note changes no answer.
func TestNotesThatFail(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc"})
	s.notes.err = errors.New("disk full")
	s.visit("/abc").wantRedirect(t, l.Target)
}

// TestNotedBeforeAnswered is L30: a client that is gone right after the answer is
// counted.
func TestNotedBeforeAnswered(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	rec := &firstWrite{ResponseRecorder: httptest.NewRecorder()}
	s.notes.before = func() {
		if rec.wrote {
			t.Error("answered before the click was noted")
		}
	}
	s.web.Handler().ServeHTTP(rec, newRequest(t, "/abc"))
	s.wantClicks(1)
	if !rec.wrote {
		t.Error("not answered")
	}
}

type firstWrite struct {
	*httptest.ResponseRecorder
	wrote bool
}

func (w *firstWrite) WriteHeader(status int) {
	w.wrote = true
	w.ResponseRecorder.WriteHeader(status)
}

// TestManyVisitors: each click is noted once, whole.
func TestManyVisitors(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc"})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				s.visit("/abc?utm_campaign=spring").wantRedirect(t, l.Target)
			}
		})
	}
	wait.Wait()
	s.wantClicks(800)
	for _, b := range s.notes.all() {
		note, err := web.DecodeNote([]byte(b))
		if err != nil || note.Link != l.ID || note.Query != "utm_campaign=spring" {
			t.Fatalf("note %+v, %v", note, err)
		}
	}
}
