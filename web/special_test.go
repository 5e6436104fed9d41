package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/web"
)

// leading leads every code to one link.
func leading(l snip.Link, passwordHash string) routes {
	return func(_ context.Context, _, code string) (snip.Route, error) { return l.Route(code, passwordHash) }
}

func TestRulesLeadVisitors(t *testing.T) {
	s := openSite(t, web.Config{Service: as(down{}), Routes: leading(snip.Link{ID: 1, Code: "abc", Settings: snip.Settings{Target: "https://example.com/", Rules: []snip.Rule{
		{Name: "phones", When: snip.Conditions{Devices: []string{"phone"}}, Target: "https://example.com/phone"},
		{When: snip.Conditions{Languages: []string{"pt-BR"}}, Target: "https://example.com/br"},
		{When: snip.Conditions{Query: map[string][]string{"who": {"me"}}}, Target: "https://example.com/me"},
	}}}, "")})
	for name, test := range map[string]struct {
		answer   answer
		location string
		arm      string
	}{
		"phone":    {s.come("/abc", aPhone, "Accept-Language", "pt-BR"), "https://example.com/phone", "phones"},
		"language": {s.come("/abc", aPerson, "Accept-Language", "en;q=0.5,pt-br"), "https://example.com/br", "rule 2"},
		"query":    {s.come("/abc?who=me", aPerson), "https://example.com/me", "rule 3"},
		"nobody":   {s.come("/abc", aPerson, "Accept-Language", "pt"), "https://example.com/", ""},
	} {
		if got := test.answer.header.Get("Location"); test.answer.status != http.StatusTemporaryRedirect || got != test.location {
			t.Errorf("%s: status %d, Location %q, want %q", name, test.answer.status, got, test.location)
		}
	}
	s.come("/abc", aPhone)
	if arm := s.notes.last(t).Arm; arm != "phones" {
		t.Errorf("arm %q was noted, want phones", arm)
	}
	head := s.do(http.MethodHead, "/abc", "", "User-Agent", aPhone)
	head.wantRedirect(t, "https://example.com/phone")
	s.do(http.MethodGet, "/abc+", "", "Accept", asPage).want(t, http.StatusOK, "https://example.com/", "it leads elsewhere")
}

// TestSplitKeepsVisitors: each stays on one arm, on every server, and some are on each.
func TestSplitKeepsVisitors(t *testing.T) {
	proxies, err := web.ParseProxies([]string{"192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := web.Config{Proxies: proxies, Routes: leading(snip.Link{ID: 1, Settings: snip.Settings{Target: "https://example.com/", Rules: []snip.Rule{
		{Split: []snip.Arm{{Target: "https://example.com/a", Weight: 1}, {Target: "https://example.com/b", Weight: 1}}},
	}}}, "")}
	servers := []*web.Server{newServer(t, cfg), newServer(t, cfg)}
	arms := map[string]int{}
	for i := range 64 {
		from := "198.51.100." + string([]byte{'1' + byte(i%8), '0' + byte(i/8)})
		first := do(t, servers[0], http.MethodGet, "/abc", "", "X-Forwarded-For", from, "User-Agent", aPerson).header.Get("Location")
		again := do(t, servers[1], http.MethodGet, "/abc", "", "X-Forwarded-For", from, "User-Agent", aPerson).header.Get("Location")
		if first != again {
			t.Errorf("%s was led to %s, then to %s", from, first, again)
		}
		arms[first]++
	}
	if len(arms) != 2 {
		t.Errorf("visitors were led to %v, want both", arms)
	}
}

