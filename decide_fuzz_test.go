package snip_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"

	"snip"
)

// FuzzDecide looks for a visit that is answered in a way there is not, or sent to
// another place than whoever made the link chose.
func FuzzDecide(f *testing.F) {
	const rule = "https://rule.example/#r"
	f.Add(uint16(0), "https://example.com/", "", "", "GET", "", int64(0), uint64(0))
	f.Add(uint16(0xffff), "https://example.com?a=1#b", "/more/%2e", "a=2&b", "HEAD", "DE", int64(1), uint64(1))
	f.Add(uint16(1|3<<1|8|16), "http://example.com", "//evil.example", "?#", "GET", "de", int64(-1), uint64(1<<63))
	f.Add(uint16(32|64|128), "tel:+1", `/\..`, "%", "POST", "", int64(5), uint64(7))
	f.Fuzz(func(t *testing.T, flags uint16, address, rest, query, method, word string, at int64, hash uint64) {
		flag := func(bit int) bool { return flags>>bit&1 == 1 }
		s := snip.Settings{
			Target: address, Query: []snip.QueryPolicy{"", snip.QueryKeep, snip.QueryOverride, snip.QueryAppend}[flags>>1&3], ForwardPath: flag(3),
		}
		if flag(4) {
			s.Rules = []snip.Rule{{When: snip.Conditions{Query: lists{word: nil}}, Target: rule}, {Split: []snip.Arm{{Target: rule, Weight: 1}, {Target: rule, Weight: 2}}}}
		}
		if flag(5) {
			s.ClickLimit = 1
		}
		if flag(6) {
			s.Fallback = "https://fallback.example/"
		}
		if flag(7) {
			s.ExpiresAt = noon
		}
		if flag(8) {
			s.StartsAt = noon.Add(-1)
		}
		if s.Check(snip.Rules{}) != nil {
			return
		}
		password := ""
		if flag(9) {
			password = "hash"
		}
		r := route(t, snip.Link{ID: int64(hash), Settings: s}, password)
		if !flag(0) {
			r = nil
		}
		v := snip.Visit{
			Method: method, Preview: flag(10), Rest: rest, Query: query, Unlocked: flag(11), UsedUp: flag(12),
			Visitor: snip.Visitor{Class: snip.Class(flags >> 13), Country: word, Language: word, Device: word, OS: word, Hash: hash},
		}
		now := noon.Add(time.Duration(at))
		d := snip.Decide(r, v, now)
		if again := snip.Decide(r, v, now); d != again {
			t.Errorf("Decide = %+v, then %+v", d, again)
		}

		status := map[snip.Outcome]int{
			snip.OutcomePreview: 200, snip.OutcomeNotFound: 404, snip.OutcomeGone: 410, snip.OutcomeOptions: 204,
			snip.OutcomeMethod: 405, snip.OutcomePassword: 403,
		}[d.Outcome]
		if d.Outcome != snip.OutcomeRedirect {
			plain := snip.Decision{Status: status, Outcome: d.Outcome, Hidden: d.Hidden}
			if d != plain || status == 0 || d.Hidden && d.Outcome != snip.OutcomePreview {
				t.Errorf("Decide = %+v", d)
			}
			return
		}
		switch {
		case d.Status != 307 && (d.Status != 303 || method != "POST"):
			t.Errorf("status %d for %s", d.Status, method)
		case d.Count != (method != "HEAD"), !slices.Contains([]string{"GET", "HEAD", "POST"}, method):
			t.Errorf("counted: %v for %s", d.Count, method)
		case r == nil, v.Preview, !r.Started(now), password != "" && !v.Unlocked && d.Arm != "fallback":
			t.Errorf("sent on: %+v for %+v", d, v)
		case (r.Expired(now) || v.UsedUp) != (d.Arm == "fallback"):
			t.Errorf("arm %q, expired %v, used up %v", d.Arm, r.Expired(now), v.UsedUp)
		case (d.Limit != snip.LimitNone) != (s.ClickLimit > 0 && d.Arm != "fallback"):
			t.Errorf("limit %d of %d", d.Limit, s.ClickLimit)
		}
		chosen := address
		switch {
		case d.Arm == "fallback":
			chosen = s.Fallback
		case d.Arm != "":
			chosen = rule
		}
		leadsAway(t, chosen, d.Location)
	})
}

