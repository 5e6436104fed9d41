package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"snip"
	"snip/problem"
)

const (
	// Wrong passwords of one visitor for one link: so many at once, then one every so often.
	triesAtOnce = 5
	tryAgain    = 12 * time.Second
	triesOfLink = 60 // And of all visitors together, within a minute.

	maxTries = 10_000 // Visitors, and links, of whom the tries are remembered.

	maxVerifying = 2               // Passwords that are checked at the same time: each takes 19 MiB.
	verifyWait   = 2 * time.Second // For those before.

	maxPasswordBody = 4 << 10 // Bytes of the form.
)

// locks limits how often passwords of links can be tried. It is safe for concurrent use.
type locks struct {
	verifying chan struct{} // Holds one for each password that is being checked.
	visitors  *otter.Cache[trier, *rate.Limiter]
	links     *otter.Cache[int64, *rate.Limiter]
}

// trier is one who tries the password of one link.
type trier struct {
	link int64
	from netip.Addr // Of IPv6 the network, in which anybody has addresses without number.
}

func newLocks() (*locks, error) {
	visitors, err := otter.New(&otter.Options[trier, *rate.Limiter]{MaximumSize: maxTries})
	if err != nil {
		return nil, fmt.Errorf("web: tries of visitors: %w", err)
	}
	links, err := otter.New(&otter.Options[int64, *rate.Limiter]{MaximumSize: maxTries})
	if err != nil {
		return nil, fmt.Errorf("web: tries of links: %w", err)
	}
	return &locks{verifying: make(chan struct{}, maxVerifying), visitors: visitors, links: links}, nil
}

// try takes one of the tries that are left, which forget gives back, or says how long
// to wait for one.
func (l *locks) try(link int64, from netip.Addr, now time.Time) (forget func(), wait time.Duration) {
	if from.Is6() {
		network, _ := from.Prefix(64) // Every IPv6 address has one.
		from = network.Addr()
	}
	of, ok := l.visitors.GetIfPresent(trier{link, from})
	if !ok {
		of, _ = l.visitors.SetIfAbsent(trier{link, from}, rate.NewLimiter(rate.Every(tryAgain), triesAtOnce))
	}
	all, ok := l.links.GetIfPresent(link)
	if !ok {
		all, _ = l.links.SetIfAbsent(link, rate.NewLimiter(rate.Every(time.Minute/triesOfLink), triesOfLink))
	}
	one, other := of.ReserveN(now, 1), all.ReserveN(now, 1)
	forget = func() {
		one.CancelAt(now)
		other.CancelAt(now)
	}
	if wait = max(one.DelayFrom(now), other.DelayFrom(now)); wait > 0 {
		forget()
	}
	return forget, wait
}

// errPassword asks for the password of a link.
var errPassword = &snip.Error{Code: snip.Forbidden, Field: "password", Message: `This link asks for a password. Send it with POST, as form field "password".`}

// unlock reports whether a visitor sent the password of a link. If not, it answers.
func (s *Server) unlock(w http.ResponseWriter, r *http.Request, route *snip.Route, now time.Time) bool {
	err := s.verify(w, r, route, now)
	if err == nil {
		return true
	}
	w.Header()["Cache-Control"] = noStore
	e, ok := errors.AsType[*snip.Error](err)
	switch {
	case !ok:
		s.metrics.redirects[snip.OutcomePassword].Inc()
		s.fail(w, r, err)
	case e.Code == snip.Unavailable:
		s.unavailable(w, r, e.Message)
	default:
		s.metrics.redirects[snip.OutcomePassword].Inc()
		s.askPassword(w, r, e)
	}
	return false
}

// verify returns nil if the password that was sent is the link's.
func (s *Server) verify(w http.ResponseWriter, r *http.Request, route *snip.Route, now time.Time) error {
	if err := s.guard.Check(r); err != nil {
		return &snip.Error{Code: snip.Forbidden, Message: "A page of another site may not do this."}
	}
	password, err := readPassword(w, r)
	if err != nil {
		return err
	}
	forget, wait := s.locks.try(route.Link, s.cfg.Proxies.Client(r.RemoteAddr, r.Header), now)
	if wait > 0 {
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		w.Header().Set("Retry-After", seconds)
		return &snip.Error{Code: snip.TooMany, Field: "password", Message: "Too many passwords were tried. Wait " + seconds + " seconds, then try again."}
	}
	limit := time.NewTimer(verifyWait)
	defer limit.Stop()
	select {
	case s.locks.verifying <- struct{}{}:
		defer func() { <-s.locks.verifying }()
	case <-limit.C:
		forget()
		return &snip.Error{Code: snip.Unavailable, Message: "Too many passwords are being checked right now. Try again in a moment."}
	}
	right, err := argon2id.ComparePasswordAndHash(password, route.Special.PasswordHash)
	switch {
	case err != nil:
		return fmt.Errorf("web: check the password of link %d: %w", route.Link, err)
	case !right:
		return &snip.Error{Code: snip.Forbidden, Field: "password", Message: "This is not the password. Try again."}
	}
	forget() // Many may share an address, and none who knows the password keeps others out.
	return nil
}

// readPassword reads the form, and nothing that stands in the address.
func readPassword(w http.ResponseWriter, r *http.Request) (string, error) {
	wrong := func(message string) error {
		return &snip.Error{Code: snip.Invalid, Field: "password", Message: message}
	}
	if !isForm(r) {
		return "", wrong(`The password is sent as a form: Content-Type: application/x-www-form-urlencoded, field "password".`)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPasswordBody)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return "", &snip.Error{Code: snip.TooLarge, Field: "password", Message: fmt.Sprintf("A password has at most %d bytes.", snip.MaxPassword)}
		}
		return "", wrong("The form cannot be read.")
	}
	values := r.PostForm["password"]
	if len(values) != 1 || values[0] == "" {
		return "", wrong("Type the password.")
	}
	return values[0], nil
}

// askPassword shows the form for the password, with what was wrong with the one before.
func (s *Server) askPassword(w http.ResponseWriter, r *http.Request, e *snip.Error) {
	p := problem.Of(e)
	if !wantsPage(r) {
		s.writeProblem(w, p)
		return
	}
	at, _ := pathOf(r.URL)
	page := passwordPage{Code: at.code}
	if r.Method == http.MethodPost {
		page.Wrong = e.Message
	}
	// Without form-action: where the form leads in the end is nobody's business yet, and
	// browsers hold the redirect to the policy, too.
	w.Header().Set("Content-Security-Policy", policy)
	s.page(w, p.Status, s.pages.password, page)
}
