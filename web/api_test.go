package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/web"
	"snip/wire"
)

func TestLinkLife(t *testing.T) {
	s := openSite(t, web.Config{BaseURL: "https://sni.example"})
	const at = "2026-11-29T12:00:00Z"
	got := s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/?a=<b>&c","code":"abc","title":"T","expires_at":"2027-01-31T12:00:00+01:00"}`)
	got.want(t, http.StatusCreated)
	got.wantHeader(t, "Location", "/api/v1/links/abc")
	got.wantHeader(t, "ETag", `"1"`)
	got.wantHeader(t, "Content-Type", "application/json")
	got.wantHeader(t, "Cache-Control", "no-store")
	got.wantHeader(t, "X-Content-Type-Options", "nosniff")
	want := map[string]any{
		"id": 1.0, "domain": "", "code": "abc", "short_url": "https://sni.example/abc", "aliases": []any{}, "owner": 1.0, "version": 1.0,
		"url": "https://example.com/?a=<b>&c", "title": "T", "note": "", "tags": []any{},
		"starts_at": nil, "expires_at": "2027-01-31T11:00:00Z", "click_limit": 0.0, "limit_used": 0.0, "fallback_url": "",
		"status": 307.0, "query": "off", "forward_path": false, "rules": []any{}, "campaign": map[string]any{}, "has_password": false,
		"archived_at": nil, "created_at": at, "updated_at": at, "clicks": 0.0, "human_clicks": 0.0,
	}
	got.wantJSON(t, want)
	s.api(http.MethodGet, "/api/v1/links/abc", "").wantJSON(t, want)

	s.clock.add(time.Minute)
	want["title"], want["expires_at"], want["updated_at"], want["version"] = "", nil, "2026-11-29T12:01:00Z", 2.0
	s.api(http.MethodPatch, "/api/v1/links/abc", `{"title":"","expires_at":null}`).wantJSON(t, want)
	want["url"], want["code"], want["short_url"], want["version"] = "https://example.com/2", "xyz", "https://sni.example/xyz", 3.0
	s.api(http.MethodPatch, "/api/v1/links/abc", `{"url":"https://example.com/2","code":"xyz"}`).wantJSON(t, want)
	s.api(http.MethodPatch, "/api/v1/links/xyz", `{}`).wantJSON(t, want)

	deleted := s.api(http.MethodDelete, "/api/v1/links/xyz", "")
	deleted.want(t, http.StatusNoContent)
	if deleted.body != "" {
		t.Errorf("body %q, want none", deleted.body)
	}
	s.api(http.MethodGet, "/api/v1/links/xyz", "").wantProblem(t, http.StatusNotFound, "not_found", "code", "")
}

func TestUnknownLinks(t *testing.T) {
	s := openSite(t, web.Config{})
	for _, request := range []struct{ method, path, body string }{
		{http.MethodGet, "/api/v1/links/none", ""},
		{http.MethodPatch, "/api/v1/links/none", `{"title":"T"}`},
		{http.MethodPatch, "/api/v1/links/none", `{}`},
		{http.MethodDelete, "/api/v1/links/none", ""},
		{http.MethodGet, "/api/v1/links/none/stats", ""},
		{http.MethodGet, "/api/v1/links/none/qr", ""},
		{http.MethodGet, "/api/v1/links/none?domain=go.example", ""},
		{http.MethodGet, "/api/v1/links/a%2Fb", ""},
	} {
		got := s.do(request.method, request.path, request.body, "Authorization", "Bearer "+s.key, "Content-Type", "application/json", "Accept", asPage)
		got.wantProblem(t, http.StatusNotFound, "not_found", "code", "No link")
	}
	s.api(http.MethodGet, "/api/v1/none", "").wantProblem(t, http.StatusNotFound, "not_found", "", "")
}

