package snip_test

import (
	"strings"
	"testing"
	"time"

	"snip"
)

func TestNewLinkCheck(t *testing.T) {
	good := snip.NewLink{Code: "Code", Settings: snip.Settings{Target: "https://example.com", Title: strings.Repeat("ü", 500), ExpiresAt: noon.Add(1)}}
	rules := snip.Rules{Own: own}
	if err := good.Check(noon, rules); err != nil {
		t.Fatalf("Check() = %v, want nil", err)
	}
	if err := (snip.NewLink{Settings: snip.Settings{Target: "https://example.com"}}).Check(noon, rules); err != nil {
		t.Fatalf("Check() = %v, want nil", err)
	}
	tests := []struct {
		name           string
		change         func(*snip.NewLink)
		field, message string
	}{
		{"target", func(n *snip.NewLink) { n.Target = "bbc.co.uk" }, "url", "no scheme"},
		{"code", func(n *snip.NewLink) { n.Code = "api" }, "code", "reserved"},
		{"long title", func(n *snip.NewLink) { n.Title += "x" }, "title", "501 characters"},
		{"title with a line end", func(n *snip.NewLink) { n.Title = "a\nb" }, "title", "U+000A"},
		{"title not UTF-8", func(n *snip.NewLink) { n.Title = "\xff" }, "title", "UTF-8"},
		{"expiry now", func(n *snip.NewLink) { n.ExpiresAt = noon }, "expires_at", "it is 2026-11-29T12:00:00Z now"},
		{"expiry in the past", func(n *snip.NewLink) { n.ExpiresAt = noon.Add(-time.Hour) }, "expires_at", "already"},
		{"expiry out of reach", func(n *snip.NewLink) { n.ExpiresAt = noon.AddDate(9000, 0, 0) }, "expires_at", "9999"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := good
			test.change(&n)
			wantInvalid(t, n.Check(noon, rules), test.field, test.message)
		})
	}
}

func TestLinkEditCheck(t *testing.T) {
	past, far := noon.Add(-time.Hour), noon.AddDate(9000, 0, 0)
	text := func(s string) *string { return &s }
	for _, e := range []snip.LinkEdit{
		{}, {Title: text("")}, {ExpiresAt: &past}, {ExpiresAt: &time.Time{}},
		{Target: text("https://example.com"), Code: text("abc"), Title: text("T")},
	} {
		if err := e.Check(snip.Rules{}); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", e, err)
		}
	}
	rules := snip.Rules{Own: own}
	wantInvalid(t, snip.LinkEdit{Target: text("javascript:x")}.Check(rules), "url", "never")
	wantInvalid(t, snip.LinkEdit{Target: text("https://sni.example/abcd")}.Check(rules), "url", "short link")
	wantInvalid(t, snip.LinkEdit{Code: text("")}.Check(rules), "code", "missing")
	wantInvalid(t, snip.LinkEdit{Title: text("\x00")}.Check(rules), "title", "U+0000")
	wantInvalid(t, snip.LinkEdit{ExpiresAt: &far}.Check(rules), "expires_at", "9999")
}
