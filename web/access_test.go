package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"snip"
	"snip/web"
)

func TestKeys(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	for _, request := range []struct{ method, path string }{
		{http.MethodGet, "/api/v1/links"},
		{http.MethodPost, "/api/v1/links"},
		{http.MethodGet, "/api/v1/links/abc"},
		{http.MethodPatch, "/api/v1/links/abc"},
		{http.MethodDelete, "/api/v1/links/abc"},
		{http.MethodGet, "/api/v1/links/abc/stats"},
		{http.MethodGet, "/api/v1/stats"},
		{http.MethodGet, "/api/v1/stats/links"},
		{http.MethodGet, "/api/v1/stats/unknown-codes"},
		{http.MethodPost, "/shorten"}, // OpenShorten is false.
	} {
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
			path := request.path + "?key=" + s.key + "&access_token=" + s.key
			got := s.do(request.method, path, `{"url":"https://example.com"}`, append(headers, "Content-Type", "application/json")...)
			got.wantProblem(t, http.StatusUnauthorized, "forbidden", "", "key")
			got.wantHeader(t, "WWW-Authenticate", `Bearer realm="snip"`)
			if strings.Contains(got.body, s.key) {
				t.Error("the answer holds the key")
			}
		}
	}
	for _, value := range []string{"Bearer " + s.key, "bearer " + s.key} {
		s.do(http.MethodGet, "/api/v1/links/abc", "", "Authorization", value).want(t, http.StatusOK)
	}
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
	if links, err := s.store.ListLinks(t.Context(), snip.Page{Limit: 10}); err != nil || len(links) > 0 {
		t.Errorf("%d links were made, %v", len(links), err)
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
	good := web.Config{Links: &keeper{}, Stats: &figures{}, Keys: anyKey{}, Notes: &notes{}}
	for name, change := range map[string]func(*web.Config){
		"Links":        func(c *web.Config) { c.Links = nil },
		"Stats":        func(c *web.Config) { c.Stats = nil },
		"Keys":         func(c *web.Config) { c.Keys = nil },
		"Notes":        func(c *web.Config) { c.Notes = nil },
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
