package snip_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snip"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const target = "https://example.com/?a+b"

func TestDecide(t *testing.T) {
	link := func(change func(*snip.Settings)) *snip.Route {
		l := snip.Link{ID: 1, Code: "abc", Settings: snip.Settings{Target: target}}
		if change != nil {
			change(&l.Settings)
		}
		return route(t, l, "")
	}
	until := func(at time.Time) *snip.Route { return link(func(s *snip.Settings) { s.ExpiresAt = at }) }
	from := func(at time.Time) *snip.Route { return link(func(s *snip.Settings) { s.StartsAt = at }) }
	instead := func(at time.Time) *snip.Route {
		return link(func(s *snip.Settings) { s.ExpiresAt, s.Fallback, s.Status = at, "https://example.org/late", 301 })
	}
	forever := link(nil)
	limited := link(func(s *snip.Settings) { s.ClickLimit = 5 })
	limitedInstead := link(func(s *snip.Settings) { s.ClickLimit, s.Fallback = 5, "https://example.org/late" })
	locked := route(t, snip.Link{ID: 1, Settings: snip.Settings{Target: target, Status: 301}}, "$argon2id$…")
	lockedLimited := route(t, snip.Link{ID: 1, Settings: snip.Settings{Target: target, ClickLimit: 1, Fallback: "https://example.org/late"}}, "$argon2id$…")

	sent := snip.Decision{Status: 307, Location: target, Outcome: snip.OutcomeRedirect, Count: true}
	uncounted := sent
	uncounted.Count = false
	with := func(d snip.Decision, change func(*snip.Decision)) snip.Decision { change(&d); return d }
	gone := snip.Decision{Status: 410, Outcome: snip.OutcomeGone}
	unknown := snip.Decision{Status: 404, Outcome: snip.OutcomeNotFound}
	options := snip.Decision{Status: 204, Outcome: snip.OutcomeOptions}
	refused := snip.Decision{Status: 405, Outcome: snip.OutcomeMethod}
	preview := snip.Decision{Status: 200, Outcome: snip.OutcomePreview}
	hidden := snip.Decision{Status: 200, Outcome: snip.OutcomePreview, Hidden: true}
	asked := snip.Decision{Status: 403, Outcome: snip.OutcomePassword}
	late := snip.Decision{Status: 307, Location: "https://example.org/late", Outcome: snip.OutcomeRedirect, Count: true, Arm: "fallback"}
	take := with(sent, func(d *snip.Decision) { d.Limit = snip.LimitTake })
	peek := with(sent, func(d *snip.Decision) { d.Limit = snip.LimitPeek })
	of := func(c snip.Class) snip.Visit { return snip.Visit{Method: "GET", Visitor: snip.Visitor{Class: c}} }

	tests := []struct {
		name  string
		route *snip.Route
		visit snip.Visit
		want  snip.Decision
	}{
		{"GET", forever, snip.Visit{Method: "GET"}, sent},
		{"L15 HEAD is no click", forever, snip.Visit{Method: "HEAD"}, uncounted},
		{"L15 OPTIONS", forever, snip.Visit{Method: "OPTIONS"}, options},
		{"L15 OPTIONS on an unknown code", nil, snip.Visit{Method: "OPTIONS"}, options},
		{"POST", forever, snip.Visit{Method: "POST"}, refused},
		{"POST to an unknown code", nil, snip.Visit{Method: "POST"}, refused},
		{"lower case is another method", forever, snip.Visit{Method: "get"}, refused},
		{"no method", forever, snip.Visit{}, refused},
		{"unknown", nil, snip.Visit{Method: "GET"}, unknown},
		{"unknown preview", nil, snip.Visit{Method: "GET", Preview: true}, unknown},
		{"preview is no click", forever, snip.Visit{Method: "GET", Preview: true}, preview},
		{"preview by HEAD", forever, snip.Visit{Method: "HEAD", Preview: true}, preview},
		{"the query is left where nobody asked for it", forever, snip.Visit{Method: "GET", Query: "c=d"}, sent},
		{"slash", forever, snip.Visit{Method: "GET", Rest: "/"}, sent},
		{"more path", forever, snip.Visit{Method: "GET", Rest: "/x"}, unknown},
		{"two slashes", forever, snip.Visit{Method: "GET", Rest: "//"}, unknown},
		{"more path, preview", forever, snip.Visit{Method: "GET", Rest: "/x", Preview: true}, unknown},
		{"status", link(func(s *snip.Settings) { s.Status = 308 }), snip.Visit{Method: "GET"}, with(sent, func(d *snip.Decision) { d.Status = 308 })},

		{"L35 expired", until(noon.Add(-time.Hour)), snip.Visit{Method: "GET"}, gone},
		{"expired this moment", until(noon), snip.Visit{Method: "HEAD"}, gone},
		{"expired preview", until(noon), snip.Visit{Method: "GET", Preview: true}, gone},
		{"not quite expired", until(noon.Add(1)), snip.Visit{Method: "GET"}, sent},
		{"expired, fallback", instead(noon), snip.Visit{Method: "GET"}, with(late, func(d *snip.Decision) { d.Status = 301 })},
		{"expired, fallback, HEAD", instead(noon), snip.Visit{Method: "HEAD"}, with(late, func(d *snip.Decision) { d.Status, d.Count = 301, false })},
		{"expired, fallback, preview", instead(noon), snip.Visit{Method: "GET", Preview: true}, gone},
		{"fallback, not yet", instead(noon.Add(1)), snip.Visit{Method: "GET"}, with(sent, func(d *snip.Decision) { d.Status = 301 })},
		{"not yet", from(noon.Add(1)), snip.Visit{Method: "GET"}, unknown},
		{"not yet, preview", from(noon.Add(1)), snip.Visit{Method: "GET", Preview: true}, unknown},
		{"from now on", from(noon), snip.Visit{Method: "GET"}, sent},

		{"limit", limited, of(snip.Human), take},
		{"limit, nobody can tell who", limited, of(snip.Unknown), take},
		{"L17 limit, bot", limited, of(snip.Bot), peek},
		{"L17 limit, preview by a messenger", limited, of(snip.Preview), peek},
		{"L17 limit, prefetch", limited, of(snip.Prefetch), peek},
		{"limit, HEAD", limited, snip.Visit{Method: "HEAD"}, with(peek, func(d *snip.Decision) { d.Count = false })},
		{"limit, preview", limited, snip.Visit{Method: "GET", Preview: true}, hidden},
		{"used up", limited, snip.Visit{Method: "GET", UsedUp: true}, gone},
		{"used up, preview", limitedInstead, snip.Visit{Method: "GET", UsedUp: true, Preview: true}, gone},
		{"used up, fallback", limitedInstead, snip.Visit{Method: "GET", UsedUp: true}, late},

		{"password", locked, snip.Visit{Method: "GET"}, asked},
		{"password, HEAD", locked, snip.Visit{Method: "HEAD"}, asked},
		{"password, OPTIONS", locked, snip.Visit{Method: "OPTIONS"}, options},
		{"password, preview", locked, snip.Visit{Method: "GET", Preview: true}, hidden},
		{"password, POST without it", locked, snip.Visit{Method: "POST"}, refused},
		{"password given", locked, snip.Visit{Method: "POST", Unlocked: true}, with(sent, func(d *snip.Decision) { d.Status = 303 })},
		{"password given to a preview", locked, snip.Visit{Method: "POST", Unlocked: true, Preview: true}, refused},
		{"password given to a link without", forever, snip.Visit{Method: "POST", Unlocked: true}, refused},
		{"a limit asks for the password first", lockedLimited, snip.Visit{Method: "GET"}, asked},
		{"password given, limit", lockedLimited, snip.Visit{Method: "POST", Unlocked: true}, with(take, func(d *snip.Decision) { d.Status = 303 })},
		{"password given, used up", lockedLimited, snip.Visit{Method: "POST", Unlocked: true, UsedUp: true}, with(late, func(d *snip.Decision) { d.Status = 303 })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, snip.Decide(test.route, test.visit, noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRouteOfPlainLink(t *testing.T) {
	l := snip.Link{ID: 7, Code: "abc", Settings: snip.Settings{
		Target: "http://www.tübingen.de/ü", StartsAt: noon, ExpiresAt: noon.Add(1), Title: "T", Note: "N", Tags: []string{"t"},
	}}
	got, err := l.Route("abc", "")
	want := snip.Route{Link: 7, Location: "http://www.xn--tbingen-n2a.de/ü", Status: 307, StartsAt: noon, ExpiresAt: noon.Add(1)}
	if err != nil || got != want {
		t.Errorf("Route() = %+v, %v, want %+v", got, err, want)
	}
}

func TestRouteOfSpecialLink(t *testing.T) {
	l := snip.Link{ID: 7, Code: "abc", Settings: snip.Settings{
		Target: "https://example.com/?utm_source=mine#f", Status: 302, ClickLimit: 9, Fallback: "http://bücher.example/",
		Query: snip.QueryKeep, ForwardPath: true, Campaign: snip.Campaign{Source: "s", Medium: "e mail", Name: "ü", Term: "a&b", Content: "c"},
		Rules: []snip.Rule{
			{When: snip.Conditions{Systems: []string{"IOS"}, Devices: []string{"Phone"}, Countries: []string{"de"}, Languages: []string{"pt-BR"}}, Target: "https://a.example"},
			{Name: "halves", Split: []snip.Arm{{Target: "http://ü.example/", Weight: 1}, {Name: "b", Target: "https://b.example/", Weight: 3}}},
		},
	}}
	r := route(t, l, "hash")
	const campaign = "utm_source=s&utm_medium=e+mail&utm_campaign=%C3%BC&utm_term=a%26b&utm_content=c"
	want := snip.Route{
		Link: 7, Location: "https://example.com/?utm_source=mine&" + strings.TrimPrefix(campaign, "utm_source=s&") + "#f", Status: 302,
		Special: &snip.Special{
			ClickLimit: 9, PasswordHash: "hash", Fallback: "http://xn--bcher-kva.example/", Query: snip.QueryKeep, ForwardPath: true,
			Rules: []snip.RouteRule{
				{
					When: snip.Conditions{Systems: []string{"iOS"}, Devices: []string{"phone"}, Countries: []string{"DE"}, Languages: []string{"pt-br"}},
					Arms: []snip.RouteArm{{Name: "rule 1", Location: "https://a.example?" + campaign, Weight: 1}},
				},
				{Arms: []snip.RouteArm{
					{Name: "halves/arm 1", Location: "http://xn--tda.example/?" + campaign, Weight: 1},
					{Name: "halves/b", Location: "https://b.example/?" + campaign, Weight: 3},
				}},
			},
		},
	}
	if diff := cmp.Diff(want, *r, cmpopts.IgnoreUnexported(snip.RouteRule{})); diff != "" {
		t.Error(diff)
	}
	if l.Rules[0].When.Systems[0] != "IOS" {
		t.Error("Route changed the link")
	}
	if plain := route(t, snip.Link{Settings: snip.Settings{Target: target}}, ""); r.Size() <= plain.Size() {
		t.Errorf("it takes %d bytes, and a plain one %d", r.Size(), plain.Size())
	}
}

func TestRouteKnowsAliases(t *testing.T) {
	l := snip.Link{Code: "abc", Aliases: []string{"Old", "OLD", "x"}, Settings: snip.Settings{Target: target}}
	for asked, want := range map[string]string{
		"abc": "", "Abc": "", "Old": "Old", "OLD": "OLD", "old": "Old", "X": "x", "": "", "other": "",
	} {
		if r, err := l.Route(asked, ""); err != nil || r.Alias != want {
			t.Errorf("Route(%q) names alias %q, %v, want %q", asked, r.Alias, err, want)
		}
	}
}

func TestRouteFailsForWhatIsNoTarget(t *testing.T) {
	const bad = "http://a\u202Eb/"
	for name, s := range map[string]snip.Settings{
		"url":          {Target: bad},
		"fallback_url": {Target: target, Fallback: bad},
		"rule":         {Target: target, Rules: []snip.Rule{{Target: bad}}},
		"arm":          {Target: target, Rules: []snip.Rule{{Split: []snip.Arm{{Target: bad, Weight: 1}}}}},
	} {
		if r, err := (snip.Link{Settings: s}).Route("", ""); err == nil {
			t.Errorf("%s: Route() = %+v, nil, want an error", name, r)
		}
	}
}

// route returns the route of a link that was asked for by its code.
func route(t interface {
	Helper()
	Fatal(args ...any)
}, l snip.Link, passwordHash string,
) *snip.Route {
	t.Helper()
	r, err := l.Route(l.Code, passwordHash)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}
