package visitor_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/visitor"
)

const (
	onPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
	aBot    = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

func TestVisitor(t *testing.T) {
	r := open(t, visitor.Config{})
	for name, test := range map[string]struct {
		facts visitor.Facts
		want  snip.Visitor
	}{
		"nobody known": {visitor.Facts{}, snip.Visitor{Class: snip.Unknown, Device: "unknown", OS: "unknown", Country: "unknown"}},
		"on a phone": {
			visitor.Facts{UserAgent: onPhone, Language: "pt-BR,pt;q=0.9,en;q=0.8"},
			snip.Visitor{Device: "phone", OS: "iOS", Country: "unknown", Language: "pt-br"},
		},
		"prefetch": {
			visitor.Facts{UserAgent: onPhone, Purpose: "prefetch;prerender"},
			snip.Visitor{Class: snip.Prefetch, Device: "phone", OS: "iOS", Country: "unknown"},
		},
		"bot": {visitor.Facts{UserAgent: aBot}, snip.Visitor{Class: snip.Bot, Device: "unknown", OS: "unknown", Country: "unknown"}},
	} {
		got := r.Visitor(test.facts)
		got.Hash = 0
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWholeLanguage(t *testing.T) {
	r := open(t, visitor.Config{})
	for header, want := range map[string]string{
		"":                                "",
		"*":                               "",
		"DE-at":                           "de-at",
		"en;q=0.5, fr-CA;q=0.9, de;q=0":   "fr-ca",
		"zh-Hans-CN, zh;q=0.9":            "zh-hans-cn",
		"de-<b>":                          "de",
		"de-" + strings.Repeat("abc-", 9): "de",
		"de_AT,en-GB;q=0.1":               "en-gb",
	} {
		if got := r.Visitor(visitor.Facts{Language: header}).Language; got != want {
			t.Errorf("%.80q is %q, want %q", header, got, want)
		}
	}
}

// TestVisitorsKeepTheirHash: it must not change with a new version of the program, or
// every visitor of a split test would change sides.
func TestVisitorsKeepTheirHash(t *testing.T) {
	r := open(t, visitor.Config{})
	seen := map[uint64]string{}
	for text, want := range map[string]uint64{
		"192.0.2.1 " + onPhone:          3211554975333132325,
		"::ffff:192.0.2.1 " + onPhone:   3211554975333132325,
		"192.0.2.1 ":                    0,
		"2001:db8::1 " + onPhone:        0,
		"192.0.2.2 " + onPhone:          0,
		"192.0.2.1 " + onPhone + "\x00": 0,
	} {
		address, agent, _ := strings.Cut(text, " ")
		got := r.Visitor(visitor.Facts{Address: netip.MustParseAddr(address), UserAgent: agent}).Hash
		if want != 0 && got != want {
			t.Errorf("%q has hash %d, want %d", text, got, want)
		}
		if want == 0 && seen[got] != "" {
			t.Errorf("%q and %q have the same hash", text, seen[got])
		}
		seen[got] = fmt.Sprintf("%q", text)
	}
}
