package web_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"snip"
	"snip/visitor"
	"snip/web"
)

// operations is a harmless request for each operation of the API, with the scope it takes.
var operations = []struct{ method, path, body, scope string }{
	{http.MethodGet, "/api/v1/links", "", "read"},
	{http.MethodPost, "/api/v1/links", `{"url":"https://example.com"}`, "write"},
	{http.MethodGet, "/api/v1/links/abc", "", "read"},
	{http.MethodPatch, "/api/v1/links/abc", `{}`, "write"},
	{http.MethodDelete, "/api/v1/links/none", "", "write"},
	{http.MethodPost, "/api/v1/links/bulk", `{"action":"archive","links":[{"code":"none"}]}`, "write"},
	{http.MethodGet, "/api/v1/links/abc/stats", "", "read"},
	{http.MethodGet, "/api/v1/links/abc/qr", "", "read"},
	{http.MethodGet, "/api/v1/tags", "", "read"},
	{http.MethodGet, "/api/v1/stats", "", "read"},
	{http.MethodGet, "/api/v1/stats/links", "", "read"},
	{http.MethodGet, "/api/v1/stats/unknown-codes", "", "read"},
	{http.MethodGet, "/api/v1/domains", "", "read"},
	{http.MethodPost, "/api/v1/domains", `{"host":""}`, "admin"},
	{http.MethodGet, "/api/v1/domains/-", "", "read"},
	{http.MethodPatch, "/api/v1/domains/-", `{}`, "admin"},
	{http.MethodDelete, "/api/v1/domains/-", "", "admin"},
	{http.MethodGet, "/api/v1/keys", "", "admin"},
	{http.MethodPost, "/api/v1/keys", `{"label":"","scopes":["read"],"time_zone":"none"}`, "admin"},
	{http.MethodGet, "/api/v1/keys/current", "", ""},
	{http.MethodGet, "/api/v1/keys/9", "", "admin"},
	{http.MethodPatch, "/api/v1/keys/9", `{}`, "admin"},
	{http.MethodDelete, "/api/v1/keys/9", "", "admin"},
}

func TestKeys(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	for _, request := range operations {
		for _, headers := range [][]string{
			{},
			{"Authorization", ""},
			{"Authorization", "Bearer"},
			{"Authorization", "Bearer "},
			{"Authorization", "Bearer " + s.key + "x"},
			{"Authorization", "Bearer " + strings.ToLower(s.key)},
			{"Authorization", s.key},
			{"Authorization", "Basic " + s.key},
			{"Cookie", "key=" + s.key},
		} {
			got := s.do(request.method, request.path, request.body, append(headers, "Content-Type", "application/json")...)
			got.wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "key")
			got.wantHeader(t, "WWW-Authenticate", `Bearer realm="snip"`)
			if strings.Contains(got.body, s.key) {
				t.Error("the answer holds the key")
			}
		}
	}
	s.do(http.MethodPost, "/shorten", `{"url":"https://example.com"}`, "Content-Type", "application/json").
		wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "key") // OpenShorten is false.
	for _, value := range []string{"Bearer " + s.key, "bearer " + s.key} {
		s.do(http.MethodGet, "/api/v1/links/abc", "", "Authorization", value).want(t, http.StatusOK)
	}
}

// TestScopes: a key does what its scopes allow, and is told which it lacks.
func TestScopes(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	for _, scope := range []snip.Scope{snip.ScopeRead, snip.ScopeWrite, snip.ScopeAdmin} {
		_, secret, err := s.store.CreateKey(t.Context(), snip.NewKey{Label: string(scope), Scopes: []snip.Scope{scope}})
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range operations {
			got := s.do(request.method, request.path, request.body, "Authorization", "Bearer "+secret, "Content-Type", "application/json")
			if request.scope == string(scope) || request.scope == "" || scope == snip.ScopeAdmin {
				if got.status == http.StatusForbidden || got.status == http.StatusUnauthorized {
					t.Errorf("%s %s with scope %s: %d %s", request.method, request.path, scope, got.status, got.body)
				}
				continue
			}
			got.wantProblem(t, http.StatusForbidden, "forbidden", "", "scope "+request.scope)
		}
	}
}

// TestKeysThatEnded: a key that was revoked, or has expired, opens nothing any more.
func TestKeysThatEnded(t *testing.T) {
	s := openSite(t, web.Config{})
	made := s.api(http.MethodPost, "/api/v1/keys", `{"label":"brief","scopes":["read"],"expires_at":"2026-11-29T13:00:00Z"}`)
	made.want(t, http.StatusCreated)
	secret := made.field(t, "secret")
	get := func() answer { return s.do(http.MethodGet, "/api/v1/links", "", "Authorization", "Bearer "+secret) }
	get().want(t, http.StatusOK)
	s.clock.add(time.Hour)
	get().wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "expired")

	made = s.api(http.MethodPost, "/api/v1/keys", `{"label":"lost","scopes":["read"]}`)
	secret = made.field(t, "secret")
	get().want(t, http.StatusOK)
	s.api(http.MethodDelete, made.header.Get("Location"), "").want(t, http.StatusOK, `"revoked_at":"2026-11-29T13:00:00Z"`)
	get().wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "revoked")
}

