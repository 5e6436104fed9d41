package snip

import (
	"net/http"
	"time"
)

// Outcome says how a visit ended. There are only these, so that metrics can be
// labelled with it.
type Outcome string

const (
	OutcomeRedirect    Outcome = "redirect"
	OutcomePreview     Outcome = "preview"     // Shown where the link leads, not sent there.
	OutcomeNotFound    Outcome = "not_found"   // No link has this code.
	OutcomeGone        Outcome = "gone"        // The link has expired.
	OutcomeOptions     Outcome = "options"     // Asked which methods there are.
	OutcomeMethod      Outcome = "method"      // Asked with a method there is not.
	OutcomeUnavailable Outcome = "unavailable" // The link could not be looked up. Decide never says so.
)

// Visit is what Decide needs to know of a request.
type Visit struct {
	Method  string
	Preview bool // The code was followed by a +.
}

// Decision is the answer to a visit.
type Decision struct {
	Status   int
	Location string // For the header of that name; empty unless Status is 307.
	Outcome  Outcome
	Count    bool // The visit is a click.
}

// Decide says how a visit is answered at a moment; r is nil for a code that no link
// has. It depends on nothing else and changes nothing. HEAD is answered as GET is,
// but only a GET that is sent on is a click.
func Decide(r *Route, v Visit, now time.Time) Decision {
	switch {
	case v.Method == http.MethodOptions:
		return Decision{Status: http.StatusNoContent, Outcome: OutcomeOptions}
	case v.Method != http.MethodGet && v.Method != http.MethodHead:
		return Decision{Status: http.StatusMethodNotAllowed, Outcome: OutcomeMethod}
	case r == nil:
		return Decision{Status: http.StatusNotFound, Outcome: OutcomeNotFound}
	case r.Expired(now):
		return Decision{Status: http.StatusGone, Outcome: OutcomeGone}
	case v.Preview:
		return Decision{Status: http.StatusOK, Outcome: OutcomePreview}
	}
	return Decision{
		// Temporary, because a permanent redirect is followed by browsers without
		// asking again: an edit would not be seen, a click not counted.
		Status:   http.StatusTemporaryRedirect,
		Location: r.Location,
		Outcome:  OutcomeRedirect,
		Count:    v.Method == http.MethodGet,
	}
}
