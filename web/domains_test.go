package web_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/web"
)

// domainList is a store of domains.
type domainList struct {
	mu    sync.Mutex // Protects the fields below.
	list  []snip.Domain
	err   error
	hang  bool
	asked int
}

func (d *domainList) read(ctx context.Context) ([]snip.Domain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.hang {
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return nil, ctx.Err()
	}
	return d.list, d.err
}

// set replaces all domains, each in a version of its own.
func (d *domainList) set(list ...snip.Domain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range list {
		list[i].ID, list[i].Version = int64(i+1), int64(d.asked)
	}
	d.list, d.err, d.hang = list, nil, false
}

func (d *domainList) fails(hang bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.hang = errAway, hang
}

// everywhere leads every code to a page that names its domain.
func everywhere(_ context.Context, domain, code string) (snip.Route, error) {
	return snip.Route{Link: 1, Location: at(domain, code), Status: http.StatusTemporaryRedirect}, nil
}

func at(domain, code string) string { return "https://example.com/" + domain + "/" + code }

// TestHosts: the header Host says which domain it is, and nothing else does.
func TestHosts(t *testing.T) {
	d := &domainList{}
	d.set(snip.Domain{}, snip.Domain{Host: "go.example"}, snip.Domain{Host: "[2001:db8::1]"}, snip.Domain{Host: "xn--tbingen-n2a.de"})
	w := newServer(t, web.Config{Routes: routes(everywhere), Domains: d.read, BaseURL: "https://sni.example"})
	for host, want := range map[string]string{
		"go.example": "go.example", "GO.Example": "go.example", "go.example:8080": "go.example", "go.example.": "go.example",
		"Go.Example.:443": "go.example", "[2001:DB8::1]:80": "[2001:db8::1]", "[2001:db8::1]": "[2001:db8::1]", "xn--tbingen-n2a.de": "xn--tbingen-n2a.de",
		"sni.example": "", "other.example": "", "go.example.org": "", "x.go.example": "", "[::1]:80": "", "127.0.0.1:8080": "", "": "", ":": "", ".": "",
	} {
		r := newRequest(t, "/abc")
		r.Host = host
		r.Header.Set("X-Forwarded-Host", "go.example")
		r.Header.Set("Forwarded", "host=go.example")
		serveRequest(w, r).wantRedirect(t, at(want, "abc"))
	}
	if d.asked != 1 {
		t.Errorf("the store was asked %d times, want once", d.asked)
	}
}

// TestSameCodeOnTwoDomains is L14: each link has its own clicks.
func TestSameCodeOnTwoDomains(t *testing.T) {
	s := openSite(t, web.Config{})
	s.domain(snip.NewDomain{Host: "go.example"})
	own := s.create(snip.NewLink{Code: "abc", Settings: snip.Settings{Target: "https://example.com/own"}})
	other := s.create(snip.NewLink{Domain: "go.example", Code: "abc", Settings: snip.Settings{Target: "https://example.com/other"}})
	s.create(snip.NewLink{Domain: "go.example", Code: "only"})
	for range 2 { // The second time from the cache.
		s.visit("http://sni.example/abc").wantRedirect(t, own.Target)
		if got := s.notes.last(t).Link; got != own.ID {
			t.Errorf("the click was noted for link %d, want %d", got, own.ID)
		}
		s.visit("http://go.example/abc").wantRedirect(t, other.Target)
		if got := s.notes.last(t).Link; got != other.ID {
			t.Errorf("the click was noted for link %d, want %d", got, other.ID)
		}
		s.visit("http://sni.example/only").want(t, http.StatusNotFound)
	}
	s.wantClicks(4)
	s.visit("http://go.example/abc+").want(t, http.StatusOK, "http://go.example/abc", other.Target)
}

