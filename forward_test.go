package snip_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"snip"
)

func TestQueryIsForwarded(t *testing.T) {
	tests := []struct {
		name, target, query  string
		keep, override, both string // both is for append. Where they are empty: as keep.
	}{
		{"nothing brought", "https://e.example/?abc#123", "", "https://e.example/?abc#123", "", ""},
		{"nothing but ampersands", "https://e.example/", "&&", "https://e.example/", "", ""},
		{"L2 number as a name", "https://google.com/?abc#123", "123=foo", "https://google.com/?abc&123=foo#123", "", ""},
		{"L2 names with spaces and dots", "https://e.example/", "Some%20Filter=1&a.b=1&A+B=2", "https://e.example/?Some%20Filter=1&a.b=1&A+B=2", "", ""},
		{"L2 name without value", "https://e.example/?abc", "d", "https://e.example/?abc&d", "", ""},
		{"L6 before the fragment", "https://www.typescriptlang.org/play?#code/AbC", "ts=5", "https://www.typescriptlang.org/play?ts=5#code/AbC", "", ""},
		{"L6 question mark in the fragment", "https://e.example/#a?b=c", "d=e", "https://e.example/?d=e#a?b=c", "", ""},
		{"question mark at the end", "https://e.example/?", "a=1", "https://e.example/?a=1", "", ""},
		{"question mark at the end stays", "https://e.example/?", "", "https://e.example/?", "", ""},
		{"ampersand at the end", "https://e.example/?b&", "a=1", "https://e.example/?b&a=1", "", ""},
		{"ampersand before and after", "https://e.example/?b", "&a=1&", "https://e.example/?b&a=1&", "", ""},
		{"no path", "https://e.example", "a=1", "https://e.example?a=1", "", ""},
		{"no value, with and without sign", "https://e.example/", "a=&b", "https://e.example/?a=&b", "", ""},
		{"same name", "https://e.example/?a=1&b=2", "a=3&c=4", "https://e.example/?a=1&b=2&c=4", "https://e.example/?b=2&a=3&c=4", "https://e.example/?a=1&b=2&a=3&c=4"},
		{"only the same name", "https://e.example/?a=1#f", "a=2", "https://e.example/?a=1#f", "https://e.example/?a=2#f", "https://e.example/?a=1&a=2#f"},
		{"same name, encoded", "https://e.example/?a+b=1&c=2", "a%20b=3", "https://e.example/?a+b=1&c=2", "https://e.example/?c=2&a%20b=3", "https://e.example/?a+b=1&c=2&a%20b=3"},
		{"same letter, encoded", "https://e.example/?%61=1", "a=3", "https://e.example/?%61=1", "https://e.example/?a=3", "https://e.example/?%61=1&a=3"},
		{"case matters", "https://e.example/?a=1", "A=2", "https://e.example/?a=1&A=2", "", ""},
		{"repeated names are kept", "https://e.example/?x", "a=1&b=2&a=1&a=3", "https://e.example/?x&a=1&b=2&a=1&a=3", "", ""},
		{"all of a repeated name", "https://e.example/?a=1&x&a=2", "b&a=3&a=4", "https://e.example/?a=1&x&a=2&b", "https://e.example/?x&b&a=3&a=4", "https://e.example/?a=1&x&a=2&b&a=3&a=4"},
		{"broken escapes stand for themselves", "https://e.example/?%zz=1", "%zz=2&%=3", "https://e.example/?%zz=1&%=3", "https://e.example/?%zz=2&%=3", "https://e.example/?%zz=1&%zz=2&%=3"},
		{"no name", "https://e.example/?=1", "=2", "https://e.example/?=1", "https://e.example/?=2", "https://e.example/?=1&=2"},
		{"question mark and slash in a value", "https://e.example/", "u=https://x/?y", "https://e.example/?u=https://x/?y", "", ""},
		{"bytes that no header may hold", "https://e.example/", "a=ü\x00\x7f \r\n#x", "https://e.example/?a=%C3%BC%00%7F%20%0D%0A%23x", "", ""},
	}
	for _, test := range tests {
		for policy, want := range map[snip.QueryPolicy]string{
			snip.QueryOff: test.target, snip.QueryKeep: test.keep, snip.QueryOverride: test.override, snip.QueryAppend: test.both,
		} {
			if want == "" {
				want = test.keep
			}
			t.Run(test.name+"/"+string(policy), func(t *testing.T) {
				r := route(t, snip.Link{Settings: snip.Settings{Target: test.target, Query: policy}}, "")
				if got := snip.Decide(r, snip.Visit{Method: "GET", Query: test.query}, noon).Location; got != want {
					t.Errorf("Location = %q, want %q", got, want)
				}
			})
		}
	}
}