// TestKeysInAddresses: a key in an address is refused, with a good one in the header as
// well, and is neither repeated nor logged.
func TestKeysInAddresses(t *testing.T) {
	var log strings.Builder
	s := openSite(t, web.Config{OpenShorten: true, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	s.create(snip.NewLink{Code: "abc"})
	for _, query := range []string{
		"key=" + s.key, "token=" + s.key, "access_token=" + s.key, "ACCESS_TOKEN=x", "api_key=x", "search=" + s.key, s.key, s.key + "=1",
		"limit=1&key=" + s.key, "zone=" + s.key, "a;key=" + s.key, "domain=" + s.key,
	} {
		for _, request := range append(operations, struct{ method, path, body, scope string }{http.MethodPost, "/shorten", `{"url":"https://example.com"}`, ""}) {
			for _, headers := range [][]string{{}, {"Authorization", "Bearer " + s.key}} {
				got := s.do(request.method, request.path+"?"+query, request.body, append(headers, "Content-Type", "application/json")...)
				if query == "a;key="+s.key {
					// It is no query at all, and opens nothing without a key in the header.
					if len(headers) == 0 && request.path != "/shorten" {
						got.wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "")
					}
				} else {
					got.wantProblem(t, http.StatusBadRequest, "invalid", "", "Authorization: Bearer")
				}
				if strings.Contains(got.body, s.key) {
					t.Errorf("%s %s?%s: the answer holds the key", request.method, request.path, query)
				}
			}
		}
	}
	for _, path := range []string{"/api/v1/links/" + s.key, "/api/v1/links/" + s.key + "/stats", "/api/v1/domains/" + s.key} {
		s.do(http.MethodGet, path, "").wantProblem(t, http.StatusBadRequest, "invalid", "", "Authorization: Bearer")
	}
	s.do(http.MethodGet, "http://user:"+s.key+"@example.com/api/v1/links", "").
		wantProblem(t, http.StatusBadRequest, "invalid", "", "Authorization: Bearer")
	if strings.Contains(log.String(), s.key) {
		t.Error("the log holds the key")
	}
	// A code, or a word to look for, may begin as keys do.
	s.create(snip.NewLink{Code: "snip_docs"})
	s.api(http.MethodGet, "/api/v1/links/snip_docs", "").want(t, http.StatusOK)
	s.api(http.MethodGet, "/api/v1/links?search=snip_docs", "").want(t, http.StatusOK, `"snip_docs"`)
}

// TestLimitedKeys: what a key may not see is not there for it.
func TestLimitedKeys(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	own := s.api(http.MethodPost, "/api/v1/keys", `{"label":"own","scopes":["read","write"],"own_links":true}`).field(t, "secret")
	as := func(method, path, body string) answer {
		return s.do(method, path, body, "Authorization", "Bearer "+own, "Content-Type", "application/json")
	}
	as(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/mine","code":"mine"}`).want(t, http.StatusCreated)
	as(http.MethodGet, "/api/v1/links/mine", "").want(t, http.StatusOK)
	as(http.MethodGet, "/api/v1/links", "").want(t, http.StatusOK, `"code":"mine"`)
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/api/v1/links/abc", ""},
		{http.MethodPatch, "/api/v1/links/abc", `{"title":"T"}`},
		{http.MethodDelete, "/api/v1/links/abc", ""},
		{http.MethodGet, "/api/v1/links/abc/qr", ""},
		{http.MethodGet, "/api/v1/links/abc/stats", ""},
		{http.MethodGet, "/api/v1/stats?code=abc", ""},
	} {
		as(request.method, request.path, request.body).wantProblem(t, http.StatusNotFound, "not_found", "code", "")
	}
	as(http.MethodPost, "/api/v1/links/bulk", `{"action":"delete","links":[{"code":"abc"},{"code":"mine"}]}`).
		want(t, http.StatusOK, `{"done":1,"failed":[{"domain":"","code":"abc","reason":"not_found"`)
	s.api(http.MethodGet, "/api/v1/links/abc", "").want(t, http.StatusOK)
}

// TestOpenShortenGivesNoRights: who has no key makes links on the instance's own domain,
// that belong to nobody, and does nothing else.
func TestOpenShortenGivesNoRights(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true})
	if _, err := s.store.CreateDomain(t.Context(), snip.NewDomain{Host: "go.example"}); err != nil {
		t.Fatal(err)
	}
	send := func(body string, headers ...string) answer {
		return s.do(http.MethodPost, "/shorten", body, append(headers, "Content-Type", "application/json")...)
	}
	send(`{"url":"https://example.com","code":"free"}`).want(t, http.StatusCreated)
	send(`{"url":"https://example.com","code":"paid"}`, "Authorization", "Bearer "+s.key).want(t, http.StatusCreated)
	for code, owner := range map[string]int64{"free": 0, "paid": 1} {
		l, err := s.store.Link(t.Context(), snip.Ref{Code: code})
		if err != nil || l.Owner != owner {
			t.Errorf("%s belongs to %d, %v, want %d", code, l.Owner, err, owner)
		}
	}
	if got := send(`{"url":"https://example.com","domain":"go.example"}`); got.status < 400 || got.status >= 500 {
		t.Errorf("without a key on another domain: %d %s", got.status, got.body)
	}
	send(`{"url":"https://example.com","domain":"go.example","code":"x"}`, "Authorization", "Bearer "+s.key).
		want(t, http.StatusCreated, `"short_url":"http://go.example/x"`)
	send(`{"url":"https://example.com"}`, "Authorization", "Bearer "+s.key+"x").wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "")
	send(`{"url":"https://example.com"}`, "Authorization", "Basic eA==").want(t, http.StatusCreated) // Of a proxy.
	for _, body := range []string{`{"url":"https://example.com","reuse":true}`, `{"url":"https://example.com","password":"x"}`} {
		send(body).wantProblem(t, http.StatusBadRequest, "invalid", "", "There is no such field")
	}
	s.do(http.MethodGet, "/api/v1/links", "").wantProblem(t, http.StatusUnauthorized, "unauthorized", "", "")
}