func TestDomainThatIgnoresCase(t *testing.T) {
	s := openSite(t, web.Config{})
	s.domain(snip.NewDomain{Host: "go.example", IgnoreCase: true})
	l := s.create(snip.NewLink{Domain: "go.example", Code: "AbC"})
	s.create(snip.NewLink{Code: "AbC"})
	for _, code := range []string{"AbC", "abc", "ABC"} {
		s.visit("http://go.example/"+code).wantRedirect(t, l.Target)
	}
	s.visit("/abc").want(t, http.StatusNotFound)
	const elsewhere = "https://example.com/elsewhere"
	if _, err := s.store.EditLink(t.Context(), snip.Ref{Domain: "go.example", Code: "abc"}, snip.LinkEdit{Target: new(elsewhere)}); err != nil {
		t.Fatal(err)
	}
	body, err := event.LinkChange{Link: l.ID, Change: event.Edited, Domain: "go.example", Codes: []string{"AbC"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.web.LinkChanged(queue.Message{Type: event.LinkType, Body: body})
	for _, code := range []string{"ABC", "AbC"} {
		s.visit("http://go.example/"+code).wantRedirect(t, elsewhere)
	}
}

// TestPagesOfDomains: a custom domain has nothing but its links, and what its owner says
// of the rest.
func TestPagesOfDomains(t *testing.T) {
	d := &domainList{}
	d.set(snip.Domain{}, snip.Domain{Host: "bare.example"},
		snip.Domain{Host: "led.example", Root: "https://www.tübingen.de/", NotFound: "https://example.com/404?<>"},
		snip.Domain{Host: "told.example", NotFoundText: "Ask us:\n<b>desk</b> 7"})
	s := openSite(t, web.Config{Routes: nowhere{}, Domains: d.read, OpenShorten: true})
	get := func(address string) answer { return s.do(http.MethodGet, "http://"+address, "", "Accept", asPage) }

	root := get("led.example/")
	root.want(t, http.StatusFound)
	root.wantHeader(t, "Location", "https://www.xn--tbingen-n2a.de/")
	root.wantHeader(t, "Cache-Control", "private, no-store")
	get("bare.example/").want(t, http.StatusOK, "bare.example", "Short links live here.")
	get("sni.example/").want(t, http.StatusOK, "Shorten a link")

	for _, path := range []string{"/none", "/none+", "/a.b", "/none/more", "/api/v1/links", "/api", "/shorten", "/-/", "/-/assets/copy.js", "/.well-known/x"} {
		led := get("led.example" + path)
		led.want(t, http.StatusFound)
		led.wantHeader(t, "Location", "https://example.com/404?<>")
		led.wantHeader(t, "Cache-Control", "private, no-store")
		told := get("told.example" + path)
		told.want(t, http.StatusNotFound, "Ask us:\n&lt;b&gt;desk&lt;/b&gt; 7")
		get("bare.example"+path).want(t, http.StatusNotFound, "Nothing here")
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		s.do(method, "http://led.example/api/v1/links", "{}", "Authorization", "Bearer "+s.key).want(t, http.StatusNotFound)
		s.do(method, "http://bare.example/shorten", "url=https://example.com/").want(t, http.StatusNotFound)
	}
	s.do(http.MethodGet, "http://told.example/none", "").want(t, http.StatusNotFound, `"code":"not_found"`)
	for _, path := range []string{"/robots.txt", "/favicon.ico", "/-/assets/style.css"} {
		get("led.example"+path).want(t, http.StatusOK)
	}
	s.wantClicks(0)
}

// TestPagesOfTheOwnDomain: its owner can say the same of it, and the API stays.
func TestPagesOfTheOwnDomain(t *testing.T) {
	d := &domainList{}
	d.set(snip.Domain{Root: "https://example.com/home", NotFound: "https://example.com/404"})
	s := openSite(t, web.Config{Routes: nowhere{}, Domains: d.read, OpenShorten: true})
	for path, location := range map[string]string{"/": "https://example.com/home", "/none": "https://example.com/404", "/a.b": "https://example.com/404"} {
		got := s.visit(path)
		got.want(t, http.StatusFound)
		got.wantHeader(t, "Location", location)
	}
	for _, path := range []string{"/api/none", "/api/", "/-/none"} {
		s.visit(path).want(t, http.StatusNotFound, `"code":"not_found"`)
	}
	s.visit("/shorten").wantHeader(t, "Location", "/")
	s.do(http.MethodPost, "/none.html", "").want(t, http.StatusNotFound)
}

func domainChanged(t *testing.T, host string) queue.Message {
	t.Helper()
	body, err := event.DomainChange{Host: host, Change: event.Edited}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return queue.Message{Type: event.DomainType, Body: body}
}

// What another process did to a domain is seen by the next visitor.
func TestChangesOfDomainsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &domainList{}
		d.set(snip.Domain{})
		w := newServer(t, web.Config{Routes: routes(everywhere), Domains: d.read})
		const there = "http://go.example/Abc"
		visit(t, w, there).wantRedirect(t, at("", "Abc"))
		for _, step := range []struct {
			list []snip.Domain
			want string
		}{
			{[]snip.Domain{{}, {Host: "go.example"}}, at("go.example", "Abc")},
			{[]snip.Domain{{}, {Host: "go.example", IgnoreCase: true}}, at("go.example", "abc")},
			{[]snip.Domain{{}}, at("", "Abc")},
		} {
			d.set(step.list...)
			w.LinkChanged(domainChanged(t, "go.example"))
			visit(t, w, there).wantRedirect(t, step.want)
			d.set(snip.Domain{}) // Not told of: not seen.
			visit(t, w, there).wantRedirect(t, step.want)
			d.set(step.list...)
		}
		d.set(snip.Domain{}, snip.Domain{Host: "go.example"})
		w.ForgetLinks()
		visit(t, w, there).wantRedirect(t, at("go.example", "Abc"))
		synctest.Wait()
	})
}

