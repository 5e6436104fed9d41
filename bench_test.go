package snip_test

import (
	"testing"

	"snip"
)

// BenchmarkDecide compares a link with five rules, of which none but the last fits, to
// a plain one.
func BenchmarkDecide(b *testing.B) {
	plain := snip.Settings{Target: "https://example.com/page?x=1#y"}
	rules := plain
	rules.Rules = []snip.Rule{
		{When: snip.Conditions{Devices: []string{"tablet", "tv"}}, Target: "https://example.com/1"},
		{When: snip.Conditions{Systems: []string{"iOS", "macOS"}}, Target: "https://example.com/2"},
		{When: snip.Conditions{Languages: []string{"fr", "pt-BR"}, Countries: []string{"FR", "BR"}}, Target: "https://example.com/3"},
		{When: snip.Conditions{Query: map[string][]string{"from": {"mail"}}, From: noon}, Target: "https://example.com/4"},
		{Split: []snip.Arm{{Target: "https://example.com/a", Weight: 1}, {Target: "https://example.com/b", Weight: 2}}},
	}
	forwarding := plain
	forwarding.Query = snip.QueryKeep
	visit := snip.Visit{
		Method: "GET", Query: "utm_source=x&from=web",
		Visitor: snip.Visitor{Device: "phone", OS: "Android", Country: "DE", Language: "de-de", Hash: 0x9e3779b97f4a7c15},
	}
	for _, bench := range []struct {
		name     string
		settings snip.Settings
	}{{"plain", plain}, {"rules", rules}, {"forwarding", forwarding}} {
		b.Run(bench.name, func(b *testing.B) {
			r := route(b, snip.Link{ID: 1, Settings: bench.settings}, "")
			b.ReportAllocs()
			for b.Loop() {
				if d := snip.Decide(r, visit, noon); d.Status != 307 {
					b.Fatal(d)
				}
			}
		})
	}
}

func TestPlainDecisionsAllocateNothing(t *testing.T) {
	r := route(t, snip.Link{ID: 1, Settings: snip.Settings{Target: target}}, "")
	v := snip.Visit{Method: "GET", Query: "a=b", Visitor: snip.Visitor{Device: "phone"}}
	if n := testing.AllocsPerRun(100, func() { snip.Decide(r, v, noon) }); n != 0 {
		t.Errorf("Decide allocates %v times for a plain link", n)
	}
}

func BenchmarkCheckNewLink(b *testing.B) {
	n := snip.NewLink{Settings: snip.Settings{Target: "https://example.com/page?x=1#y", Title: "A page", Tags: []string{"a", "b"}}}
	rules := snip.Rules{Own: own}
	for b.Loop() {
		if err := n.Check(noon, rules); err != nil {
			b.Fatal(err)
		}
	}
}
