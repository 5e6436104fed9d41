package snip_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"snip"
)

// own are the hosts of the instance under test.
var own = []string{"sni.example", "LOCALHOST:8080", "[::1]:8080", "kürzer.example"}

func TestCheckTargetAccepts(t *testing.T) {
	tests := []struct{ name, target, location string }{
		{"L1 plus", "https://en.wikipedia.org/wiki/?2+2_(TV_channel)", ""},
		{"L1 encoded plus", "https://guides.apple.com/?ug=a%2BGA", ""},
		{"L2 query without value, fragment", "https://google.com/?abc#123", ""},
		{"L2 query whose name is a number", "https://google.com/?123=foo", ""},
		{"L2 query with a dot", "https://google.com/?a.b=1", ""},
		{"L4 no path before the query", "http://linksredirect.com?pub_id=28CL11&url=https://paytm.com/dth", ""},
		{"L5 internationalised host", "http://www.tübingen.de/", "http://www.xn--tbingen-n2a.de/"},
		{"L6 fragment", "https://www.typescriptlang.org/play?#code/AbC", ""},
		{"L7 mailto", "mailto:a@b.c?subject=T&body=x%0D%0Ay", ""},
		{"L7 tel", "tel:+49-7071-290", ""},
		{"sms", "sms:+15551234?body=hi", ""},
		{"upper case everywhere", "HTTPS://Example.COM/A?B=C#D", ""},
		{"no path", "https://example.com", ""},
		{"only a fragment", "https://example.com#x", ""},
		{"lone percent in the path", "https://example.com/100%", ""},
		{"lone percent in the fragment", "https://example.com/#100%", ""},
		{"backslash in the path", `https://example.com/a\b`, ""},
		{"dots in the path", "https://example.com/a/../b//c/", ""},
		{"path not in ASCII", "https://example.com/wiki/Tübingen", ""},
		{"quotes and brackets in the query", `https://example.com/?q="<{x}>"|^`, ""},
		{"user info, plain", "https://user:pa%40ss@example.com:8443/x", ""},
		{"default port", "https://example.com:443/", ""},
		{"port with zeros", "http://example.com:0080/", ""},
		{"IPv4", "http://192.0.2.1/x", ""},
		{"private address", "http://10.0.0.1/router", ""},
		{"IPv6", "http://[2001:db8::1]:81/x", ""},
		{"IPv6, another spelling", "http://[2001:0DB8:0::1]/x", ""},
		{"root dot", "https://example.com./x", ""},
		{"underscore in the host", "https://a_b.example.com/", ""},
		{"punycode as typed", "http://www.XN--tbingen-n2a.de/", ""},
		{"internationalised host with user, port, rest", "http://u@BÜCHER.example:81/ü?ü#ü", "http://u@xn--bcher-kva.example:81/ü?ü#ü"},
		{"wide letters and stop", "https://ｅxample。com/x", "https://example.com/x"},
		{"sharp s", "https://straße.de/", "https://xn--strae-oqa.de/"},
		{"right to left", "https://אתר.example/", "https://xn--4db2cf.example/"},
		{"own front page", "https://sni.example/", ""},
		{"own dashboard", "https://sni.example/-/links", ""},
		{"own reserved word", "https://sni.example/api", ""},
		{"own host, another port", "http://sni.example:3000/abcd", ""},
		{"own host as part of another", "http://xsni.example/abcd", ""},
		{"own host in the query", "http://example.com/?u=https://sni.example/abcd", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := snip.CheckTarget(test.target, own)
			if err != nil {
				t.Fatalf("CheckTarget(%q) = %v, want nil", test.target, err)
			}
			want := test.location
			if want == "" {
				want = test.target
			}
			got, err := snip.Location(test.target)
			if err != nil || got != want {
				t.Errorf("Location(%q) = %q, %v, want %q", test.target, got, err, want)
			}
		})
	}
}

