package snip

import (
	"cmp"
	"net/http"
	"time"
)

// Outcome says how a visit ended. There are only these, so that metrics can be
// labelled with it.
type Outcome string

const (
	OutcomeRedirect    Outcome = "redirect"    // Sent where the link leads, or to its fallback.
	OutcomePreview     Outcome = "preview"     // Shown where the link leads, not sent there.
	OutcomeNotFound    Outcome = "not_found"   // No link has this code, or not yet.
	OutcomeGone        Outcome = "gone"        // The link has expired or is used up.
	OutcomePassword    Outcome = "password"    // Asked for a password.
	OutcomeOptions     Outcome = "options"     // Asked which methods there are.
	OutcomeMethod      Outcome = "method"      // Asked with a method there is not.
	OutcomeUnavailable Outcome = "unavailable" // The link could not be looked up. Decide never says so.
)

// Visit is what Decide needs to know of a request.
type Visit struct {
	Method  string
	Preview bool   // The code was followed by a +.
	Rest    string // What follows the code in the path, encoded as it came, with its slash. A slash alone is nothing.
	Query   string // Encoded as it came, without the question mark.

	// Visitor is looked at only where Route.Special has rules or a click limit.
	Visitor Visitor

	Unlocked bool // The visitor gave the link's password.
	UsedUp   bool // The link's click limit is used up.
}

// Visitor is who comes, as far as rules and limits ask.
type Visitor struct {
	Class    Class
	Device   string // As in Click, as the next two.
	OS       string
	Country  string
	Language string // The whole tag of the language liked best, in lower case, such as "pt-br".
	Hash     uint64 // The same for the same address and user agent, for ever: it keeps a visitor on one arm.
}

// Decision is the answer to a visit.
type Decision struct {
	Status   int
	Location string // For the header of that name; empty unless Outcome is OutcomeRedirect.
	Outcome  Outcome
	Count    bool   // The visit is a click.
	Arm      string // For Click.Arm.
	Hidden   bool   // Of a preview: it must not show where the link leads.
	Limit    Limit  // What is to be done about the link's click limit before this may be answered.
}

// Limit says what a decision asks of a click limit.
type Limit uint8

const (
	LimitNone Limit = iota // Nothing.
	LimitTake              // Take one of the redirects that are left. If none is, decide again with Visit.UsedUp.
	LimitPeek              // The same without taking one: nobody came who uses the link up.
)

// Decide says how a visit is answered at a moment; r is nil for a code that no link
// has. It depends on nothing else and changes nothing. HEAD is answered as GET is,
// but only a GET that is sent on is a click, and a POST that brought the password.
//
// If Decision.Limit is not LimitNone, the answer holds only while a redirect is left.
func Decide(r *Route, v Visit, now time.Time) Decision {
	locked := r != nil && r.Special != nil && r.Special.PasswordHash != ""
	switch {
	case v.Method == http.MethodOptions:
		return Decision{Status: http.StatusNoContent, Outcome: OutcomeOptions}
	case v.Method == http.MethodPost && locked && v.Unlocked && !v.Preview:
	case v.Method != http.MethodGet && v.Method != http.MethodHead:
		return Decision{Status: http.StatusMethodNotAllowed, Outcome: OutcomeMethod}
	}
	switch {
	case r == nil, !r.Started(now), !r.takes(v.Rest):
		return Decision{Status: http.StatusNotFound, Outcome: OutcomeNotFound}
	case r.Expired(now) || v.UsedUp:
		return r.ended(&v)
	case v.Preview:
		hidden := r.Special != nil && (locked || r.Special.ClickLimit > 0)
		return Decision{Status: http.StatusOK, Outcome: OutcomePreview, Hidden: hidden}
	case locked && !v.Unlocked:
		return Decision{Status: http.StatusForbidden, Outcome: OutcomePassword}
	}
	d := r.redirect(&v)
	d.Location = r.Location
	if r.Special != nil {
		r.Special.decide(&d, &v, now)
	}
	return d
}

// takes reports whether there may be more in the path than the code.
func (r *Route) takes(rest string) bool {
	if rest == "" || rest == "/" {
		return true
	}
	return r.Special != nil && r.Special.ForwardPath && rest[0] == '/' && !climbs(rest)
}

// ended is what becomes of a visit to a link that has expired or is used up.
func (r *Route) ended(v *Visit) Decision {
	if r.Special == nil || r.Special.Fallback == "" || v.Preview {
		return Decision{Status: http.StatusGone, Outcome: OutcomeGone}
	}
	d := r.redirect(v)
	d.Location, d.Arm = r.Special.Fallback, fallbackArm
	return d
}

// fallbackArm stands in statistics for those who were sent to the fallback.
const fallbackArm = "fallback"

// redirect is what all decisions have in common that send a visitor on.
func (r *Route) redirect(v *Visit) Decision {
	// Temporary by default, because a permanent redirect is followed by browsers
	// without asking again: an edit would not be seen, a click not counted.
	status := cmp.Or(r.Status, http.StatusTemporaryRedirect)
	if v.Method == http.MethodPost {
		status = http.StatusSeeOther // The password must not be posted to the target.
	}
	return Decision{Status: status, Outcome: OutcomeRedirect, Count: v.Method != http.MethodHead}
}

// decide completes a redirect to the usual location.
func (s *Special) decide(d *Decision, v *Visit, now time.Time) {
	if arm := s.choose(v, now); arm != nil {
		d.Location, d.Arm = arm.Location, arm.Name
	}
	rest := v.Rest
	if rest == "/" {
		rest = ""
	}
	d.Location = forward(d.Location, rest, v.Query, s.Query)
	if s.ClickLimit > 0 {
		d.Limit = LimitTake
		if c := v.Visitor.Class; v.Method == http.MethodHead || c == Bot || c == Preview || c == Prefetch {
			d.Limit = LimitPeek
		}
	}
}