// An answer that was under way when domains were changed is not gone by.
func TestOldAnswersAboutDomainsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &domainList{}
		d.set(snip.Domain{})
		answered := make(chan struct{})
		var asked atomic.Int64
		w := newServer(t, web.Config{Routes: routes(everywhere), Domains: func(ctx context.Context) ([]snip.Domain, error) {
			list, err := d.read(ctx)
			if asked.Add(1) == 1 {
				<-answered
			}
			return list, err
		}})
		var visits sync.WaitGroup
		visits.Go(func() { visit(t, w, "http://go.example/abc") })
		synctest.Wait()
		d.set(snip.Domain{}, snip.Domain{Host: "go.example"})
		w.LinkChanged(domainChanged(t, "go.example"))
		visit(t, w, "http://go.example/abc").wantRedirect(t, at("go.example", "abc"))
		close(answered)
		visits.Wait()
		synctest.Wait()
		visit(t, w, "http://go.example/abc").wantRedirect(t, at("go.example", "abc"))
	})
}

// Changes that nobody told of are seen within a minute, and no visitor waits for it.
func TestDomainsAreReadEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &domainList{}
		d.set(snip.Domain{})
		w := newServer(t, web.Config{Routes: routes(everywhere), Domains: d.read})
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		visit(t, w, "http://go.example/abc").wantRedirect(t, at("", "abc"))
		d.set(snip.Domain{}, snip.Domain{Host: "go.example"})
		time.Sleep(time.Minute + time.Second)
		visit(t, w, "http://go.example/abc").wantRedirect(t, at("go.example", "abc"))
		d.fails(true)
		w.LinkChanged(domainChanged(t, "go.example")) // The question hangs; a stop waits no longer than for its end.
		synctest.Wait()
		cancel()
		run.Wait()
	})
}

// TestDomainsOutliveTheStore: what is known goes on, and what was never known is not
// guessed at.
func TestDomainsOutliveTheStore(t *testing.T) {
	for name, hang := range map[string]bool{"fails": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &domainList{}
				d.fails(hang)
				w := newServer(t, web.Config{Routes: routes(everywhere), Domains: d.read})
				start := time.Now()
				away := visit(t, w, "http://go.example/abc")
				away.want(t, http.StatusServiceUnavailable)
				away.wantHeader(t, "Retry-After", "5")
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("a visitor waited for %v", took)
				}
				time.Sleep(10 * time.Second)
				d.set(snip.Domain{}, snip.Domain{Host: "go.example"})
				visit(t, w, "http://go.example/abc").wantRedirect(t, at("go.example", "abc"))

				d.fails(hang)
				w.ForgetLinks()
				start = time.Now()
				visit(t, w, "http://go.example/abc").wantRedirect(t, at("go.example", "abc"))
				visit(t, w, "http://go.example/abc").wantRedirect(t, at("go.example", "abc"))
				if took := time.Since(start); took > 250*time.Millisecond {
					t.Errorf("two visitors waited for %v", took)
				}
				time.Sleep(10 * time.Second)
				d.set(snip.Domain{})
				visit(t, w, "http://go.example/abc").wantRedirect(t, at("", "abc"))
			})
		})
	}
}

// domain makes a domain, and tells the server of it.
func (s *site) domain(n snip.NewDomain) snip.Domain {
	s.t.Helper()
	d, err := s.store.CreateDomain(s.t.Context(), n)
	if err != nil {
		s.t.Fatal(err)
	}
	s.web.LinkChanged(domainChanged(s.t, strings.ToLower(n.Host)))
	return d
}

// TestDomainsChangedHereAreSeenAtOnce: nothing has to come over the topic before the
// server that was asked for a change knows of it.
func TestDomainsChangedHereAreSeenAtOnce(t *testing.T) {
	s := openSite(t, web.Config{})
	home := func() answer { return s.visit("http://go.example/") }
	home().want(t, http.StatusOK) // The instance's own page.
	s.api(http.MethodPost, "/api/v1/domains", `{"host": "go.example", "root_url": "https://example.com/one"}`).want(t, http.StatusCreated)
	home().wantHeader(t, "Location", "https://example.com/one")
	s.api(http.MethodPatch, "/api/v1/domains/go.example", `{"root_url": "https://example.com/two"}`).want(t, http.StatusOK)
	home().wantHeader(t, "Location", "https://example.com/two")
	s.api(http.MethodDelete, "/api/v1/domains/go.example", "").want(t, http.StatusNoContent)
	home().want(t, http.StatusOK)
}
