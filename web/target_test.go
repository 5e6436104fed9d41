package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"snip"
	"snip/web"
)

// TestTargetsStayByteForByte: whatever target is accepted is read back, listed,
// previewed and answered as it was typed.
func TestTargetsStayByteForByte(t *testing.T) {
	s := openSite(t, web.Config{OpenShorten: true})
	made := 0
	rapid.Check(t, func(r *rapid.T) {
		target := drawTarget(r)
		if snip.CheckTarget(target, nil) != nil {
			r.Skip("not a target")
		}
		made++
		location, err := snip.Location(target)
		if err != nil {
			r.Fatal(err)
		}
		body, err := json.Marshal(map[string]string{"url": target})
		if err != nil {
			r.Fatal(err)
		}
		created := s.api(http.MethodPost, "/api/v1/links", string(body))
		code := created.field(t, "code")
		shortened := s.do(http.MethodPost, "/shorten", url.Values{"url": {target}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		for what, got := range map[string]string{
			"created":  created.field(t, "url"),
			"form":     shortened.field(t, "url"),
			"read":     s.api(http.MethodGet, "/api/v1/links/"+code, "").field(t, "url"),
			"edited":   s.api(http.MethodPatch, "/api/v1/links/"+code, string(body)).field(t, "url"),
			"redirect": s.visit("/" + code).header.Get("Location"),
			"preview":  href(t, s.do(http.MethodGet, "/"+code+"+", "", "Accept", asPage).body, "button"),
		} {
			want := target
			if what == "redirect" || what == "preview" {
				want = location
			}
			if got != want {
				r.Errorf("%s: %q, want %q", what, got, want)
			}
		}
	})
	if made < 20 {
		t.Errorf("only %d targets were accepted: the test draws the wrong ones", made)
	}
}

// drawTarget draws what is mostly a target, with all that others have stumbled on.
func drawTarget(r *rapid.T) string {
	pieces := rapid.SampledFrom([]string{
		"a", "Z", "0", "/", "//", ".", "..", "+", "%20", "%2B", "%", "%zz", "&", "&amp;", "=", "?", "#", "'", `"`, "<b>", "(", ")", "[", "]",
		"{", "}", "|", "^", "`", "~", "!", "*", ",", ";", ":", "@", "$", "-", "_", `\`, "ü", "€", "\U0001F600", "\uFFFD", "a\u0308", "\u00ad",
	})
	text := func(label string) string { return strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(r, label), "") }
	start := rapid.SampledFrom([]string{
		"https://example.com", "HTTP://Example.COM", "http://www.tübingen.de", "https://u:p@example.com:8443", "http://[2001:db8::1]", "http://192.0.2.1",
	}).Draw(r, "start")
	if rapid.IntRange(0, 9).Draw(r, "other") == 0 {
		return rapid.SampledFrom([]string{"mailto:a@b.c", "tel:+49", "sms:+1555?body="}).Draw(r, "scheme") + text("rest")
	}
	for _, part := range []string{"/", "?", "#"} {
		if rapid.Bool().Draw(r, part) {
			start += part + text("after "+part)
		}
	}
	return start
}
