package web_test

import (
	"net/http"
	"testing"
	"time"

	"snip"
	"snip/web"
)

func TestDomainLife(t *testing.T) {
	s := openSite(t, web.Config{BaseURL: "https://sni.example"})
	const at = "2026-11-29T12:00:00Z"
	made := s.api(http.MethodPost, "/api/v1/domains", `{"host":"GO.bücher.example","ignore_case":true,"root_url":"https://example.com/"}`)
	made.want(t, http.StatusCreated)
	const path = "/api/v1/domains/go.xn--bcher-kva.example"
	made.wantHeader(t, "Location", path)
	made.wantHeader(t, "ETag", `"1"`)
	want := map[string]any{
		"host": "go.xn--bcher-kva.example", "ignore_case": true, "root_url": "https://example.com/", "not_found_url": "", "not_found_text": "",
		"version": 1.0, "created_at": at, "updated_at": at,
	}
	made.wantJSON(t, want)
	s.api(http.MethodGet, path, "").wantJSON(t, want)
	s.api(http.MethodGet, "/api/v1/domains", "").want(t, http.StatusOK, `{"domains":[{"host":"",`, `{"host":"go.xn--bcher-kva.example"`)

	s.api(http.MethodPost, "/api/v1/links", `{"url":"https://example.com/2","code":"Abc","domain":"go.xn--bcher-kva.example"}`).
		want(t, http.StatusCreated, `"short_url":"https://go.xn--bcher-kva.example/Abc"`)
	s.api(http.MethodGet, "/api/v1/links/aBC?domain=go.xn--bcher-kva.example", "").want(t, http.StatusOK, `"code":"Abc"`)
	s.api(http.MethodGet, "/api/v1/links/Abc", "").wantProblem(t, http.StatusNotFound, "not_found", "code", "")

	s.clock.add(time.Minute)
	want["root_url"], want["not_found_text"], want["version"], want["updated_at"] = "", "Gone fishing.", 2.0, "2026-11-29T12:01:00Z"
	s.api(http.MethodPatch, path, `{"root_url":"","not_found_text":"Gone fishing."}`).wantJSON(t, want)
	s.api(http.MethodDelete, path, "").wantProblem(t, http.StatusConflict, "conflict", "", "")
	s.api(http.MethodDelete, "/api/v1/links/abc?domain=go.xn--bcher-kva.example", "").want(t, http.StatusNoContent)
	s.api(http.MethodDelete, path, "").want(t, http.StatusNoContent)
	s.api(http.MethodGet, path, "").wantProblem(t, http.StatusNotFound, "not_found", "", "")

	s.api(http.MethodGet, "/api/v1/domains/-", "").want(t, http.StatusOK, `{"host":"",`)
	s.api(http.MethodDelete, "/api/v1/domains/-", "").want(t, http.StatusConflict)
	for body, field := range map[string]string{
		`{}`: "host", `{"host":""}`: "host", `{"host":"a b"}`: "host", `{"host":"go.example:81"}`: "host", `{"host":"https://go.example"}`: "host",
		`{"host":"go.example","root_url":"x"}`: "root_url", `{"host":"go.example","not_found_url":"javascript:x"}`: "not_found_url",
		`{"host":"go.example","ignore_case":null}`: "ignore_case",
	} {
		s.api(http.MethodPost, "/api/v1/domains", body).wantProblem(t, http.StatusBadRequest, "invalid", field, "")
	}
}

