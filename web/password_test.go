package web_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/web"
)

const secret = "späte Ernte & mehr"

// locked makes a site all of whose codes lead to one link with a password, and as its
// settings say.
func locked(t *testing.T, settings snip.Settings, cfg web.Config) *site {
	t.Helper()
	hash, err := argon2id.CreateHash(secret, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Routes = leading(snip.Link{ID: 7, Code: "abc", Settings: settings}, hash)
	return openSite(t, cfg)
}

// unlock posts a password as a browser does.
func (s *site) unlock(path, password string, headers ...string) answer {
	s.t.Helper()
	headers = append([]string{"Content-Type", formType, "Accept", asPage, "Sec-Fetch-Site", "same-origin"}, headers...)
	return s.do(http.MethodPost, path, url.Values{"password": {password}}.Encode(), headers...)
}

func TestPassword(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := locked(t, snip.Settings{Target: "https://example.com/?a=b#c", Status: http.StatusPermanentRedirect}, web.Config{Metrics: registry})
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		asked := s.do(method, "/abc", "", "Accept", asPage)
		asked.want(t, http.StatusForbidden)
		asked.wantHeader(t, "Cache-Control", "private, no-store")
		asked.wantHeader(t, "Location", "")
		// A redirect after the form must not be held to form-action.
		if policy := asked.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "form-action") {
			t.Errorf("policy %q", policy)
		}
	}
	s.wantClicks(0)

	wrong := s.unlock("/abc", "späte ernte & mehr")
	wrong.want(t, http.StatusForbidden, "This is not the password.", `role="alert"`)
	wrong.wantHeader(t, "Cache-Control", "private, no-store")
	wrong.wantHeader(t, "Location", "")
	s.wantClicks(0)

	right := s.unlock("/abc?utm_campaign=spring", secret, "User-Agent", "A", "Referer", "https://r.example/")
	right.want(t, http.StatusSeeOther)
	right.wantHeader(t, "Location", "https://example.com/?a=b#c")
	right.wantHeader(t, "Cache-Control", "private, no-store")
	s.wantClicks(1)
	if note := s.notes.last(t); note.Link != 7 || note.UserAgent != "A" || note.Query != "utm_campaign=spring" {
		t.Errorf("note %+v", note)
	}
	// Nobody is let in because somebody was.
	s.visit("/abc").want(t, http.StatusForbidden)
	got := outcomes(t, registry)
	if got["password"] != 4 || got["redirect"] != 1 {
		t.Errorf("outcomes %v, want 4 passwords and a redirect", got)
	}
}

func TestPasswordForm(t *testing.T) {
	s := locked(t, snip.Settings{Target: "https://example.com/secret"}, web.Config{})
	for name, got := range map[string]answer{
		"asked": s.do(http.MethodGet, "/abc", "", "Accept", asPage), "wrong": s.unlock("/abc", markup), "empty": s.unlock("/abc", ""),
	} {
		p := parse(t, got.body)
		form, input := find(p, "form", ""), find(p, "input", "password")
		if attribute(form, "method") != "post" || has(form, "action") {
			t.Errorf("%s: the form goes to %q by %q", name, attribute(form, "action"), attribute(form, "method"))
		}
		if attribute(input, "name") != "password" || attribute(input, "type") != "password" || !has(input, "autofocus") || attribute(find(p, "label", ""), "for") != "password" {
			t.Errorf("%s: the field is not as it should be: %s", name, got.body)
		}
		// A browser that keeps passwords can tell links apart, and sends no more than one.
		if link := find(p, "input", ""); attribute(link, "autocomplete") != "username" || attribute(link, "value") != "abc" || has(link, "name") {
			t.Errorf("%s: the browser is not told for which link the password is: %s", name, got.body)
		}
		by := attribute(input, "aria-describedby")
		if message := find(p, "p", by); (name == "asked") != (by == "") || by != "" && (attribute(message, "role") != "alert" || text(message) == "") {
			t.Errorf("%s: message %q", name, by)
		}
		if strings.Contains(got.body, "example.com/secret") || strings.Contains(got.body, "script") {
			t.Errorf("%s: the page tells too much: %s", name, got.body)
		}
	}
}

// TestPasswordsOfPrograms: they get a problem that says what to do.
func TestPasswordsOfPrograms(t *testing.T) {
	s := locked(t, snip.Settings{Target: "https://example.com/"}, web.Config{})
	s.visit("/abc").wantProblem(t, http.StatusForbidden, "forbidden", "password", `form field "password"`)
	post := func(body, kind string) answer {
		return s.do(http.MethodPost, "/abc", body, "Content-Type", kind)
	}
	post("password=x", formType).wantProblem(t, http.StatusForbidden, "forbidden", "password", "not the password")
	post(`{"password":"x"}`, "application/json").wantProblem(t, http.StatusBadRequest, "invalid", "password", "form")
	post("", formType).wantProblem(t, http.StatusBadRequest, "invalid", "password", "Type")
	post("password=%zz", formType).wantProblem(t, http.StatusBadRequest, "invalid", "password", "cannot be read")
	post("password=a&password=b", formType).wantProblem(t, http.StatusBadRequest, "invalid", "password", "Type")
	post("password="+strings.Repeat("x", 4<<10), formType).wantProblem(t, http.StatusRequestEntityTooLarge, "too_large", "password", "256 bytes")
	post("password="+url.QueryEscape(secret), formType).want(t, http.StatusSeeOther)
	// In the address it would be kept by whoever writes down addresses.
	s.do(http.MethodPost, "/abc?password="+url.QueryEscape(secret), "", "Content-Type", formType).want(t, http.StatusBadRequest)
	s.do(http.MethodGet, "/abc?password="+url.QueryEscape(secret), "").want(t, http.StatusForbidden)
	s.wantClicks(1)
}

