package snip

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Route is what the redirect needs to know of a link, and no more: caches hold
// many of them. It is not changed once it is made.
type Route struct {
	Link      int64
	Alias     string    // The code that was asked for, if it is an alias, as it was typed when it was made; else empty.
	Location  string    // Of the target, campaign and all, as the header carries it.
	Status    int       // 301, 302, 307 or 308.
	StartsAt  time.Time // Zero: at once.
	ExpiresAt time.Time // Zero: never.
	Special   *Special  // Nil for a link that leads everybody to one place.
}

// Special is what few links have. Targets in it are as the header carries them.
type Special struct {
	ClickLimit   int64  // 0: none.
	PasswordHash string // In the encoding of argon2id. Empty: none.
	Fallback     string // Empty: none.
	Query        QueryPolicy
	ForwardPath  bool
	Rules        []RouteRule
}

// RouteRule is a rule in a route: ready to be compared with visitors. One without a
// split has a single arm.
type RouteRule struct {
	When Conditions // Its lists are spelled as Visitor spells them.
	Arms []RouteArm
	seed uint64 // Tells the link and its arms from others, so that visitors are shared out anew.
}

// RouteArm is an arm in a route.
type RouteArm struct {
	Name     string // In full, as in Click.Arm.
	Location string // Campaign and all, as the header carries it.
	Weight   int
}

// Route returns the route of a link that was asked for by a code of its own or an
// alias, given the hash of its password, empty for none. It fails only if a target of
// the link could not have been accepted.
func (l Link) Route(asked, passwordHash string) (Route, error) {
	location, err := l.location(l.Target)
	if err != nil {
		return Route{}, err
	}
	r := Route{
		Link: l.ID, Alias: l.alias(asked), Location: location, Status: cmp.Or(l.Status, http.StatusTemporaryRedirect),
		StartsAt: l.StartsAt, ExpiresAt: l.ExpiresAt,
	}
	plain := l.ClickLimit == 0 && passwordHash == "" && l.Fallback == "" && l.Query == QueryOff && !l.ForwardPath && len(l.Rules) == 0
	if plain {
		return r, nil
	}
	s := &Special{ClickLimit: l.ClickLimit, PasswordHash: passwordHash, Query: l.Query, ForwardPath: l.ForwardPath}
	// It is no place of the campaign's: whoever comes there comes too late for it.
	if s.Fallback, err = Location(l.Fallback); err != nil {
		return Route{}, err
	}
	for i, rule := range l.Rules {
		ready, err := l.routeRule(i, rule)
		if err != nil {
			return Route{}, err
		}
		s.Rules = append(s.Rules, ready)
	}
	r.Special = s
	return r, nil
}

// location is Location with the campaign's parameters.
func (l Link) location(target string) (string, error) {
	location, err := Location(target)
	if err != nil || l.Campaign == (Campaign{}) || !isWebTarget(location) {
		return location, err
	}
	return forward(location, "", l.Campaign.query(), QueryKeep), nil
}

// alias returns the alias that was asked for, or "" for the code of the link. One
// that differs by case comes up only on a domain that ignores it.
func (l Link) alias(asked string) string {
	switch {
	case asked == l.Code:
		return ""
	case slices.Contains(l.Aliases, asked):
		return asked
	case strings.EqualFold(asked, l.Code):
		return ""
	}
	for _, a := range l.Aliases {
		if strings.EqualFold(asked, a) {
			return a
		}
	}
	return ""
}

func (l Link) routeRule(i int, rule Rule) (RouteRule, error) {
	seed := fnv.New64a() // Errors of a hash are always nil, and so are Fprintf's.
	fmt.Fprintf(seed, "%d\n", l.ID)
	ready := RouteRule{When: rule.When.spelled()}
	names := rule.names(i)
	for j, arm := range rule.arms() {
		location, err := l.location(arm.Target)
		if err != nil {
			return RouteRule{}, err
		}
		ready.Arms = append(ready.Arms, RouteArm{Name: names[j], Location: location, Weight: arm.Weight})
		// Neither names nor weights are in it: who renames an arm moves nobody, and who
		// gives one more weight moves those alone whom it takes.
		fmt.Fprintf(seed, "%s\n", arm.Target)
	}
	ready.seed = seed.Sum64()
	return ready, nil
}

// Started reports whether a link has the code of a route already at a moment.
func (r *Route) Started(now time.Time) bool {
	return r.StartsAt.IsZero() || !now.Before(r.StartsAt)
}

// Expired reports whether a route has come to its end at a moment.
func (r *Route) Expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// Size returns about how many bytes a route takes in memory, for caches that are
// bounded by them.
func (r *Route) Size() int {
	n := 120 + len(r.Alias) + len(r.Location)
	s := r.Special
	if s == nil {
		return n
	}
	n += 100 + len(s.PasswordHash) + len(s.Fallback) + len(s.Query)
	for _, rule := range s.Rules {
		n += 200
		for _, list := range [][]string{rule.When.Devices, rule.When.Systems, rule.When.Languages, rule.When.Countries} {
			n += sizeOf(list)
		}
		for name, values := range rule.When.Query {
			n += 80 + len(name) + sizeOf(values)
		}
		for _, arm := range rule.Arms {
			n += 40 + len(arm.Name) + len(arm.Location)
		}
	}
	return n
}

func sizeOf(list []string) int {
	n := 0
	for _, s := range list {
		n += 16 + len(s)
	}
	return n
}
