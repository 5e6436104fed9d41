package snip_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"snip"
)

func TestRulesFit(t *testing.T) {
	phone := snip.Visitor{Device: "phone", OS: "iOS", Country: "DE", Language: "de-at"}
	parameters := func(name string, values ...string) snip.Conditions {
		return snip.Conditions{Query: map[string][]string{name: values}}
	}
	tests := []struct {
		name  string
		when  snip.Conditions
		visit snip.Visit
		want  bool
	}{
		{"everybody", snip.Conditions{}, snip.Visit{}, true},
		{"device", snip.Conditions{Devices: []string{"tablet", "Phone"}}, snip.Visit{Visitor: phone}, true},
		{"another device", snip.Conditions{Devices: []string{"tablet"}}, snip.Visit{Visitor: phone}, false},
		{"no device known", snip.Conditions{Devices: snip.Devices()}, snip.Visit{Visitor: snip.Visitor{Device: "unknown"}}, false},
		{"system, case does not matter", snip.Conditions{Systems: []string{"ios"}}, snip.Visit{Visitor: phone}, true},
		{"another system", snip.Conditions{Systems: []string{"Android"}}, snip.Visit{Visitor: phone}, false},
		{"country", snip.Conditions{Countries: []string{"at", "de"}}, snip.Visit{Visitor: phone}, true},
		{"another country", snip.Conditions{Countries: []string{"AT"}}, snip.Visit{Visitor: phone}, false},
		{"language in general", snip.Conditions{Languages: []string{"DE"}}, snip.Visit{Visitor: phone}, true},
		{"language exactly", snip.Conditions{Languages: []string{"en", "de-AT"}}, snip.Visit{Visitor: phone}, true},
		{"language of another country", snip.Conditions{Languages: []string{"de-CH"}}, snip.Visit{Visitor: phone}, false},
		{"language, longer", snip.Conditions{Languages: []string{"de-AT-1996"}}, snip.Visit{Visitor: phone}, false},
		{"language that begins alike", snip.Conditions{Languages: []string{"de"}}, snip.Visit{Visitor: snip.Visitor{Language: "del"}}, false},
		{"no language", snip.Conditions{Languages: []string{"de"}}, snip.Visit{}, false},
		{"all of several", snip.Conditions{Devices: []string{"phone"}, Countries: []string{"DE"}, Systems: []string{"iOS"}}, snip.Visit{Visitor: phone}, true},
		{"not all of several", snip.Conditions{Devices: []string{"phone"}, Countries: []string{"FR"}}, snip.Visit{Visitor: phone}, false},
		{"parameter with any value", parameters("a"), snip.Visit{Query: "b=1&a=2"}, true},
		{"parameter without value", parameters("a"), snip.Visit{Query: "a"}, true},
		{"no such parameter", parameters("a"), snip.Visit{Query: "aa=1&A=2&=a"}, false},
		{"no query", parameters("a"), snip.Visit{}, false},
		{"parameter with a value", parameters("a", "1", "2"), snip.Visit{Query: "a=2"}, true},
		{"parameter with another value", parameters("a", "1", "2"), snip.Visit{Query: "a=12"}, false},
		{"parameter that comes again", parameters("a", "2"), snip.Visit{Query: "a=1&b&a=2"}, true},
		{"parameter, encoded", parameters("a b", "c+ü"), snip.Visit{Query: "a+b=c%2B%c3%BC"}, true},
		{"parameter with an empty value", parameters("a", ""), snip.Visit{Query: "a="}, true},
		{"two parameters", snip.Conditions{Query: map[string][]string{"a": {"1"}, "b": nil}}, snip.Visit{Query: "b&a=1"}, true},
		{"one of two parameters", snip.Conditions{Query: map[string][]string{"a": {"1"}, "b": nil}}, snip.Visit{Query: "a=1"}, false},
		{"from now on", snip.Conditions{From: noon}, snip.Visit{}, true},
		{"from later on", snip.Conditions{From: noon.Add(1)}, snip.Visit{}, false},
		{"until now", snip.Conditions{Until: noon}, snip.Visit{}, false},
		{"until later, in another zone", snip.Conditions{Until: noon.Add(1).In(time.FixedZone("", 3600))}, snip.Visit{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := route(t, snip.Link{Settings: snip.Settings{Target: target, Rules: []snip.Rule{{When: test.when, Target: "https://rule.example/"}}}}, "")
			test.visit.Method = "GET"
			d := snip.Decide(r, test.visit, noon)
			want := snip.Decision{Status: 307, Location: target, Outcome: snip.OutcomeRedirect, Count: true}
			if test.want {
				want.Location, want.Arm = "https://rule.example/", "rule 1"
			}
			if d != want {
				t.Errorf("Decide = %+v, want %+v", d, want)
			}
		})
	}
}

