package snip_test

import (
	"errors"
	"strings"
	"testing"

	"snip"
)

func TestDomainCheck(t *testing.T) {
	rules := snip.Rules{Own: own}
	full := func() snip.NewDomain {
		return snip.NewDomain{
			Host: "Go.Example", IgnoreCase: true, Root: "https://example.com/", NotFound: "https://example.com/404",
			NotFoundText: "Nothing\nhere",
		}
	}
	for _, n := range []snip.NewDomain{full(), {Host: "go"}, {Host: "192.0.2.1"}} {
		if err := n.Check(rules); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", n, err)
		}
	}
	tests := []struct {
		name           string
		change         func(*snip.NewDomain)
		field, message string
	}{
		{"no host", func(n *snip.NewDomain) { n.Host = "" }, "host", "missing"},
		{"host with a path", func(n *snip.NewDomain) { n.Host += "/x" }, "host", "holds '/'"},
		{"root", func(n *snip.NewDomain) { n.Root = "example.com" }, "root_url", "scheme"},
		{"root here", func(n *snip.NewDomain) { n.Root = "https://sni.example/" }, "root_url", "on this server"},
		{"root on the domain itself", func(n *snip.NewDomain) { n.Root = "http://go.example/-/x" }, "root_url", "on this server"},
		{"not found", func(n *snip.NewDomain) { n.NotFound = "javascript:x" }, "not_found_url", "never"},
		{"not found on the domain itself", func(n *snip.NewDomain) { n.NotFound = "https://GO.example./a.b" }, "not_found_url", "on this server"},
		{"not found as a code", func(n *snip.NewDomain) { n.NotFound = "https://go.example/abc" }, "not_found_url", "short link"},
		{"text with a bell", func(n *snip.NewDomain) { n.NotFoundText = "\a" }, "not_found_text", "U+0007"},
		{"long text", func(n *snip.NewDomain) { n.NotFoundText = strings.Repeat("x", snip.MaxNote+1) }, "not_found_text", "5001"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := full()
			test.change(&n)
			wantInvalid(t, n.Check(rules), test.field, test.message)
			if test.field != "host" {
				e := snip.DomainEdit{Root: &n.Root, NotFound: &n.NotFound, NotFoundText: &n.NotFoundText}
				wantInvalid(t, e.Check(snip.Rules{Own: append([]string{"go.example"}, own...)}), test.field, test.message)
			}
		})
	}
	for _, host := range []string{"SNI.example", "localhost", "::1", "kürzer.example"} {
		err := snip.NewDomain{Host: host}.Check(rules)
		if e, ok := errors.AsType[*snip.Error](err); !ok || e.Code != snip.Conflict || e.Field != "host" {
			t.Errorf("Check of %q = %v, want a conflict", host, err)
		}
	}
	none := ""
	if err := (snip.DomainEdit{Root: &none, NotFound: &none, NotFoundText: &none}).Check(rules); err != nil {
		t.Errorf("Check() = %v, want nil", err)
	}
	if len(own) != 4 || own[0] != "sni.example" {
		t.Error("Check changed the rules")
	}
}