func TestEditsRefused(t *testing.T) {
	s := openSite(t, web.Config{})
	before := s.create(snip.NewLink{Code: "abc", Settings: snip.Settings{Title: "T"}})
	s.create(snip.NewLink{Code: "taken"})
	for body, want := range map[string][2]string{
		`{"url":null}`:                 {"url", "Must be a string"},
		`{"url":"bbc.co.uk"}`:          {"url", "no scheme"},
		`{"code":""}`:                  {"code", "missing"},
		`{"code":null}`:                {"code", "Must be a string"},
		`{"title":null}`:               {"title", "Must be a string"},
		`{"expires_at":true}`:          {"expires_at", "Must be a time"},
		`{"title":"x","clicks":0}`:     {"clicks", "There is no such field"},
		`{"title":"x","title":"y"}`:    {"title", "more than once"},
		`{"title":"x","code":"a.b"}`:   {"code", "letters, digits"},
		`{"title":"x","url":"\ud83d"}`: {"url", "half"},
		`{"tags":null}`:                {"tags", "Must be an array"},
		`{"tags":["a",1]}`:             {"tags[1]", "Must be a string"},
		`{"aliases":["new"]}`:          {"aliases[0]", ""},
		`{"click_limit":-1}`:           {"click_limit", "from 0 to 1000000000"},
		`{"click_limit":1.5}`:          {"click_limit", "whole number"},
		`{"status":303}`:               {"status", "one of 301, 302, 307, 308"},
		`{"query":"all"}`:              {"query", "one of off, keep, override, append"},
		`{"archived":"yes"}`:           {"archived", "true or false"},
		`{"campaign":{"sauce":"x"}}`:   {"campaign.sauce", "Known are content, medium, name, source, term"},
		`{"reuse":true}`:               {"reuse", "There is no such field"},
	} {
		s.api(http.MethodPatch, "/api/v1/links/abc", body).wantProblem(t, http.StatusBadRequest, "invalid", want[0], want[1])
	}
	s.api(http.MethodPatch, "/api/v1/links/abc", `{"code":"taken"}`).wantProblem(t, http.StatusConflict, "conflict", "code", "is taken")
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com","code":"taken"}`).
		wantProblem(t, http.StatusConflict, "conflict", "code", "is taken")
	after, err := s.store.Link(t.Context(), snip.Ref{Code: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a refused edit changed the link: %s", diff)
	}
}

func TestShorten(t *testing.T) {
	for _, open := range []bool{true, false} {
		s := openSite(t, web.Config{OpenShorten: open})
		headers := []string{"Content-Type", "application/json"}
		if !open {
			headers = append(headers, "Authorization", "Bearer "+s.key)
		}
		got := s.do(http.MethodPost, "/shorten", `{"url":"https://example.com/"}`, headers...)
		got.want(t, http.StatusCreated)
		code := got.field(t, "code")
		// Without a public address it is the one that the request came to.
		got.wantJSON(t, map[string]any{"code": code, "short_url": "http://example.com/" + code, "url": "https://example.com/"})
		s.visit("/"+code).wantRedirect(t, "https://example.com/")
	}
}

func TestList(t *testing.T) {
	s := openSite(t, web.Config{})
	for n := range 5 {
		s.create(snip.NewLink{Code: fmt.Sprintf("c%d", n+1)})
	}
	var pages []string
	var cursors []string
	for path := "/api/v1/links?limit=2"; path != ""; {
		got := s.api(http.MethodGet, path, "")
		got.want(t, http.StatusOK)
		var list wire.LinkPage
		got.decode(t, &list)
		codes := ""
		for _, l := range list.Links {
			codes += l.Code
		}
		pages = append(pages, codes)
		path = ""
		if list.Next != "" {
			path = "/api/v1/links?limit=2&cursor=" + url.QueryEscape(list.Next)
			cursors = append(cursors, list.Next)
		}
	}
	if diff := cmp.Diff([]string{"c5c4", "c3c2", "c1"}, pages); diff != "" {
		t.Error(diff)
	}
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=1000000000": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=1.5": "limit",
		"limit=0x10": "limit", "limit=": "limit", "limit=1&limit=1": "limit", "owner=0": "owner", "owner=x": "owner", "sort=best": "sort",
		"archived=yes": "archived", "cursor=x": "cursor", "tags=x": "tags", "page=2": "page", "search=%ff": "search", "search=%00": "search",
		"search=" + strings.Repeat("x", snip.MaxSearch+1): "search",
		// A cursor of another list.
		"sort=oldest&cursor=" + url.QueryEscape(cursors[0]): "cursor", "search=c&cursor=" + url.QueryEscape(cursors[0]): "cursor",
	} {
		s.api(http.MethodGet, "/api/v1/links?"+query, "").wantProblem(t, http.StatusBadRequest, "invalid", field, "")
	}
	s.api(http.MethodGet, "/api/v1/links?limit=0", "").wantProblem(t, http.StatusBadRequest, "invalid", "limit", "from 1 to 1000")
	s.api(http.MethodGet, "/api/v1/links?limit=1000", "").want(t, http.StatusOK, "c5", "c1", `"next":""`)
}