func TestFirstRuleThatFitsDecides(t *testing.T) {
	r := route(t, snip.Link{Settings: snip.Settings{Target: target, Rules: []snip.Rule{
		{When: snip.Conditions{Countries: []string{"DE"}}, Target: "https://1.example/"},
		{Name: "phones", When: snip.Conditions{Devices: []string{"phone"}}, Target: "https://2.example/"},
		{Target: "https://3.example/"},
	}}}, "")
	for _, test := range []struct {
		visitor       snip.Visitor
		location, arm string
	}{
		{snip.Visitor{Country: "DE", Device: "phone"}, "https://1.example/", "rule 1"},
		{snip.Visitor{Country: "AT", Device: "phone"}, "https://2.example/", "phones"},
		{snip.Visitor{Country: "AT"}, "https://3.example/", "rule 3"},
	} {
		if d := snip.Decide(r, snip.Visit{Method: "GET", Visitor: test.visitor}, noon); d.Location != test.location || d.Arm != test.arm {
			t.Errorf("Decide for %+v = %+v, want %s by %q", test.visitor, d, test.location, test.arm)
		}
	}
}

// TestSplitSharesVisitorsOut says of any split: an arm gets its share of visitors, one
// of weight 0 nobody, and each visitor comes to the same one again, whatever else of the
// link is changed.
func TestSplitSharesVisitorsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 5).Draw(t, "weights")
		scale := rapid.SampledFrom([]int{1, 7, 200_000}).Draw(t, "scale")
		sum := 0
		var arms []snip.Arm
		for i, w := range weights {
			sum += w
			arms = append(arms, snip.Arm{Target: "https://e.example/" + strings.Repeat("x", i), Weight: w * scale})
		}
		if sum == 0 {
			t.Skip("no weight")
		}
		l := snip.Link{ID: rapid.Int64Range(1, 1<<40).Draw(t, "id"), Settings: snip.Settings{Target: target, Rules: []snip.Rule{{Split: arms}}}}
		r := route(t, l, "")
		l.Title, l.Query, l.Campaign = "T", snip.QueryKeep, snip.Campaign{Source: "s"}
		l.Rules = []snip.Rule{{When: snip.Conditions{Countries: []string{"DE"}}, Target: target}, {Name: "named", Split: arms}}
		changed := route(t, l, "")

		const visitors = 2000
		got := map[string]int{}
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range uint64(visitors) {
			// Numbers in a row are the worst that hashes can be.
			v := snip.Visit{Method: "GET", Visitor: snip.Visitor{Hash: seed + i}}
			arm := snip.Decide(r, v, noon).Arm
			got[arm]++
			if again := snip.Decide(changed, v, noon).Arm; strings.TrimPrefix(again, "named/") != strings.TrimPrefix(arm, "rule 1/") {
				t.Fatalf("visitor %d came to %q first and to %q then", v.Visitor.Hash, arm, again)
			}
		}
		for i, w := range weights {
			name := "rule 1/arm " + string(rune('1'+i))
			share := float64(w) / float64(sum)
			// Six standard deviations: once in a thousand million.
			if most := 6 * math.Sqrt(visitors*share*(1-share)); math.Abs(float64(got[name])-visitors*share) > most {
				t.Fatalf("%q got %d of %d visitors for weight %d of %d", name, got[name], visitors, w, sum)
			}
		}
	})
}

// TestSplitsAreIndependent: who comes to the first arm of one link, or of one rule, is as
// likely as anybody to come to the first arm of another.
func TestSplitsAreIndependent(t *testing.T) {
	halves := func(host string) []snip.Arm {
		return []snip.Arm{{Target: "https://" + host + "/1", Weight: 1}, {Target: "https://" + host + "/2", Weight: 1}}
	}
	link := func(id int64, host string) *snip.Route {
		return route(t, snip.Link{ID: id, Settings: snip.Settings{Target: target, Rules: []snip.Rule{{Split: halves(host)}}}}, "")
	}
	for name, pair := range map[string][2]*snip.Route{
		"links": {link(1, "a.example"), link(2, "a.example")},
		"rules": {link(1, "a.example"), link(1, "b.example")},
	} {
		t.Run(name, func(t *testing.T) {
			same := 0
			for i := range uint64(10_000) {
				v := snip.Visit{Method: "GET", Visitor: snip.Visitor{Hash: i}}
				if snip.Decide(pair[0], v, noon).Arm == snip.Decide(pair[1], v, noon).Arm {
					same++
				}
			}
			if same < 4700 || same > 5300 { // Six standard deviations.
				t.Errorf("%d of 10000 visitors came to the same arm of both, want about half", same)
			}
		})
	}
}

// TestMoreWeightMovesFew: who tries an arm with more visitors keeps those it had.
func TestMoreWeightMovesFew(t *testing.T) {
	split := func(first, second int) *snip.Route {
		return route(t, snip.Link{ID: 1, Settings: snip.Settings{Target: target, Rules: []snip.Rule{{Split: []snip.Arm{
			{Name: "new", Target: "https://a.example/", Weight: first}, {Name: "old", Target: "https://b.example/", Weight: second},
		}}}}}, "")
	}
	before, after := split(10, 90), split(20, 80)
	for i := range uint64(10_000) {
		v := snip.Visit{Method: "GET", Visitor: snip.Visitor{Hash: i}}
		if snip.Decide(before, v, noon).Arm == "rule 1/new" && snip.Decide(after, v, noon).Arm != "rule 1/new" {
			t.Fatalf("visitor %d was taken from the arm that got more weight", i)
		}
	}
}
