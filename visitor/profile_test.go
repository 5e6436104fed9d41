package visitor_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/visitor"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

func TestProfileOfNothing(t *testing.T) {
	want := visitor.Profile{
		Class: snip.Unknown, Browser: "unknown", OS: "unknown", Device: "unknown",
		Medium: "direct", Language: "unknown", Country: "unknown", Region: "unknown",
	}
	if diff := cmp.Diff(want, open(t, visitor.Config{}).Profile(visitor.Facts{})); diff != "" {
		t.Error(diff)
	}
}

func TestProfileOfAPerson(t *testing.T) {
	got := open(t, visitor.Config{}).Profile(visitor.Facts{
		Address:   netip.MustParseAddr("192.0.2.1"),
		UserAgent: firefox,
		Referrer:  "https://www.Google.com/search?q=snip",
		Language:  "de-CH,de;q=0.9,en;q=0.8",
		Query:     "a=b&utm_campaign=Spring%20%C3%A9t%C3%A9",
	})
	want := visitor.Profile{
		Class: snip.Human, Browser: "Firefox", OS: "Linux", Device: "desktop",
		Referrer: "google.com", Medium: "search", Language: "de", Country: "unknown", Region: "unknown",
		Campaign: "Spring été",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBrowserNames(t *testing.T) {
	r := open(t, visitor.Config{})
	const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	for agent, want := range map[string][3]string{
		phone + "Version/18.5 Mobile/15E148 Safari/604.1":                                                                                            {"Safari", "iOS", "phone"},
		phone + "Mobile/22F76 [FBAN/FBIOS;FBAV/518.0.0.52.100;FBDV/iPhone15,2]":                                                                      {"Facebook", "iOS", "phone"},
		phone + "Mobile/22F76 Instagram 385.0.0.28.84 (iPhone14,5; iOS 18_5)":                                                                        {"Instagram", "iOS", "phone"},
		phone + "GSA/373.0.772837462 Mobile/15E148 Safari/604.1":                                                                                     {"Google app", "iOS", "phone"},
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:139.0) Gecko/20100101 Firefox/139.0":                                                       {"Firefox", "macOS", "desktop"},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.3351.55":          {"Edge", "Windows", "desktop"},
		"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36": {"Samsung Browser", "Android", "phone"},
		"Mozilla/5.0 (Linux; Android 9; KFTRPWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/106.5.7 like Chrome/106.0.5249.208 Safari/537.36":       {"Amazon Silk", "Android", "tablet"},
		"Mozilla/5.0 (Linux; Android 10; BRAVIA 4K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/103.0.0.0 Mobile Safari/537.36 OPR/70.1":           {"Opera", "Android", "tv"},
		"Mozilla/5.0 (Linux; U; Android 4.0.3; de-de) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30":                       {"Android Browser", "Android", "phone"},
		"Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko":                                                                      {"IE", "Windows", "desktop"},
		"Mozilla/5.0 (X11; FreeBSD amd64; rv:139.0) Gecko/20100101 Firefox/139.0":                                                                    {"Firefox", "FreeBSD", "desktop"},
	} {
		p := r.Profile(visitor.Facts{UserAgent: agent})
		if got := [3]string{p.Browser, p.OS, p.Device}; got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

func TestReferrer(t *testing.T) {
	r := open(t, visitor.Config{})
	for referrer, want := range map[string][2]string{
		"":                                                  {"", "direct"},
		"https://example.com/a?b#c":                         {"example.com", "other"},
		"HTTPS://WWW.Example.COM:8443./":                    {"example.com", "other"},
		"http://user:pw@example.com@x.test":                 {"x.test", "other"},
		"https://www.com/":                                  {"www.com", "other"},
		"https://192.0.2.7:80/":                             {"192.0.2.7", "other"},
		"https://[2001:DB8::1]:80/":                         {"2001:db8::1", "other"},
		"https://xn--bcher-kva.example/":                    {"xn--bcher-kva.example", "other"},
		"https://t.co/abc":                                  {"t.co", "social"},
		"https://l.facebook.com/l.php":                      {"l.facebook.com", "social"},
		"https://de-de.facebook.com/":                       {"de-de.facebook.com", "social"},
		"https://m.google.com/":                             {"m.google.com", "search"},
		"https://duckduckgo.com/":                           {"duckduckgo.com", "search"},
		"https://www.baidu.com/link":                        {"baidu.com", "search"},
		"https://docs.google.com/":                          {"docs.google.com", "other"},
		"https://support.google.com/":                       {"support.google.com", "other"},
		"https://mail.google.com/mail/u/0":                  {"mail.google.com", "email"},
		"https://googleads.g.doubleclick.net/x":             {"googleads.g.doubleclick.net", "paid"},
		"android-app://com.google.android.gm/":              {"com.google.android.gm", "email"},
		"android-app://org.telegram.messenger":              {"org.telegram.messenger", "social"},
		"example.com":                                       {"unknown", "unknown"},
		"about:client":                                      {"unknown", "unknown"},
		"javascript:alert(1)":                               {"unknown", "unknown"},
		"file:///etc/passwd":                                {"unknown", "unknown"},
		"https://":                                          {"unknown", "unknown"},
		"https://..":                                        {"unknown", "unknown"},
		"https://[::1/":                                     {"unknown", "unknown"},
		`"><script>alert(1)</script>`:                       {"unknown", "unknown"},
		`https://"><script>alert(1)</script>/`:              {"unknown", "unknown"},
		"=cmd|' /C calc'!A0":                                {"unknown", "unknown"},
		"https://=cmd|calc/":                                {"unknown", "unknown"},
		"https://-a.example/":                               {"unknown", "unknown"},
		"https://a\x00b.example/":                           {"unknown", "unknown"},
		"https://\xff\xfe.example/":                         {"unknown", "unknown"},
		"https://" + strings.Repeat("a.", 200) + "example/": {"unknown", "unknown"},
		"https://example.com/" + strings.Repeat("€", 3000):  {"example.com", "other"},
		"https://" + strings.Repeat("x", 8192):              {"unknown", "unknown"},
	} {
		p := r.Profile(visitor.Facts{Referrer: referrer})
		if got := [2]string{p.Referrer, p.Medium}; got != want {
			t.Errorf("%.80q is %q, want %q", referrer, got, want)
		}
	}
}

func TestLanguage(t *testing.T) {
	r := open(t, visitor.Config{})
	for header, want := range map[string]string{
		"":                           "unknown",
		"de":                         "de",
		"DE-at":                      "de",
		"en;q=0.5, fr;q=0.9, de;q=0": "fr",
		"en;q=0.8,de;q=0.8":          "en",
		"*,gsw;q=0.3":                "gsw",
		"de;q=0":                     "unknown",
		"en ; q = 0.1 , nl ;q=0.2":   "nl",
		"de;q=nan, en;q=1":           "en",
		"de;q=7":                     "de",
		"zh-Hans-CN":                 "zh",
		"i-klingon":                  "unknown",
		"<b>":                        "unknown",
		"\x00\xff,de":                "de",
		strings.Repeat("a", 8192):    "unknown",
		strings.Repeat(",", 8192):    "unknown",
	} {
		if got := r.Profile(visitor.Facts{Language: header}).Language; got != want {
			t.Errorf("%.80q is %q, want %q", header, got, want)
		}
	}
}

func TestCampaignAndMedium(t *testing.T) {
	r := open(t, visitor.Config{})
	for query, want := range map[string][2]string{
		"":                                 {"", "direct"},
		"utm_campaign=x":                   {"x", "direct"},
		"utm_campaign=a+b%26c":             {"a b&c", "direct"},
		"utm_campaign=%zz%":                {"%zz%", "direct"},
		"utm_campaign=one&utm_campaign=2":  {"one", "direct"},
		"xutm_campaign=x&utm_campaigns=y":  {"", "direct"},
		"utm_campaign":                     {"", "direct"},
		"utm_campaign=a%00b%0Ac%E2%80%AEd": {"ab cd", "direct"},
		"utm_campaign=%FF%FE":              {"\ufffd\ufffd", "direct"},
		"utm_campaign=%20%20":              {"", "direct"},
		"utm_campaign=" + strings.Repeat("%C3%A9", 300): {strings.Repeat("é", 100), "direct"},
		"utm_medium=Newsletter&utm_campaign=x":          {"x", "email"},
		"utm_medium=cpc":                                {"", "paid"},
		"utm_medium=social":                             {"", "social"},
		"utm_medium=" + strings.Repeat("x", 8192):       {"", "direct"},
		"&&&=&;utm_medium=organic&utm_medium=organic":   {"", "search"},
	} {
		p := r.Profile(visitor.Facts{Query: query})
		if got := [2]string{p.Campaign, p.Medium}; got != want {
			t.Errorf("%.80q is %q, want %q", query, got, want)
		}
	}
	p := r.Profile(visitor.Facts{Query: "utm_medium=email", Referrer: "https://www.google.com/"})
	if p.Medium != "email" || p.Referrer != "google.com" {
		t.Errorf("a tagged link from a search engine: %q from %q, want email from google.com", p.Medium, p.Referrer)
	}
}

func TestHash(t *testing.T) {
	salt, other := []byte("of today"), []byte("of tomorrow")
	v4 := netip.MustParseAddr("192.0.2.1")
	h := visitor.Hash(salt, v4, firefox)
	for name, same := range map[string]uint64{
		"again":  visitor.Hash(salt, v4, firefox),
		"mapped": visitor.Hash(salt, netip.MustParseAddr("::ffff:192.0.2.1"), firefox),
	} {
		if same != h {
			t.Errorf("%s: %x, want %x", name, same, h)
		}
	}
	seen := map[uint64]string{0: "nobody", h: "the first"}
	for name, h := range map[string]uint64{
		"another salt":    visitor.Hash(other, v4, firefox),
		"another address": visitor.Hash(salt, netip.MustParseAddr("192.0.2.2"), firefox),
		"another agent":   visitor.Hash(salt, v4, ""),
		"an IPv6 address": visitor.Hash(salt, netip.MustParseAddr("2001:db8::1"), firefox),
	} {
		if seen[h] != "" {
			t.Errorf("%s has the hash of %s", name, seen[h])
		}
		seen[h] = name
	}
	if h := visitor.Hash(salt, netip.Addr{}, firefox); h != 0 {
		t.Errorf("without an address: %x, want 0", h)
	}
	if h := visitor.Hash(nil, v4, firefox); h != 0 {
		t.Errorf("without a salt: %x, want 0", h)
	}
}