// leadsAway fails if a browser reads in a location another host or fragment than in the
// target, or a path that is not below the target's, or if no header can hold what was
// added.
func leadsAway(t *testing.T, target, location string) {
	t.Helper()
	if isPlain(target) && !isPlain(location) {
		t.Errorf("%q became %q", target, location)
	}
	want, err := whatwg.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	got, err := whatwg.Parse(location)
	if err != nil {
		t.Fatalf("browsers cannot read %q, made of %q: %v", location, target, err)
	}
	if got.Protocol() != want.Protocol() || got.Host() != want.Host() || got.Username() != want.Username() || got.Hash() != want.Hash() ||
		!strings.HasPrefix(got.Pathname(), strings.TrimSuffix(want.Pathname(), "/")) {
		t.Errorf("%q became %q", target, location)
	}
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c >= 0x7f })
}

// TestDecideNeverPanics goes where Check keeps links away from, too: a store may have
// been written by another version.
func TestDecideNeverPanics(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("abc/%.&=?#+ü2eE")), 0, 12, -1)
	words := rapid.SliceOfN(text, 0, 3)
	address := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"https://example.com", "http://e/", "tel:", "", "x"}).Draw(t, "base") + text.Draw(t, "rest")
	})
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return rapid.SampledFrom([]time.Time{{}, noon.Add(-1), noon, noon.Add(1)}).Draw(t, "moment")
	})
	rule := rapid.Custom(func(t *rapid.T) snip.Rule {
		r := snip.Rule{Name: text.Draw(t, "name"), Target: address.Draw(t, "url")}
		r.When = snip.Conditions{
			Devices: words.Draw(t, "devices"), Systems: words.Draw(t, "systems"), Languages: words.Draw(t, "languages"), Countries: words.Draw(t, "countries"),
			Query: rapid.MapOfN(text, words, 0, 2).Draw(t, "query"), From: moment.Draw(t, "from"), Until: moment.Draw(t, "until"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "arms") {
			r.Split = append(r.Split, snip.Arm{Target: address.Draw(t, "arm"), Weight: rapid.IntRange(0, 2).Draw(t, "weight")})
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		l := snip.Link{ID: rapid.Int64().Draw(t, "id"), Settings: snip.Settings{
			Target: address.Draw(t, "target"), Fallback: address.Draw(t, "fallback"), StartsAt: moment.Draw(t, "start"), ExpiresAt: moment.Draw(t, "end"),
			ClickLimit: rapid.Int64Range(-1, 1).Draw(t, "limit"), Query: rapid.SampledFrom([]snip.QueryPolicy{"", "keep", "override", "append", "x"}).Draw(t, "policy"),
			ForwardPath: rapid.Bool().Draw(t, "path"), Rules: rapid.SliceOfN(rule, 0, 3).Draw(t, "rules"), Campaign: snip.Campaign{Source: text.Draw(t, "source")},
		}}
		_ = l.Check(snip.Rules{}) // Whatever it says, it must say it.
		r, err := l.Route(text.Draw(t, "asked"), text.Draw(t, "password"))
		if err != nil {
			return
		}
		d := snip.Decide(&r, snip.Visit{
			Method:  rapid.SampledFrom([]string{"GET", "HEAD", "POST", ""}).Draw(t, "method"),
			Preview: rapid.Bool().Draw(t, "preview"), Unlocked: rapid.Bool().Draw(t, "unlocked"), UsedUp: rapid.Bool().Draw(t, "used up"),
			Rest: text.Draw(t, "more"), Query: text.Draw(t, "parameters"),
			Visitor: snip.Visitor{Device: text.Draw(t, "device"), Language: text.Draw(t, "language"), Hash: rapid.Uint64().Draw(t, "hash")},
		}, noon)
		if d.Status == 0 || d.Outcome == "" {
			t.Fatalf("Decide = %+v", d)
		}
	})
}