// TestListOfSome: every parameter of a list narrows it, or orders it.
func TestListOfSome(t *testing.T) {
	s := openSite(t, web.Config{})
	if _, err := s.store.CreateDomain(t.Context(), snip.NewDomain{Host: "go.example"}); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		`{"code":"a","url":"https://example.com/a","tags":["red"],"title":"Spring sale"}`,
		`{"code":"b","url":"https://example.com/b","tags":["red","blue"],"expires_at":"2027-03-01T00:00:00Z"}`,
		`{"code":"c","url":"https://example.com/c","domain":"go.example","expires_at":"2027-02-01T00:00:00Z"}`,
	} {
		s.api(http.MethodPost, "/api/v1/links", body).want(t, http.StatusCreated)
	}
	s.create(snip.NewLink{Code: "d"})
	s.api(http.MethodPatch, "/api/v1/links/d", `{"archived":true}`).want(t, http.StatusOK, `"archived_at":"2026-11-29T12:00:00Z"`)
	for query, want := range map[string]string{
		"": "cba", "domain=": "ba", "domain=go.example": "c", "tag=red": "ba", "tag=red&tag=blue": "b", "search=spr": "a", "owner=1": "cba",
		"owner=2": "", "archived=only": "d", "archived=all": "dcba", "sort=oldest": "abc", "sort=expiry": "cb", "sort=code": "abc",
		"search=sale+spring&tag=red&domain=&sort=newest&archived=no&owner=1&limit=1": "a",
	} {
		got := s.api(http.MethodGet, "/api/v1/links?"+query, "")
		got.want(t, http.StatusOK)
		var list wire.LinkPage
		got.decode(t, &list)
		codes := ""
		for _, l := range list.Links {
			codes += l.Code
		}
		if codes != want {
			t.Errorf("%q: %s, want %s", query, codes, want)
		}
	}
	s.api(http.MethodGet, "/api/v1/tags", "").wantJSON(t, map[string]any{"tags": []any{
		map[string]any{"tag": "blue", "links": 1.0}, map[string]any{"tag": "red", "links": 2.0},
	}})
}

func TestOtherMethods(t *testing.T) {
	s := openSite(t, web.Config{Service: as(nowhere{})})
	for path, allow := range map[string]string{
		"/shorten": "GET, HEAD, POST", "/api/v1/links": "GET, HEAD, POST",
		"/api/v1/links/abc": "GET, HEAD, PATCH, DELETE", "/api/v1/links/bulk": "GET, HEAD, POST, PATCH, DELETE",
		"/api/v1/links/abc/stats": "GET, HEAD", "/api/v1/links/a%2Fb/qr": "GET, HEAD", "/api/v1/tags": "GET, HEAD",
		"/api/v1/domains": "GET, HEAD, POST", "/api/v1/domains/-": "GET, HEAD, PATCH, DELETE",
		"/api/v1/keys": "GET, HEAD, POST", "/api/v1/keys/7": "GET, HEAD, PATCH, DELETE", "/api/v1/keys/current": "GET, HEAD, PATCH, DELETE",
		"/api/v1/stats": "GET, HEAD", "/api/v1/stats/links": "GET, HEAD", "/api/v1/stats/unknown-codes": "GET, HEAD",
		"/api/v1/openapi.json": "GET, HEAD", "/api/v1/openapi.yaml": "GET, HEAD", "/api/v1/docs": "GET, HEAD",
	} {
		got := s.api(http.MethodPut, path, "")
		got.wantProblem(t, http.StatusMethodNotAllowed, "invalid", "", "Accepted here are "+allow)
		got.wantHeader(t, "Allow", allow)
		options := s.do(http.MethodOptions, path, "")
		options.want(t, http.StatusNoContent)
		options.wantHeader(t, "Allow", allow)
	}
}