func TestKeyLife(t *testing.T) {
	s := openSite(t, web.Config{Zone: zone(t, "America/New_York")})
	made := s.api(http.MethodPost, "/api/v1/keys",
		`{"label":"letter","scopes":["write","read"],"contact":"mail@example.com","time_zone":"Asia/Kathmandu","domain":"","own_links":true,"expires_at":"2027-01-01T00:00:00Z"}`)
	made.want(t, http.StatusCreated, `"secret":"snip_`)
	made.wantHeader(t, "Location", "/api/v1/keys/2")
	secret := made.field(t, "secret")
	want := map[string]any{
		"id": 2.0, "label": "letter", "scopes": []any{"read", "write"}, "contact": "mail@example.com", "time_zone": "Asia/Kathmandu", "domain": "",
		"own_links": true, "expires_at": "2027-01-01T00:00:00Z", "revoked_at": nil, "last_used": nil, "created_at": "2026-11-29T12:00:00Z",
	}
	s.api(http.MethodGet, "/api/v1/keys/2", "").wantJSON(t, want)
	s.do(http.MethodGet, "/api/v1/keys/current", "", "Authorization", "Bearer "+secret).want(t, http.StatusOK, `"label":"letter"`)
	// Its days begin and end where it is.
	s.do(http.MethodGet, "/api/v1/stats", "", "Authorization", "Bearer "+secret).want(t, http.StatusOK, `"zone":"Asia/Kathmandu"`)
	s.api(http.MethodGet, "/api/v1/stats", "").want(t, http.StatusOK, `"zone":"America/New_York"`)
	s.api(http.MethodGet, "/api/v1/keys", "").want(t, http.StatusOK, `{"keys":[{"id":2,`, `{"id":1,`)

	s.api(http.MethodPatch, "/api/v1/keys/2", `{"label":"letters","expires_at":null}`).
		want(t, http.StatusOK, `"label":"letters"`, `"expires_at":null`, `"contact":"mail@example.com"`)
	for body, field := range map[string]string{
		`{}`: "label", `{"label":"x"}`: "scopes", `{"label":"x","scopes":[]}`: "scopes", `{"label":"x","scopes":["root"]}`: "scopes[0]",
		`{"label":"x","scopes":"read"}`: "scopes", `{"label":"x","scopes":["read"],"time_zone":"Mars/Olympus"}`: "time_zone",
		`{"label":"x","scopes":["read"],"expires_at":"2020-01-01T00:00:00Z"}`: "expires_at", `{"label":"x","scopes":["read"],"id":1}`: "id",
	} {
		s.api(http.MethodPost, "/api/v1/keys", body).wantProblem(t, http.StatusBadRequest, "invalid", field, "")
	}
	s.api(http.MethodPatch, "/api/v1/keys/2", `{"scopes":["admin"]}`).wantProblem(t, http.StatusBadRequest, "invalid", "scopes", "no such field")
	s.api(http.MethodDelete, "/api/v1/keys/1", "").wantProblem(t, http.StatusConflict, "conflict", "", "")
	for _, id := range []string{"0", "-1", "x", "1.5", "9223372036854775808"} {
		s.api(http.MethodGet, "/api/v1/keys/"+id, "").wantProblem(t, http.StatusBadRequest, "invalid", "id", "whole number")
	}
	s.api(http.MethodGet, "/api/v1/keys/9", "").wantProblem(t, http.StatusNotFound, "not_found", "", "")
}

// TestBulk: one thing is done to many links, and told of those it was not done to.
func TestBulk(t *testing.T) {
	s := openSite(t, web.Config{})
	for _, code := range []string{"a", "b", "c"} {
		s.create(snip.NewLink{Code: code})
	}
	bulk := func(body string) answer { return s.api(http.MethodPost, "/api/v1/links/bulk", body) }
	bulk(`{"action":"tag","links":[{"code":"a"},{"code":"none"},{"domain":"","code":"b"}],"tags":["red"]}`).wantJSON(t, map[string]any{
		"done": 2.0, "failed": []any{map[string]any{"domain": "", "code": "none", "reason": "not_found", "message": `No link has the code "none".`}},
	})
	s.api(http.MethodGet, "/api/v1/links?tag=red&sort=code", "").want(t, http.StatusOK, `"code":"a"`, `"code":"b"`)
	s.visit("/a").wantRedirect(t, "https://example.com/")
	bulk(`{"action":"archive","links":[{"code":"a"}]}`).want(t, http.StatusOK, `{"done":1,"failed":[]}`)
	s.visit("/a").wantRedirect(t, "https://example.com/")
	bulk(`{"action":"delete","links":[{"code":"a"},{"code":"c"}]}`).want(t, http.StatusOK, `{"done":2,"failed":[]}`)
	s.visit("/a").want(t, http.StatusNotFound)
	// A link can have the code that the address of all this has.
	s.create(snip.NewLink{Code: "bulk"})
	s.api(http.MethodGet, "/api/v1/links/bulk", "").want(t, http.StatusOK, `"code":"bulk"`)
	for body, field := range map[string]string{
		`{"links":[{"code":"a"}]}`: "action", `{"action":"burn","links":[{"code":"a"}]}`: "action", `{"action":"delete"}`: "links",
		`{"action":"delete","links":[]}`: "links", `{"action":"delete","links":[{}]}`: "links[0].code", `{"action":"delete","links":["a"]}`: "links[0]",
		`{"action":"tag","links":[{"code":"a"}]}`: "tags",
	} {
		bulk(body).wantProblem(t, http.StatusBadRequest, "invalid", field, "")
	}
}
