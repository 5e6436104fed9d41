//go:build !race

// The race detector has pools forget what they hold.
package web_test

import (
	"context"
	"net/http"
	"testing"

	"snip"
	"snip/web"
)

// TestPlainRedirectsAllocateNothing: neither do those of custom domains, of links with
// rules, and with a host as visitors send it.
func TestPlainRedirectsAllocateNothing(t *testing.T) {
	rules := leading(snip.Link{ID: 1, Settings: snip.Settings{Target: target("abc"), Rules: []snip.Rule{
		{When: snip.Conditions{Devices: []string{"phone"}}, Target: target("phone")},
	}}}, "")
	d := &domainList{}
	d.set(snip.Domain{}, snip.Domain{Host: "go.example"}, snip.Domain{Host: "fold.example", IgnoreCase: true})
	w := newServer(t, web.Config{Domains: d.read, Routes: routes(func(ctx context.Context, domain, code string) (snip.Route, error) {
		if code == "rules" {
			return rules(ctx, domain, code)
		}
		return everyCode(ctx, domain, code)
	})})
	handler := w.Handler()
	for _, address := range []string{"/abc", "/abc?utm_campaign=spring", "http://go.example:8080/abc/", "http://fold.example/abc", "/rules"} {
		r := newRequest(t, address)
		r.Header.Set("User-Agent", aPerson)
		r.Header.Set("Accept-Language", "de,en;q=0.5")
		answer := &header{values: http.Header{}}
		if n := testing.AllocsPerRun(100, func() {
			clear(answer.values)
			handler.ServeHTTP(answer, r)
		}); n > 0 {
			t.Errorf("a redirect of %s allocates %v times", address, n)
		}
		if answer.status != http.StatusTemporaryRedirect {
			t.Errorf("%s: status %d", address, answer.status)
		}
	}
}
