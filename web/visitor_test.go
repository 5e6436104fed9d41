package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"snip"
	"snip/web"
)

// TestBrowserShortensAndFollows is the way of a person: a mistake, the mend, the
// new link, and where it leads.
func TestBrowserShortensAndFollows(t *testing.T) {
	destination := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><link rel="icon" href="data:,"><h1>Arrived</h1>`)
	}))
	t.Cleanup(destination.Close)
	s := openSite(t, web.Config{OpenShorten: true})
	address, _ := serve(t, s.web)
	b := openBrowser(t)

	b.shorten(address, "bbc.co.uk", "abc")
	if got := b.text("url-wrong"); !strings.Contains(got, "Did you mean https://bbc.co.uk?") {
		t.Errorf("next to the field stands %q", got)
	}
	if url, code := b.value("url"), b.value("code"); url != "bbc.co.uk" || code != "abc" {
		t.Errorf("the fields hold %q and %q, want what was typed", url, code)
	}
	target := destination.URL + "/a?b=(c)+%2B#d"
	b.submit(address, target, "abc")
	if got := b.text("short"); got != address+"/abc" {
		t.Errorf("the new link is %q, want %q", got, address+"/abc")
	}
	b.run(chromedp.Click(chromedp.ID("copy")), chromedp.WaitVisible(chromedp.Search(`//button[text()="Copied"]`)))
	s.wantClicks(0)

	b.leave(target, chromedp.Click(chromedp.ID("short")))
	if at := read(b, chromedp.Location()); at != target {
		t.Errorf("the link led to %q, want %q", at, target)
	}
	s.wantClicks(1)
	if note := s.notes.last(t); !strings.Contains(note.UserAgent, "Chrome") {
		t.Errorf("note %+v", note)
	}
	b.open(address + "/abc+")
	b.leave(target, chromedp.Click(chromedp.CSS("a.button")))
	if at := read(b, chromedp.Location()); at != target {
		t.Errorf("the preview led to %q, want %q", at, target)
	}
	s.wantClicks(1)
}

// TestBrowserUnlocks is the way of a person to a link with a password: a wrong one, the
// right one, and on to another site.
func TestBrowserUnlocks(t *testing.T) {
	destination := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><link rel="icon" href="data:,"><h1>Arrived</h1>`)
	}))
	t.Cleanup(destination.Close)
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc", Password: secret, Settings: snip.Settings{
		Target: destination.URL + "/a?b=c#d", Query: snip.QueryAppend,
	}})
	address, _ := serve(t, s.web)
	b := openBrowser(t)

	page := address + "/abc?who=me"
	b.open(page)
	if got := read(b, chromedp.Evaluate[string](`document.activeElement.id`)); got != "password" {
		t.Errorf("the focus is on %q, want the field", got)
	}
	b.look("password")
	send := func(password, leadsTo string) {
		t.Helper()
		b.run(chromedp.SetValue(chromedp.ID("password"), password))
		b.leave(leadsTo, chromedp.Click(chromedp.CSS("button[type=submit]")))
	}
	for range 5 {
		send("wrong", page)
		if got := b.text("password-wrong"); !strings.Contains(got, "not the password") {
			t.Errorf("at the field stands %q", got)
		}
		if got := b.value("password"); got != "" {
			t.Errorf("the field holds %q", got)
		}
	}
	b.look("password-wrong")
	send("wrong", page)
	if got := b.text("password-wrong"); !strings.Contains(got, "Wait 12 seconds") {
		t.Errorf("at the field stands %q", got)
	}
	b.look("password-tries")
	s.wantClicks(0)
	s.clock.add(12 * time.Second)
	b.open(page)
	arrived := strings.Replace(l.Target, "#", "&who=me#", 1)
	send(secret, arrived)
	if at := read(b, chromedp.Location()); at != arrived {
		t.Errorf("the link led to %q, want %q", at, arrived)
	}
	s.wantClicks(1)
}

// TestBrowserShowsEveryPage: on a desk and on a phone, light and dark, none is
// wider than the screen, and none breaks its own policy.
func TestBrowserShowsEveryPage(t *testing.T) {
	const target = "https://example.com/a/long/page?with=a&query=of&some=length#and-a-fragment"
	long := "https://example.com/" + strings.Repeat("long", 200) + "/" + strings.Repeat("ü", 200)
	s := openSite(t, web.Config{OpenShorten: true})
	s.create(snip.NewLink{Code: "abc", Settings: snip.Settings{Target: target, Title: "A page worth reading"}})
	s.create(snip.NewLink{Code: strings.Repeat("c", snip.MaxCode), Settings: snip.Settings{Target: long, Title: strings.Repeat("Title", 100)}})
	s.create(snip.NewLink{Code: "once", Settings: snip.Settings{Target: target, ClickLimit: 1}})
	s.domain(snip.NewDomain{Host: "localhost", NotFoundText: "Ask at the desk.\nIt is open from 9 to 5.\n" + strings.Repeat("long", 200)})
	s.create(snip.NewLink{Code: "old", Settings: snip.Settings{ExpiresAt: s.clock.Now().Add(time.Minute)}})
	s.clock.add(time.Hour)
	address, _ := serve(t, s.web)
	closed, _ := serve(t, openSite(t, web.Config{}).web)
	down, _ := serve(t, openSite(t, web.Config{Routes: routes(away)}).web)
	b := openBrowser(t)

	b.shorten(address, target, "made")
	b.look("made")
	b.shorten(address, long, strings.Repeat("m", snip.MaxCode))
	b.look("made-long")
	b.shorten(address, "bbc.co.uk/news", "news")
	b.look("error")
	b.shorten(address, long, "a.b")
	b.look("error-code")
	b.shorten(address, strings.Repeat("long", 200)+":x", "")
	b.look("error-long")
	for name, page := range map[string]string{
		"home": address + "/", "home-closed": closed + "/", "preview": address + "/abc+",
		"preview-long":   address + "/" + strings.Repeat("c", snip.MaxCode) + "+",
		"preview-hidden": address + "/once+",
		"domain":         strings.Replace(address, "127.0.0.1", "localhost", 1) + "/", "domain-not-found": strings.Replace(address, "127.0.0.1", "localhost", 1) + "/none",
		"not-found": address + "/none", "gone": address + "/old", "unavailable": down + "/abc",
	} {
		b.open(page)
		b.look(name)
	}
}
