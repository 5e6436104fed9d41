package web_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"snip/web"
)

func proxies(tb testing.TB, list ...string) web.Proxies {
	tb.Helper()
	p, err := web.ParseProxies(list)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// L25: the visitor's address, through proxies and forgeries.
func TestClientAddress(t *testing.T) {
	behind := proxies(t, "10.0.0.0/8", "::1")
	for name, c := range map[string]struct {
		remote string
		header http.Header
		want   string
	}{
		"no proxy":                {"192.0.2.7:4000", nil, "192.0.2.7"},
		"no proxy, forged":        {"192.0.2.7:4000", http.Header{"X-Forwarded-For": {"8.8.8.8"}}, "192.0.2.7"},
		"two proxies":             {"10.0.0.1:4000", http.Header{"X-Forwarded-For": {"192.0.2.7, 10.0.0.2"}}, "192.0.2.7"},
		"forged left entry":       {"10.0.0.1:4000", http.Header{"X-Forwarded-For": {"8.8.8.8, 192.0.2.7"}}, "192.0.2.7"},
		"two lines":               {"10.0.0.1:4000", http.Header{"X-Forwarded-For": {"8.8.8.8", "192.0.2.7,10.0.0.2"}}, "192.0.2.7"},
		"with a port":             {"10.0.0.1:4000", http.Header{"X-Forwarded-For": {"1.2.3.4:5678"}}, "1.2.3.4"},
		"IPv6 with a port":        {"[::1]:80", http.Header{"X-Forwarded-For": {"[2001:db8::1]:80"}}, "2001:db8::1"},
		"IPv6 with a zone":        {"[fe80::1%eth0]:80", nil, "fe80::1"},
		"mapped IPv4":             {"[::ffff:10.0.0.1]:80", http.Header{"X-Forwarded-For": {"::ffff:192.0.2.7"}}, "192.0.2.7"},
		"only proxies":            {"10.0.0.1:80", http.Header{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, "10.0.0.3"},
		"garbage":                 {"10.0.0.1:80", http.Header{"X-Forwarded-For": {"192.0.2.7, unknown"}}, "10.0.0.1"},
		"garbage behind a proxy":  {"10.0.0.1:80", http.Header{"X-Forwarded-For": {"<script>, 10.0.0.2"}}, "10.0.0.2"},
		"empty header":            {"10.0.0.1:80", http.Header{"X-Forwarded-For": {""}}, "10.0.0.1"},
		"Forwarded":               {"10.0.0.1:80", http.Header{"Forwarded": {`for=8.8.8.8, For="[2001:db8::17]:4711";proto=https`}}, "2001:db8::17"},
		"Forwarded, obfuscated":   {"10.0.0.1:80", http.Header{"Forwarded": {"for=_hidden, for=10.0.0.2"}}, "10.0.0.2"},
		"both say the same":       {"10.0.0.1:80", http.Header{"Forwarded": {"for=192.0.2.7"}, "X-Forwarded-For": {"8.8.8.8, 192.0.2.7"}}, "192.0.2.7"},
		"one passed on as forged": {"10.0.0.1:80", http.Header{"Forwarded": {"for=8.8.8.8"}, "X-Forwarded-For": {"192.0.2.7"}}, "10.0.0.1"},
		"no address at all":       {"", nil, "invalid IP"},
		"a socket":                {"@", http.Header{"X-Forwarded-For": {"192.0.2.7"}}, "invalid IP"},
	} {
		if got := behind.Client(c.remote, c.header); got.String() != c.want {
			t.Errorf("%s: Client() = %v, want %s", name, got, c.want)
		}
	}
}

func TestMappedProxiesAreIPv4(t *testing.T) {
	for _, proxy := range []string{"::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "10.0.0.1", " 10.0.0.1/8 "} {
		got := proxies(t, proxy).Client("10.0.0.1:80", http.Header{"X-Forwarded-For": {"192.0.2.7"}})
		if got != netip.MustParseAddr("192.0.2.7") {
			t.Errorf("with proxy %q: %v", proxy, got)
		}
	}
}

func TestForgedChainIsNotFollowedForEver(t *testing.T) {
	behind := proxies(t, "10.0.0.0/8")
	lines := make([]string, 100)
	for i := range lines {
		lines[i] = strings.Repeat(fmt.Sprintf("10.0.0.%d, ", i), 50) + "10.0.0.1"
	}
	lines[0] = "8.8.8.8"
	if got := behind.Client("10.0.0.1:80", http.Header{"X-Forwarded-For": lines}); got == netip.MustParseAddr("8.8.8.8") {
		t.Errorf("Client() = %v, the far end of a chain of thousands", got)
	}
}

func TestParseProxiesNamesTheWrongOne(t *testing.T) {
	_, err := web.ParseProxies([]string{"10.0.0.0/8", "proxy.example"})
	if err == nil || !strings.Contains(err.Error(), "proxy.example") {
		t.Errorf("ParseProxies() = %v, want an error that names proxy.example", err)
	}
}

func TestClientWithoutProxiesDoesNotAllocate(t *testing.T) {
	var nobody web.Proxies
	h := http.Header{"X-Forwarded-For": {"8.8.8.8"}}
	if n := testing.AllocsPerRun(100, func() { nobody.Client("192.0.2.7:4000", h) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzClient(f *testing.F) {
	f.Add("10.0.0.1:80", "192.0.2.7, 10.0.0.2", `for="[::1]:80"`)
	f.Fuzz(func(t *testing.T, remote, xff, forwarded string) {
		p := proxies(t, "10.0.0.0/8")
		direct := p.Client(remote, nil)
		got := p.Client(remote, http.Header{"X-Forwarded-For": {xff}, "Forwarded": {forwarded}})
		if !netip.MustParsePrefix("10.0.0.0/8").Contains(direct) && got != direct {
			t.Fatalf("a stranger's headers were believed: %v, not %v", got, direct)
		}
		if got.Zone() != "" || got.Is4In6() {
			t.Fatalf("%v has a zone, or is a mapped one", got)
		}
	})
}
