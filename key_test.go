package snip_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"snip"
)

func TestKeyCheck(t *testing.T) {
	own, host, bad := "", "go.example", "go.example:80"
	full := func() snip.NewKey {
		return snip.NewKey{
			Label: strings.Repeat("ü", snip.MaxLabel), Scopes: []snip.Scope{snip.ScopeWrite, snip.ScopeRead}, Contact: "Ada <ada@example.com>",
			TimeZone: "Europe/Berlin", Domain: &host, OwnLinks: true, ExpiresAt: noon.Add(1),
		}
	}
	for _, n := range []snip.NewKey{
		full(), {Scopes: []snip.Scope{snip.ScopeAdmin}}, {Scopes: []snip.Scope{snip.ScopeRead}, Domain: &own, TimeZone: "UTC"},
	} {
		if err := n.Check(noon); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", n, err)
		}
	}
	tests := []struct {
		name           string
		change         func(*snip.NewKey)
		field, message string
	}{
		{"long label", func(n *snip.NewKey) { n.Label += "x" }, "label", "201"},
		{"label with a line end", func(n *snip.NewKey) { n.Label = "a\nb" }, "label", "U+000A"},
		{"no scope", func(n *snip.NewKey) { n.Scopes = nil }, "scopes", "read, write or admin"},
		{"another scope", func(n *snip.NewKey) { n.Scopes = []snip.Scope{"read", "Write"} }, "scopes[1]", `"Write" is no scope`},
		{"scope twice", func(n *snip.NewKey) { n.Scopes = []snip.Scope{"read", "read"} }, "scopes[1]", "twice"},
		{"long contact", func(n *snip.NewKey) { n.Contact = strings.Repeat("x", 201) }, "contact", "201"},
		{"contact with a line end", func(n *snip.NewKey) { n.Contact = "a\r\nBcc: b" }, "contact", "U+000D"},
		{"zone", func(n *snip.NewKey) { n.TimeZone = "Europe/Entenhausen" }, "time_zone", "Europe/Berlin"},
		{"zone of the machine", func(n *snip.NewKey) { n.TimeZone = "Local" }, "time_zone", `"Local"`},
		{"zone as a file", func(n *snip.NewKey) { n.TimeZone = "../../etc/passwd" }, "time_zone", "no time zone"},
		{"domain", func(n *snip.NewKey) { n.Domain = &bad }, "domain", "port"},
		{"expiry now", func(n *snip.NewKey) { n.ExpiresAt = noon }, "expires_at", "already"},
		{"expiry out of reach", func(n *snip.NewKey) { n.ExpiresAt = noon.AddDate(9000, 0, 0) }, "expires_at", "9999"},
		{"admin of a domain", func(n *snip.NewKey) { n.Scopes, n.OwnLinks = []snip.Scope{"admin"}, false }, "domain", "admin"},
		{"admin of own links", func(n *snip.NewKey) { n.Scopes, n.Domain = []snip.Scope{"admin"}, nil }, "own_links", "admin"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := full()
			test.change(&n)
			wantInvalid(t, n.Check(noon), test.field, test.message)
			if slices.Contains([]string{"label", "contact", "time_zone"}, test.field) {
				wantInvalid(t, snip.KeyEdit{Label: &n.Label, Contact: &n.Contact, TimeZone: &n.TimeZone}.Check(), test.field, test.message)
			}
		})
	}
	past, far := noon.Add(-1), noon.AddDate(9000, 0, 0)
	for _, e := range []snip.KeyEdit{{}, {ExpiresAt: &past}, {ExpiresAt: &time.Time{}}, {TimeZone: &own}} {
		if err := e.Check(); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", e, err)
		}
	}
	wantInvalid(t, snip.KeyEdit{ExpiresAt: &far}.Check(), "expires_at", "9999")
}

func TestScopes(t *testing.T) {
	given := []snip.Scope{"admin", "read", "admin", "x"}
	if got, want := snip.CleanScopes(given), []snip.Scope{"read", "admin"}; !slices.Equal(got, want) {
		t.Errorf("CleanScopes = %q, want %q", got, want)
	}
	for _, test := range []struct {
		has, takes snip.Scope
		want       bool
	}{
		{snip.ScopeRead, snip.ScopeRead, true}, {snip.ScopeRead, snip.ScopeWrite, false}, {snip.ScopeWrite, snip.ScopeRead, false},
		{snip.ScopeWrite, snip.ScopeAdmin, false}, {snip.ScopeAdmin, snip.ScopeWrite, true}, {snip.ScopeAdmin, snip.ScopeAdmin, true},
	} {
		if got := (snip.Key{Scopes: []snip.Scope{test.has}}).May(test.takes); got != test.want {
			t.Errorf("a key with %s may what takes %s: %v", test.has, test.takes, got)
		}
	}
}