func TestCheckTargetRefuses(t *testing.T) {
	tests := []struct{ name, target, message string }{
		{"nothing", "", "missing"},
		{"L7 no scheme", "bbc.co.uk", "Did you mean https://bbc.co.uk?"},
		{"no scheme but a port", "bbc.co.uk:8080/x", "Did you mean https://bbc.co.uk:8080/x?"},
		{"no scheme but local", "localhost:3000", "Did you mean https://localhost:3000?"},
		{"no scheme but slashes", "//bbc.co.uk/x", "Did you mean https://bbc.co.uk/x?"},
		{"no scheme but a path", "/news", "as in https://example.com/page"},
		{"no scheme and no host either", "?", "as in https://example.com/page"},
		{"empty scheme", "://bbc.co.uk", "no scheme"},
		{"L7 javascript", "javascript:alert(1)", "javascript: are never accepted"},
		{"javascript in odd case", "JaVaScRiPt:alert(1)", "javascript: are never accepted"},
		{"javascript with slashes", "javascript://example.com/%0Aalert(1)", "never accepted"},
		{"javascript with a tab inside", "java\tscript:alert(1)", "U+0009"},
		{"javascript with a line end inside", "java\r\nscript:alert(1)", "U+000D"},
		{"javascript after a control character", "\x01javascript:alert(1)", "U+0001"},
		{"javascript after a space", " javascript:alert(1)", "U+0020"},
		{"L7 data", "data:text/html,x", "never accepted"},
		{"L7 file", "FILE:///etc/passwd", "never accepted"},
		{"vbscript", "vbscript:x", "never accepted"},
		{"viber unless listed", "viber://pa?chatURI=x", "not accepted here"},
		{"ftp", "ftp://example.com/", "not accepted here"},
		{"mailto to nobody", "mailto:", "ends after mailto:"},
		{"mailto with a host read in two ways", `mailto://a.example\b.example/`, "host"},
		{"line end", "https://example.com/\r\nSet-Cookie: a=b", "U+000D"},
		{"zero byte", "https://example.com/\x00", "U+0000"},
		{"C1 control character", "https://example.com/\u0085", "U+0085"},
		{"delete", "https://example.com/\x7f", "U+007F"},
		{"space", "https://example.com/a b", "write it as %20"},
		{"space at the end", "https://example.com/ ", "space"},
		{"no-break space", "https://example.com/a\u00a0b", "write it as %C2%A0"},
		{"line separator", "https://example.com/a\u2028b", "U+2028"},
		{"invalid UTF-8", "https://example.com/\xff", "not valid UTF-8 from byte 20"},
		{"too long", "https://example.com/" + strings.Repeat("a", snip.MaxTarget), "at most 65536"},
		{"http without slashes", "http:example.com", "needs // and a host"},
		{"http with one slash", "http:/example.com", "needs // and a host"},
		{"http with backslashes", `http:\\example.com`, "needs // and a host"},
		{"http with nothing", "http:", "needs // and a host"},
		{"no host", "https://", "needs a host"},
		{"no host but a path", "https:///example.com", "needs a host"},
		{"no host but a user", "https://user@/x", "needs a host"},
		{"no host but a port", "https://:80/x", "lacks a name"},
		{"backslash ends the host", `https://good.example\@evil.example`, `holds a \`},
		{"backslash before the host", `https://\evil.example/`, `holds a \`},
		{"two users", "https://good.example@x@evil.example/", "more than one @"},
		{"user with what only browsers encode", "https://a|b@evil.example/", "userinfo"},
		{"percent in the host", "https://ex%61mple.com/", "holds '%'"},
		{"L5 encoded host", "http://t%c3%bcbingen.de/", "holds '%'"},
		{"IPv4 in hexadecimal", "http://0x7f.0.0.1/", "another host"},
		{"IPv4 as one number", "http://2130706433/", "another host"},
		{"IPv4 in octal", "http://0177.0.0.1/", "another host"},
		{"IPv4 with wide digits, short", "http://１２７.1/", "another host"},
		{"IPv6 with a zone", "http://[fe80::1%25eth0]/", "not an IPv6 address"},
		{"IPv6 unfinished", "http://[::1/", "not an IPv6 address"},
		{"IPv6 and more", "http://[::1]x/", "not an IPv6 address"},
		{"port not a number", "http://example.com:x/", "its port"},
		{"port too large", "http://example.com:65536/", "its port"},
		{"port with a sign", "http://example.com:+80/", "its port"},
		{"quote in the host", `http://exa"mple.com/`, "holds"},
		{"ampersand in the host", "http://a.example&b.example/", "holds '&'"},
		{"empty part of the host", "http://a..b/", "between two dots"},
		{"only a dot", "http://./", "between two dots"},
		{"long part of the host", "http://" + strings.Repeat("a", 64) + ".example/", "63"},
		{"long host", "http://" + strings.Repeat("a.", 130) + "example/", "253"},
		{"very long host", "http://" + strings.Repeat("ü", 30000) + "/", "at most 2048"},
		{"very long password", "http://u:" + strings.Repeat(":", 60000) + "@example.com/", "at most 2048"},
		{"bidi control in the host", "https://exa\u202Emple.com/", "U+202E"},
		{"bidi mark in the host", "https://exa\u200Fmple.com/", "U+200F"},
		{"host that maps to a path", "https://a℀b.example/", "holds '/'"},
		{"host that maps to a slash", "https://good.example／evil.example/", "holds '/'"},
		{"false punycode", "https://xn--a.example/", "internationalised"},
		{"own code", "https://sni.example/abcd", "short link of this server"},
		{"own code, http", "http://SNI.example:80/abcd", "short link of this server"},
		{"own code, root dot", "https://sni.example./abcd", "short link of this server"},
		{"own code, slash", "https://sni.example/abcd/", "short link of this server"},
		{"own code, slashes", "https://sni.example//abcd", "short link of this server"},
		{"own code, backslash", `https://sni.example/\abcd`, "short link of this server"},
		{"own code, dots", "https://sni.example/api/../abcd", "short link of this server"},
		{"own code, encoded", "https://sni.example/%61bcd?x=y#z", "short link of this server"},
		{"own code, encoded slash", "https://sni.example/%2Fabcd", "short link of this server"},
		{"own code, preview", "https://sni.example/abcd+", "short link of this server"},
		{"own code, user", "https://u:p@sni.example/abcd", "short link of this server"},
		{"own code, port", "http://localhost:8080/abcd", "short link of this server"},
		{"own code, IPv6", "http://[0:0::1]:8080/abcd", "short link of this server"},
		{"own code, internationalised", "http://xn--krzer-kva.example/abcd", "short link of this server"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantInvalid(t, snip.CheckTarget(test.target, own), "url", test.message)
		})
	}
}