// TestOtherSites: a page of another site cannot act with its visitor's browser.
func TestOtherSites(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true, BaseURL: "https://sni.example"})
	const form = "application/x-www-form-urlencoded"
	for name, headers := range map[string][]string{
		"cross-site":   {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"same-site":    {"Sec-Fetch-Site", "same-site", "Origin", "https://evil.sni.example"},
		"old browser":  {"Origin", "https://evil.example"},
		"sandboxed":    {"Origin", "null"},
		"another port": {"Origin", "http://example.com:81"},
	} {
		t.Run(name, func(t *testing.T) {
			s.do(http.MethodPost, "/shorten", "url=https://example.com", append(headers, "Content-Type", form)...).
				wantProblem(t, http.StatusForbidden, "forbidden", "", "another site")
			s.do(http.MethodPost, "/shorten", `{"url":"https://example.com"}`, append(headers, "Content-Type", "application/json")...).
				wantProblem(t, http.StatusForbidden, "forbidden", "", "another site")
		})
	}
	if page, err := s.store.ListLinks(t.Context(), snip.LinkQuery{Limit: 10}); err != nil || len(page.Links) > 0 {
		t.Errorf("%d links were made, %v", len(page.Links), err)
	}
	for name, headers := range map[string][]string{
		"own page":              {"Sec-Fetch-Site", "same-origin", "Origin", "http://example.com"},
		"own page behind proxy": {"Origin", "https://sni.example"},
		"old browser":           {"Origin", "http://example.com"},
		"program":               {},
	} {
		t.Run(name, func(t *testing.T) {
			s.do(http.MethodPost, "/shorten", "url=https://example.com", append(headers, "Content-Type", form)...).want(t, http.StatusCreated)
		})
	}
}

func TestConfig(t *testing.T) {
	visitors, err := visitor.New(visitor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	good := web.Config{Service: as(nowhere{}), Routes: nowhere{}, Limits: nowhere{}, Keys: nowhere{}, Notes: nowhere{}, Visitors: visitors}
	for name, change := range map[string]func(*web.Config){
		"Service":      func(c *web.Config) { c.Service = nil },
		"Routes":       func(c *web.Config) { c.Routes = nil },
		"Limits":       func(c *web.Config) { c.Limits = nil },
		"Keys":         func(c *web.Config) { c.Keys = nil },
		"Notes":        func(c *web.Config) { c.Notes = nil },
		"Visitors":     func(c *web.Config) { c.Visitors = nil },
		"Zone":         func(c *web.Config) { c.Zone = time.Local },
		"CacheBytes":   func(c *web.Config) { c.CacheBytes = -1 },
		"CacheUnknown": func(c *web.Config) { c.CacheUnknown = -1 },
		"BaseURL":      func(c *web.Config) { c.BaseURL = "sni.example" },
	} {
		cfg := good
		change(&cfg)
		if _, err := web.New(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: New = %v, want an error that names it", name, err)
		}
	}
	w, err := web.New(good)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}
