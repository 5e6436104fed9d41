package snip

import (
	"cmp"
	"net/http"
	"time"
)

// Route is what the redirect needs to know of a link, and no more: caches hold
// many of them. It is not changed once it is made.
type Route struct {
	Link      int64
	Alias     string    // The code that was asked for, if it is an alias; else empty.
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
	Rules        []Rule
}

// Route returns the route of a link that was asked for by a code of its own or an
// alias, given the hash of its password, empty for none. It fails only if a target of
// the link could not have been accepted.
func (l Link) Route(asked, passwordHash string) (Route, error) {
	location, err := Location(l.Target)
	if err != nil {
		return Route{}, err
	}
	return Route{Link: l.ID, Location: location, Status: cmp.Or(l.Status, http.StatusTemporaryRedirect), StartsAt: l.StartsAt, ExpiresAt: l.ExpiresAt}, nil
}

// Expired reports whether a route has come to its end at a moment.
func (r *Route) Expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}