func TestMessagesStayShort(t *testing.T) {
	for _, target := range []string{
		strings.Repeat("a", snip.MaxTarget),
		strings.Repeat("a", snip.MaxTarget-1) + ":",
		"https://" + strings.Repeat("a|", 30000) + "@example.com",
		"https://" + strings.Repeat("%", 1000) + "/",
	} {
		err := snip.CheckTarget(target, nil)
		if err == nil {
			t.Fatalf("CheckTarget(%.20q…) = nil, want an error", target)
		}
		if n := len(err.Error()); n > 500 {
			t.Errorf("CheckTarget(%.20q…): message of %d bytes", target, n)
		}
	}
}

func TestLongTargetIsKept(t *testing.T) {
	target := "https://example.com/?"
	target += strings.Repeat("+", snip.MaxTarget-len(target))
	if err := snip.CheckTarget(target, own); err != nil {
		t.Fatalf("CheckTarget = %v, want nil", err)
	}
	if got, err := snip.Location(target); err != nil || got != target {
		t.Errorf("Location changed %d bytes into %d, %v", len(target), len(got), err)
	}
}

func TestRulesWithSchemes(t *testing.T) {
	rules := snip.Rules{Schemes: []string{"viber", "x-app"}}
	if err := rules.Check(); err != nil {
		t.Fatalf("Check() = %v, want nil", err)
	}
	for _, target := range []string{"viber://pa?chatURI=x", "VIBER://pa", "x-app:x/y", "x-app:///x", "viber://PA:1/ü"} {
		if err := rules.CheckTarget(target); err != nil {
			t.Errorf("CheckTarget(%q) = %v, want nil", target, err)
		}
		if got, err := snip.Location(target); err != nil || got != target {
			t.Errorf("Location(%q) = %q, %v, want it unchanged", target, got, err)
		}
	}
	for _, target := range []string{"x-app:", "viber://pä/", `viber://a\b`, "viber://a%62", "other:x", "viber://" + strings.Repeat("a", 3000)} {
		wantInvalid(t, rules.CheckTarget(target), "url", "")
	}
}

