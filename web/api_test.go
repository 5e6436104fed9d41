package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/web"
)

func TestLinkLife(t *testing.T) {
	s := openSite(t, web.Config{BaseURL: "https://sni.example"})
	const at = "2026-11-29T12:00:00Z"
	got := s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/?a=<b>&c","code":"abc","title":"T","expires_at":"2027-01-31T12:00:00+01:00"}`)
	got.want(t, http.StatusCreated)
	got.wantHeader(t, "Location", "/api/v1/links/abc")
	got.wantHeader(t, "Content-Type", "application/json")
	got.wantHeader(t, "Cache-Control", "no-store")
	got.wantHeader(t, "X-Content-Type-Options", "nosniff")
	want := map[string]any{
		"id": 1.0, "code": "abc", "short_url": "https://sni.example/abc", "url": "https://example.com/?a=<b>&c", "title": "T",
		"expires_at": "2027-01-31T11:00:00Z", "created_at": at, "updated_at": at, "clicks": 0.0, "human_clicks": 0.0,
	}
	got.wantJSON(t, want)
	s.api(http.MethodGet, "/api/v1/links/abc", "").wantJSON(t, want)

	s.clock.add(time.Minute)
	want["title"], want["expires_at"], want["updated_at"] = "", nil, "2026-11-29T12:01:00Z"
	s.api(http.MethodPatch, "/api/v1/links/abc", `{"title":"","expires_at":null}`).wantJSON(t, want)
	want["url"], want["code"], want["short_url"] = "https://example.com/2", "xyz", "https://sni.example/xyz"
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
		{http.MethodGet, "/api/v1/links/a%2Fb", ""},
	} {
		got := s.do(request.method, request.path, request.body, "Authorization", "Bearer "+s.key, "Content-Type", "application/json", "Accept", asPage)
		got.wantProblem(t, http.StatusNotFound, "not_found", "code", "No link has the code")
	}
	s.api(http.MethodGet, "/api/v1/none", "").wantProblem(t, http.StatusNotFound, "not_found", "", "")
}

func TestEditsRefused(t *testing.T) {
	s := openSite(t, web.Config{})
	before := s.create(snip.NewLink{Code: "abc", Title: "T"})
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
	} {
		s.api(http.MethodPatch, "/api/v1/links/abc", body).wantProblem(t, http.StatusBadRequest, "invalid", want[0], want[1])
	}
	s.api(http.MethodPatch, "/api/v1/links/abc", `{"code":"taken"}`).wantProblem(t, http.StatusConflict, "conflict", "code", "is taken")
	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com","code":"taken"}`).
		wantProblem(t, http.StatusConflict, "conflict", "code", "is taken")
	after, err := s.store.Link(t.Context(), "abc")
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
	var list struct {
		Links []struct{ Code string }
		Next  int64
	}
	var pages []string
	path := "/api/v1/links?limit=2"
	for path != "" {
		got := s.api(http.MethodGet, path, "")
		got.want(t, http.StatusOK)
		list.Links, list.Next = nil, 0
		got.decode(t, &list)
		codes := ""
		for _, l := range list.Links {
			codes += l.Code
		}
		pages = append(pages, codes)
		path = ""
		if list.Next != 0 {
			path = fmt.Sprintf("/api/v1/links?limit=2&after=%d", list.Next)
		}
	}
	if diff := cmp.Diff([]string{"c5c4", "c3c2", "c1"}, pages); diff != "" {
		t.Error(diff)
	}
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=1.5": "limit", "limit=0x10": "limit",
		"after=0": "after", "after=-1": "after", "after=x": "after", "after=9223372036854775808": "after",
	} {
		s.api(http.MethodGet, "/api/v1/links?"+query, "").
			wantProblem(t, http.StatusBadRequest, "invalid", field, "Must be a whole number")
	}
	s.api(http.MethodGet, "/api/v1/links?limit=1000&after=9223372036854775807", "").want(t, http.StatusOK, "c5", "c1")
}

func TestOtherMethods(t *testing.T) {
	s := openSite(t, web.Config{Links: noLinks(t)})
	for path, allow := range map[string]string{
		"/shorten": "GET, HEAD, POST", "/api/v1/links": "GET, HEAD, POST",
		"/api/v1/links/abc": "GET, HEAD, PATCH, DELETE", "/api/v1/links/abc/stats": "GET, HEAD",
		"/api/v1/stats": "GET, HEAD", "/api/v1/stats/links": "GET, HEAD", "/api/v1/stats/unknown-codes": "GET, HEAD",
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
		w := newServer(t, web.Config{Links: &keeper{err: test.err}, Stats: &figures{err: test.err}, Keys: anyKey{}, Notes: &notes{}, OpenShorten: true})
		for path, method := range map[string]string{
			"/shorten": http.MethodPost, "/api/v1/links": http.MethodPost, "/api/v1/links?limit=5": http.MethodGet,
			"/api/v1/links/a": http.MethodGet, "/api/v1/links/b": http.MethodPatch, "/api/v1/links/c": http.MethodDelete,
			"/api/v1/links/a/stats": http.MethodGet, "/api/v1/stats": http.MethodGet,
			"/api/v1/stats/links": http.MethodGet, "/api/v1/stats/unknown-codes": http.MethodGet,
		} {
			got := do(t, w, method, path, `{"url":"https://example.com"}`, "Authorization", "Bearer k", "Content-Type", "application/json")
			got.wantProblem(t, test.status, test.code, "", "")
			if strings.Contains(got.body, "secret") {
				t.Errorf("%s %s tells a secret: %s", method, path, got.body)
			}
			if test.status == http.StatusServiceUnavailable {
				got.wantHeader(t, "Retry-After", "5")
			}
		}
	}
}

// keeper takes every link, and answers with err.
type keeper struct {
	last snip.NewLink
	err  error
}

var _ snip.Links = (*keeper)(nil)

func (k *keeper) CreateLink(_ context.Context, n snip.NewLink) (snip.Link, error) {
	k.last = n
	return snip.Link{ID: 1, Code: n.Code, Target: n.Target, Title: n.Title}, k.err
}
func (k *keeper) Link(context.Context, string) (snip.Link, error)           { return snip.Link{}, k.err }
func (k *keeper) ListLinks(context.Context, snip.Page) ([]snip.Link, error) { return nil, k.err }
func (k *keeper) EditLink(context.Context, string, snip.LinkEdit) (snip.Link, error) {
	return snip.Link{}, k.err
}
func (k *keeper) DeleteLink(context.Context, string) error { return k.err }
