package snip

import "time"

// Route is what the redirect needs to know of a link, and no more: caches hold
// many of them.
type Route struct {
	Link      int64
	Location  string    // As the header carries it.
	ExpiresAt time.Time // Zero: never.
}

// Route returns the route of a link. It fails only if the link's target could not
// have been accepted.
func (l Link) Route() (Route, error) {
	location, err := Location(l.Target)
	if err != nil {
		return Route{}, err
	}
	return Route{Link: l.ID, Location: location, ExpiresAt: l.ExpiresAt}, nil
}

// Expired reports whether a route has come to its end at a moment.
func (r Route) Expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}