func TestRulesCheckNamesWhatIsWrong(t *testing.T) {
	tests := []struct {
		rules   snip.Rules
		message string
	}{
		{snip.Rules{Schemes: []string{"viber", "javascript"}}, "javascript"},
		{snip.Rules{Schemes: []string{"Data"}}, "Data"},
		{snip.Rules{Schemes: []string{"viber:"}}, `"viber:"`},
		{snip.Rules{Schemes: []string{""}}, `""`},
		{snip.Rules{Own: []string{"https://sni.example"}}, `"https://sni.example"`},
		{snip.Rules{Own: []string{""}}, `""`},
	}
	for _, test := range tests {
		if err := test.rules.Check(); err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%+v.Check() = %v, want it to name %s", test.rules, err, test.message)
		}
	}
	// Even if nobody called Check, what runs code stays out.
	for _, s := range []string{"javascript", "data", "file", "vbscript"} {
		wantInvalid(t, snip.Rules{Schemes: []string{s}}.CheckTarget(s+":x"), "url", "never")
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"https://en.wikipedia.org/wiki/?2+2_(TV_channel)", "http://www.tübingen.de/", "bbc.co.uk",
		"mailto:a@b.c?subject=T&body=x%0D%0Ay", `https://good.example\@evil.example`, "http://u:p@[::1]:80/",
		"https://ｅxample。com:443/x#y", "javascript:alert(1)", "https://a\u200Db.example/", "http://xn--a.example/",
	} {
		f.Add(s)
	}
	rules := snip.Rules{Own: own, Schemes: []string{"viber"}}
	f.Fuzz(func(t *testing.T, target string) {
		err := rules.CheckTarget(target)
		if err != nil {
			if e, ok := errors.AsType[*snip.Error](err); !ok || e.Code != snip.Invalid || e.Field != "url" || !utf8.ValidString(e.Message) {
				t.Errorf("CheckTarget(%q) = %#v, want *Error for url", target, err)
			}
			return
		}
		location, err := snip.Location(target)
		if err != nil {
			t.Fatalf("Location(%q) = %v after it was accepted", target, err)
		}
		if strings.ContainsFunc(location, unicode.IsControl) || strings.ContainsFunc(location, unicode.IsSpace) {
			t.Errorf("Location(%q) = %q", target, location)
		}
		again, err := snip.Location(location)
		if err != nil || again != location {
			t.Errorf("Location(%q) = %q, %v: not the same twice", location, again, err)
		}
		seen, err := whatwg.Parse(location)
		if err != nil {
			t.Fatalf("browsers cannot read %q: %v", location, err)
		}
		asked, err := whatwg.Parse(target)
		if err != nil || asked.Host() != seen.Host() || asked.Scheme() != seen.Scheme() || asked.Pathname() != seen.Pathname() || asked.Search() != seen.Search() {
			t.Errorf("%q leads to %v, its location %q to %v", target, asked, location, seen)
		}
		if seen.Scheme() != "http" && seen.Scheme() != "https" {
			if location != target {
				t.Errorf("Location(%q) = %q", target, location)
			}
			return
		}
		// What is answered must have the host it seems to have, for whoever reads it.
		authority, _, _ := strings.Cut(location[len(seen.Scheme())+len("://"):], "/")
		authority, _, _ = strings.Cut(authority, "?")
		authority, _, _ = strings.Cut(authority, "#")
		u, err := url.Parse(seen.Scheme() + "://" + authority)
		if err != nil || u.Host == "" {
			t.Fatalf("net/url cannot read the host of %q: %v", location, err)
		}
		if strings.ContainsFunc(authority, func(c rune) bool { return c > unicode.MaxASCII }) {
			t.Errorf("Location(%q) = %q: host not in ASCII", target, location)
		}
		if !strings.ContainsFunc(target, func(c rune) bool { return c > unicode.MaxASCII }) && location != target {
			t.Errorf("Location(%q) = %q", target, location)
		}
	})
}

func wantInvalid(t *testing.T, err error, field, message string) {
	t.Helper()
	e, ok := errors.AsType[*snip.Error](err)
	if !ok || e.Code != snip.Invalid || e.Field != field || !strings.Contains(e.Message, message) {
		t.Errorf("err = %v, want invalid %s with %q", err, field, message)
	}
}