// TestStoreThatFails: what is ours to mend is told to the log alone.
func TestStoreThatFails(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		code   string
	}{
		{errAway, http.StatusServiceUnavailable, "unavailable"},
		{errors.New("secret: table links is missing"), http.StatusInternalServerError, "internal"},
		{&snip.Error{Code: snip.Unavailable, Message: "Away.", Cause: errors.New("secret")}, http.StatusServiceUnavailable, "unavailable"},
	} {
		w := newServer(t, web.Config{Service: as(broken{test.err}), Keys: anyKey{}, OpenShorten: true})
		ask := func(method, path, body string) {
			t.Helper()
			got := do(t, w, method, path, body, "Authorization", "Bearer k", "Content-Type", "application/json")
			got.wantProblem(t, test.status, test.code, "", "")
			if strings.Contains(got.body, "secret") {
				t.Errorf("%s %s tells a secret: %s", method, path, got.body)
			}
			if test.status == http.StatusServiceUnavailable {
				got.wantHeader(t, "Retry-After", "5")
			}
		}
		ask(http.MethodPost, "/shorten", `{"url":"https://example.com"}`)
		for _, request := range operations {
			ask(request.method, request.path, request.body)
		}
	}
}

// keeper keeps the last link that was asked for.
type keeper struct {
	nowhere
	last snip.NewLink
}

func (k *keeper) CreateLink(_ context.Context, n snip.NewLink) (snip.Link, bool, error) {
	k.last = n
	return snip.Link{ID: 1, Code: n.Code, Settings: n.Settings}, true, nil
}

// broken answers everything with an error.
type broken struct{ err error }

var _ snip.Service = broken{}

func (b broken) CreateLink(context.Context, snip.NewLink) (snip.Link, bool, error) {
	return snip.Link{}, false, b.err
}
func (b broken) Link(context.Context, snip.Ref) (snip.Link, error) { return snip.Link{}, b.err }
func (b broken) ListLinks(context.Context, snip.LinkQuery) (snip.LinkPage, error) {
	return snip.LinkPage{}, b.err
}

func (b broken) EditLink(context.Context, snip.Ref, snip.LinkEdit) (snip.Link, error) {
	return snip.Link{}, b.err
}
func (b broken) DeleteLink(context.Context, snip.Ref, int64) error { return b.err }
func (b broken) ChangeLinks(context.Context, snip.Bulk) (snip.BulkResult, error) {
	return snip.BulkResult{}, b.err
}
func (b broken) Tags(context.Context) ([]snip.TagCount, error) { return nil, b.err }

func (b broken) CreateDomain(context.Context, snip.NewDomain) (snip.Domain, error) {
	return snip.Domain{}, b.err
}
func (b broken) Domain(context.Context, string) (snip.Domain, error) { return snip.Domain{}, b.err }
func (b broken) ListDomains(context.Context) ([]snip.Domain, error)  { return nil, b.err }
func (b broken) EditDomain(context.Context, string, snip.DomainEdit) (snip.Domain, error) {
	return snip.Domain{}, b.err
}
func (b broken) DeleteDomain(context.Context, string, int64) error { return b.err }

func (b broken) CreateKey(context.Context, snip.NewKey) (snip.Key, string, error) {
	return snip.Key{}, "", b.err
}
func (b broken) CurrentKey(context.Context) (snip.Key, error) { return snip.Key{}, b.err }
func (b broken) ListKeys(context.Context) ([]snip.Key, error) { return nil, b.err }
func (b broken) Key(context.Context, int64) (snip.Key, error) { return snip.Key{}, b.err }
func (b broken) EditKey(context.Context, int64, snip.KeyEdit) (snip.Key, error) {
	return snip.Key{}, b.err
}
func (b broken) RevokeKey(context.Context, int64) (snip.Key, error) { return snip.Key{}, b.err }

func (b broken) Stats(context.Context, snip.StatsQuery) (snip.Stats, error) {
	return snip.Stats{}, b.err
}
func (b broken) Popular(context.Context, snip.Range, int) (snip.Popular, error) {
	return snip.Popular{}, b.err
}
func (b broken) UnknownCodes(context.Context, snip.Range, int) (snip.UnknownCodes, error) {
	return snip.UnknownCodes{}, b.err
}
