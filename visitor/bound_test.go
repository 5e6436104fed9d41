package visitor

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestMemoryIsBounded sends a million agents, referrers and languages that are all
// different, one in sixteen of them as long as it can be.
func TestMemoryIsBounded(t *testing.T) {
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", maxUserAgent)
	send := func(from, to int) {
		for i := from; i < to; i++ {
			fill := long
			if i%16 > 0 {
				fill = ""
			}
			r.Profile(Facts{
				UserAgent: fmt.Sprintf("%x", i) + fill,
				Referrer:  fmt.Sprintf("https://h%d.example/", i) + fill,
				Language:  fmt.Sprintf("x%d", i),
			})
		}
	}
	send(0, 20_000)
	before := heap()
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	send(20_000, n)
	for name, got := range map[string][2]int{
		"agents":    {r.agents.len(), 2 * halfAgents},
		"referrers": {r.referrers.len(), 2 * halfReferrers},
		"languages": {r.languages.len(), 2 * halfLanguages},
	} {
		if got[0] > got[1] || got[0] < got[1]/2 {
			t.Errorf("%d %s are remembered, want %d to %d", got[0], name, got[1]/2, got[1])
		}
	}
	if after := heap(); after > before+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	runtime.KeepAlive(r)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMemoKeepsWhatIsAskedFor(t *testing.T) {
	m := newMemo[string](10)
	computed := 0
	get := func(key string) {
		if got := m.get(key, func(k string) string { computed++; return k + "!" }); got != key+"!" {
			t.Errorf("get(%q) = %q", key, got)
		}
	}
	for i := range 1000 {
		get("often")
		get(fmt.Sprint(i))
	}
	if computed != 1001 {
		t.Errorf("computed %d times, want 1001: each once", computed)
	}
	if n := m.len(); n > 20 {
		t.Errorf("%d are remembered, want at most 20", n)
	}
}

func TestMemoIsSafeForConcurrentUse(t *testing.T) {
	m := newMemo[int](4)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				key := strings.Repeat("a", i%20)
				if got := m.get(key, func(k string) int { return len(k) }); got != len(key) {
					t.Errorf("get(%q) = %d", key, got)
				}
			}
		})
	}
	wg.Wait()
}

// TestLiteralOfPattern: what stands in every match is what the automaton looks for.
func TestLiteralOfPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		`Googlebot\/`:        "Googlebot/",
		`[wW]get`:            "get",
		`^curl`:              "curl",
		`(^| )PTST\/`:        "PTST/",
		`S[eE][mM]rushBot`:   "rushBot",
		`(abc|de)[xy]`:       "abc de",
		`Spider[\s\S]*\.com`: "Spider",
		`Ahrefs(Bot|Site)`:   "Ahrefs",
		`x`:                  "error",
		`[ab]*`:              "error",
		`(?i)google`:         "error",
		`(`:                  "error",
		`Chirp|gotosocial`:   "Chirp gotosocial",
	} {
		parts, _, err := compile(0, pattern)
		got := strings.Join(parts, " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q needs %q, want %q", pattern, got, want)
		}
	}
}