func TestPasswordsFromOtherSites(t *testing.T) {
	s := locked(t, snip.Settings{Target: "https://example.com/"}, web.Config{})
	for range 10 { // They use up no tries.
		s.unlock("/abc", secret, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example").want(t, http.StatusForbidden, "another site")
	}
	s.unlock("/abc", secret).want(t, http.StatusSeeOther)
	s.wantClicks(1)
}

// TestPasswordTries: five at once, then one every 12 seconds, for each visitor apart.
func TestPasswordTries(t *testing.T) {
	proxies, err := web.ParseProxies([]string{"192.0.2.1"}) // Where httptest comes from.
	if err != nil {
		t.Fatal(err)
	}
	s := locked(t, snip.Settings{Target: "https://example.com/"}, web.Config{Proxies: proxies})
	try := func(password, from string) answer {
		t.Helper()
		return s.unlock("/abc", password, "X-Forwarded-For", from)
	}
	for range 5 {
		try("x", "2001:db8::1").want(t, http.StatusForbidden, "not the password")
	}
	refused := try(secret, "2001:db8::ffff:1") // The same network.
	refused.want(t, http.StatusTooManyRequests, "Wait 12 seconds", `role="alert"`)
	refused.wantHeader(t, "Retry-After", "12")
	refused.wantHeader(t, "Cache-Control", "private, no-store")
	try(secret, "2001:db8:0:1::1").want(t, http.StatusSeeOther)
	try(secret, "198.51.100.7").want(t, http.StatusSeeOther)

	s.clock.add(11 * time.Second)
	try("x", "2001:db8::1").wantHeader(t, "Retry-After", "1")
	s.clock.add(time.Second)
	try("x", "2001:db8::1").want(t, http.StatusForbidden, "not the password")
	try("x", "2001:db8::1").want(t, http.StatusTooManyRequests)
	// The right one costs nothing: many visitors may share an address.
	s.clock.add(12 * time.Second)
	for range 10 {
		try(secret, "2001:db8::1").want(t, http.StatusSeeOther)
	}
}

// TestPasswordTriesOfOneLink: with many addresses one has no more than 60 tries a minute.
func TestPasswordTriesOfOneLink(t *testing.T) {
	proxies, err := web.ParseProxies([]string{"192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	s := locked(t, snip.Settings{Target: "https://example.com/"}, web.Config{Proxies: proxies})
	from := netip.MustParseAddr("198.51.100.0")
	try := func() int {
		from = from.Next()
		return s.unlock("/abc", "x", "X-Forwarded-For", from.String()).status
	}
	for i := range 60 {
		if got := try(); got != http.StatusForbidden {
			t.Fatalf("try %d: status %d, want 403", i, got)
		}
	}
	if got := try(); got != http.StatusTooManyRequests {
		t.Errorf("status %d, want 429", got)
	}
	s.clock.add(time.Second)
	if got := [2]int{try(), try()}; got != [2]int{http.StatusForbidden, http.StatusTooManyRequests} {
		t.Errorf("a second later: %v, want 403, 429", got)
	}
}

// TestPasswordOfWhatIsOver: who comes too late is not asked, and no POST goes on to
// where the link leads then.
func TestPasswordOfWhatIsOver(t *testing.T) {
	settings := snip.Settings{Target: "https://example.com/", ExpiresAt: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	over := locked(t, settings, web.Config{})
	over.unlock("/abc", "x").want(t, http.StatusGone)
	over.visit("/abc").want(t, http.StatusGone)
	settings.Fallback = "https://example.com/over"
	over = locked(t, settings, web.Config{})
	got := over.unlock("/abc", "x")
	got.want(t, http.StatusSeeOther)
	got.wantHeader(t, "Location", settings.Fallback)
	early := locked(t, snip.Settings{Target: "https://example.com/", StartsAt: time.Date(2026, 11, 29, 12, 0, 1, 0, time.UTC)}, web.Config{})
	early.visit("/abc").want(t, http.StatusNotFound)
	early.unlock("/abc", secret).want(t, http.StatusNotFound)
}

func TestPasswordsAreNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := locked(t, snip.Settings{Target: "https://example.com/"}, web.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for i := range 8 {
		s.unlock("/abc", fmt.Sprintf("wrong-%d", i))
	}
	s.clock.add(time.Minute)
	s.unlock("/abc", secret).want(t, http.StatusSeeOther)
	if text := log.String(); strings.Contains(text, "wrong-") || strings.Contains(text, "Ernte") {
		t.Errorf("the log holds a password: %s", text)
	}
	for _, note := range s.notes.all() {
		if strings.Contains(note, "Ernte") {
			t.Error("a note holds a password")
		}
	}
}

// TestPasswordOfAStoredLink is the whole way, with the hash that the store makes.
func TestPasswordOfAStoredLink(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc", Password: secret})
	s.visit("/abc").want(t, http.StatusForbidden)
	s.unlock("/abc", "x").want(t, http.StatusForbidden)
	got := s.unlock("/abc", secret)
	got.want(t, http.StatusSeeOther)
	got.wantHeader(t, "Location", l.Target)
	s.do(http.MethodGet, "/abc+", "", "Accept", asPage).want(t, http.StatusOK, "A link without preview")
}