func TestForwarding(t *testing.T) {
	s := openSite(t, web.Config{Routes: leading(snip.Link{ID: 1, Settings: snip.Settings{Target: "https://example.com/x?a=b#c", Query: snip.QueryKeep, ForwardPath: true}}, "")})
	for path, want := range map[string]string{
		"/abc":                     "https://example.com/x?a=b#c",
		"/abc/":                    "https://example.com/x?a=b#c",
		"/abc/more":                "https://example.com/x/more?a=b#c",
		"/abc/a%2Fb%20c/%C3%BC?d":  "https://example.com/x/a%2Fb%20c/%C3%BC?a=b&d#c",
		"/abc?Some%20Filter=1&a.b": "https://example.com/x?a=b&Some%20Filter=1&a.b#c",
		"/%61bc/more+":             "https://example.com/x/more+?a=b#c",
	} {
		s.visit(path).wantRedirect(t, want)
	}
	s.visit("/abc/%2e%2e/etc").want(t, http.StatusNotFound)
	plain := openSite(t, web.Config{Routes: routes(everyCode)})
	plain.visit("/abc/more?a=b").want(t, http.StatusNotFound)
	plain.visit("/abc/?a=b").wantRedirect(t, target("abc"))
}

func TestStatuses(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		s := openSite(t, web.Config{Routes: leading(snip.Link{ID: 1, Settings: snip.Settings{Target: target("a"), Status: status}}, "")})
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := s.do(method, "/abc", "")
			got.want(t, status)
			got.wantHeader(t, "Location", target("a"))
			got.wantHeader(t, "Cache-Control", "private, no-store")
		}
		s.wantClicks(1)
	}
}

// TestEveryServerSeesChanges is L28 on two servers: the next visitor of either sees what
// became of the link, and what time makes of it needs nobody to tell.
func TestEveryServerSeesChanges(t *testing.T) {
	s := openSite(t, web.Config{})
	other := s.another(web.Config{})
	ref := snip.Ref{Code: "abc"}
	l := s.create(snip.NewLink{Code: "abc"})
	edit := func(e snip.LinkEdit) {
		t.Helper()
		var err error
		if l, err = s.store.EditLink(t.Context(), ref, e); err != nil {
			t.Fatal(err)
		}
	}
	told := func() {
		t.Helper()
		body, err := event.LinkChange{Link: l.ID, Change: event.Edited, Codes: []string{"abc"}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []*web.Server{s.web, other} {
			w.LinkChanged(queue.Message{Type: event.LinkType, Body: body})
		}
	}
	want := func(status int) {
		t.Helper()
		for _, w := range []*web.Server{s.web, other} {
			visit(t, w, "/abc").want(t, status)
		}
	}
	want(http.StatusTemporaryRedirect)
	edit(snip.LinkEdit{Target: new("https://example.com/2")})
	told()
	for _, w := range []*web.Server{s.web, other} {
		visit(t, w, "/abc").wantRedirect(t, "https://example.com/2")
	}

	soon := s.clock.Now().Add(10 * time.Second)
	edit(snip.LinkEdit{ExpiresAt: &soon, StartsAt: new(s.clock.Now().Add(5 * time.Second))})
	told()
	want(http.StatusNotFound) // Not yet there, and kept so by the cache.
	s.clock.add(5 * time.Second)
	want(http.StatusTemporaryRedirect)
	s.clock.add(5 * time.Second)
	want(http.StatusGone)
	edit(snip.LinkEdit{ExpiresAt: &time.Time{}, StartsAt: &time.Time{}})
	told()
	want(http.StatusTemporaryRedirect)
	if err := s.store.DeleteLink(t.Context(), ref, 0); err != nil {
		t.Fatal(err)
	}
	told()
	want(http.StatusNotFound)
}

// TestAliasesAreNoted: and the link's own code is not.
func TestAliasesAreNoted(t *testing.T) {
	s := openSite(t, web.Config{Routes: leading(snip.Link{ID: 1, Code: "abc", Aliases: []string{"old"}, Settings: snip.Settings{Target: target("a")}}, "")})
	for code, want := range map[string]string{"abc": "", "old": "old"} {
		s.visit("/"+code).wantRedirect(t, target("a"))
		if got := s.notes.last(t).Alias; got != want {
			t.Errorf("/%s was noted with alias %q, want %q", code, got, want)
		}
	}
}
