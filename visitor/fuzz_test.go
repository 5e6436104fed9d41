package visitor_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"snip"
	"snip/visitor"
)

// checkProfile checks what holds whatever the facts were.
func checkProfile(t *testing.T, p visitor.Profile) {
	t.Helper()
	if p.Class > snip.Unknown {
		t.Errorf("class %d", p.Class)
	}
	for field, v := range map[string]struct {
		text  string
		most  int
		empty bool
	}{
		"browser": {p.Browser, 32, false}, "os": {p.OS, 32, false}, "device": {p.Device, 8, false},
		"referrer": {p.Referrer, 253, true}, "medium": {p.Medium, 8, false}, "language": {p.Language, 7, false},
		"country": {p.Country, 7, false}, "region": {p.Region, 7, false}, "campaign": {p.Campaign, 100, true},
	} {
		if n := utf8.RuneCountInString(v.text); n > v.most || n == 0 && !v.empty {
			t.Errorf("%s has %d characters: %q", field, n, v.text)
		}
		if !utf8.ValidString(v.text) || strings.ContainsFunc(v.text, unicode.IsControl) {
			t.Errorf("%s is %q", field, v.text)
		}
	}
	if (p.Referrer == "") && p.Medium == "other" {
		t.Errorf("no referrer, and medium %q", p.Medium)
	}
}

func FuzzProfile(f *testing.F) {
	r := open(f, visitor.Config{})
	f.Add(firefox, "https://www.google.com/", "de,en;q=0.5", "utm_campaign=x&utm_medium=email", "prefetch")
	f.Add("", "", "", "", "")
	f.Add("\x00\xff", "https://[::1%25\x00]/", ",;q=,*;q=1e9", "utm_campaign=%", "\xff")
	f.Add(strings.Repeat("Mozilla/5.0 (", 700), "https://"+strings.Repeat("é", 4096), strings.Repeat(";q=1,", 1700),
		"utm_campaign="+strings.Repeat("%F0%9F%98%80", 700), strings.Repeat("Prefetch;", 900))
	f.Add("<script>", `"><script>`, "<b>", "utm_campaign=<script>", "<i>")
	f.Add("Mozilla/5.0 (X11; de-DE", "android-app://", "é", "utm_medium", "prerender")
	f.Fuzz(func(t *testing.T, agent, referrer, language, query, purpose string) {
		facts := visitor.Facts{UserAgent: agent, Referrer: referrer, Language: language, Query: query, Purpose: purpose}
		p := r.Profile(facts)
		checkProfile(t, p)
		if again := r.Profile(facts); again != p {
			t.Errorf("first %+v, then %+v", p, again)
		}
	})
}

func TestConcurrentProfiles(t *testing.T) {
	r := open(t, visitor.Config{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				p := r.Profile(visitor.Facts{UserAgent: firefox, Referrer: fmt.Sprintf("https://h%d.test/", (w*i)%50)})
				if p.Browser != "Firefox" || p.Referrer != fmt.Sprintf("h%d.test", (w*i)%50) {
					t.Errorf("profile %+v", p)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRepeating: a thousand agents, as many referrers, some languages.
func BenchmarkRepeating(b *testing.B) {
	r := open(b, visitor.Config{})
	facts := make([]visitor.Facts, 1000)
	for i := range facts {
		facts[i] = manyFacts(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Profile(facts[i%len(facts)])
	}
}

// BenchmarkNew: every agent and every referrer is seen for the first time.
func BenchmarkNew(b *testing.B) {
	r := open(b, visitor.Config{})
	facts := make([]visitor.Facts, 100_000) // More than are remembered.
	for i := range facts {
		facts[i] = manyFacts(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Profile(facts[i%len(facts)])
	}
}

func BenchmarkHash(b *testing.B) {
	salt, address := make([]byte, 32), netip.MustParseAddr("192.0.2.1")
	for b.Loop() {
		visitor.Hash(salt, address, firefox)
	}
}

func manyFacts(i int) visitor.Facts {
	return visitor.Facts{
		Address:   netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
		UserAgent: fmt.Sprintf("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.%d.0 Safari/537.36", i),
		Referrer:  fmt.Sprintf("https://www.example.com/page/%d", i),
		Language:  fmt.Sprintf("de,en;q=0.%d", 1+i%9),
		Query:     "utm_campaign=spring",
	}
}