func TestPathIsForwarded(t *testing.T) {
	tests := []struct{ name, target, rest, want string }{
		{"nothing", "https://e.example/a/", "", "https://e.example/a/"},
		{"slash is nothing", "https://e.example/a", "/", "https://e.example/a"},
		{"more", "https://e.example/a", "/more", "https://e.example/a/more"},
		{"slash is not doubled", "https://e.example/a/", "/more/", "https://e.example/a/more/"},
		{"no path", "https://e.example", "/more", "https://e.example/more"},
		{"only a slash", "https://e.example/", "/more", "https://e.example/more"},
		{"before query and fragment", "https://e.example/a?b/#c?d", "/more", "https://e.example/a/more?b/#c?d"},
		{"before a query without a path", "https://e.example?b", "/more", "https://e.example/more?b"},
		{"before a fragment", "https://e.example#b?c", "/more", "https://e.example/more#b?c"},
		{"its own slashes stay", "https://e.example/a", "//x.example//", "https://e.example/a//x.example//"},
		{"another host is a path", "https://e.example", "//evil.example", "https://e.example//evil.example"},
		{"a user is a path", "https://e.example", "/@evil.example", "https://e.example/@evil.example"},
		{"encoded bytes stay", "https://e.example", "/a%2Fb%3F%C3%BC+c", "https://e.example/a%2Fb%3F%C3%BC+c"},
		{"dots in names", "https://e.example", "/.well/..x/x../.../a.b", "https://e.example/.well/..x/x../.../a.b"},
		{"bytes that no header may hold", "https://e.example", "/ü \n#?", "https://e.example/%C3%BC%20%0A%23%3F"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := route(t, snip.Link{Settings: snip.Settings{Target: test.target, ForwardPath: true}}, "")
			if d := snip.Decide(r, snip.Visit{Method: "GET", Rest: test.rest, Query: "off=1"}, noon); d.Location != test.want {
				t.Errorf("Decide = %+v, want location %q", d, test.want)
			}
		})
	}
	r := route(t, snip.Link{Settings: snip.Settings{Target: "https://e.example/a", ForwardPath: true}}, "")
	for _, rest := range []string{
		"/..", "/../x", "/x/..", "/./x", "/x/.", "/%2e%2e/x", "/.%2E", "/%2e", "/x/%2E./y", `/..\x`, "/..%2fx", "/x%5c..%5Cy", "more", "..",
	} {
		if d := snip.Decide(r, snip.Visit{Method: "GET", Rest: rest}, noon); d.Status != 404 || d.Location != "" {
			t.Errorf("Decide with %q = %+v, want 404", rest, d)
		}
	}
}

func TestPathAndQueryReachRulesButNoFallback(t *testing.T) {
	s := snip.Settings{
		Target: "https://a.example/x", ForwardPath: true, Query: snip.QueryAppend, ExpiresAt: noon, Fallback: "https://f.example/", Campaign: snip.Campaign{Source: "s"},
		Rules: []snip.Rule{{When: snip.Conditions{Query: map[string][]string{"r": nil}}, Target: "https://r.example/y/#f"}},
	}
	r := route(t, snip.Link{Settings: s}, "")
	v := snip.Visit{Method: "GET", Rest: "/m", Query: "r=1"}
	if got, want := snip.Decide(r, v, noon.Add(-1)).Location, "https://r.example/y/m?utm_source=s&r=1#f"; got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
	if got := snip.Decide(r, v, noon).Location; got != s.Fallback {
		t.Errorf("Location = %q, want %q", got, s.Fallback)
	}
}

// TestQueryForwardingKeepsTheRest says of any target and query: what is not query keeps
// its bytes, no parameter is changed or moved past another one of its side, and each is
// there or not as the policy says.
func TestQueryForwardingKeepsTheRest(t *testing.T) {
	pair := rapid.StringMatching(`(a|b|%61|a%2B|c\+d|c%20d|%|\.)?(=[a-z0-9%+=./?]{0,3})?`)
	pairs := rapid.SliceOfN(pair, 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]string{"https://e.example", "https://e.example/", "http://e.example/a/b"}).Draw(t, "base")
		fragment := rapid.SampledFrom([]string{"", "#", "#x?a=1&b#c"}).Draw(t, "fragment")
		own := strings.Join(pairs.Draw(t, "own"), "&")
		query := strings.Join(pairs.Draw(t, "query"), "&")
		policy := rapid.SampledFrom([]snip.QueryPolicy{snip.QueryKeep, snip.QueryOverride, snip.QueryAppend}).Draw(t, "policy")
		address := base + fragment
		if own != "" {
			address = base + "?" + own + fragment
		}
		r := route(t, snip.Link{Settings: snip.Settings{Target: address, Query: policy}}, "")
		got := snip.Decide(r, snip.Visit{Method: "GET", Query: query}, noon).Location

		between, whole := strings.CutPrefix(got, base)
		between, ended := strings.CutSuffix(between, fragment)
		if !whole || !ended {
			t.Fatalf("%q and %q became %q", address, query, got)
		}
		var want []string
		mine, theirs := split(own), split(query)
		for _, p := range mine {
			if policy != snip.QueryOverride || !hasName(theirs, p) {
				want = append(want, p)
			}
		}
		for _, p := range theirs {
			if policy != snip.QueryKeep || !hasName(mine, p) {
				want = append(want, p)
			}
		}
		if between != "" && between[0] != '?' || between == "?" && own == "" {
			t.Fatalf("%q and %q became %q", address, query, got)
		}
		if parts := split(strings.TrimPrefix(between, "?")); strings.Join(parts, "&") != strings.Join(want, "&") {
			t.Fatalf("%q and %q with %q became %q, want parameters %q", address, query, policy, got, want)
		}
	})
}

// split returns the parameters of a query as they are.
func split(query string) []string {
	var pairs []string
	for p := range strings.SplitSeq(query, "&") {
		if p != "" {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func hasName(pairs []string, pair string) bool {
	name := func(p string) string {
		n, _, _ := strings.Cut(p, "=")
		if decoded, err := url.QueryUnescape(n); err == nil {
			return decoded
		}
		return n
	}
	for _, p := range pairs {
		if name(p) == name(pair) {
			return true
		}
	}
	return false
}
