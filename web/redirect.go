package web

import (
	"net/http"
	"strings"
	"time"

	"snip"
	"snip/problem"
)

// Header values that every redirect shares. Nobody may change them.
var (
	noStore = []string{"private, no-store"}
	nothing = []string{"0"}
)

// visit is one to a code, and what is known of it so far.
type visit struct {
	snip.Visit
	domain *domain // Nil: cannot be told.
	code   string
	entry  *entry // Nil: no link has the code.
	at     time.Time
}

// visit answers for a code. A click is noted before it is answered, so that a client
// which is gone right afterwards is counted all the same.
func (s *Server) visit(w http.ResponseWriter, r *http.Request, d *domain, p codePath, now time.Time) {
	v := visit{domain: d, code: p.code, at: now}
	v.Method, v.Preview, v.Rest, v.Query = r.Method, p.preview, p.rest, r.URL.RawQuery
	if v.asksForLink() {
		if d == nil {
			s.unavailable(w, r, lookUp)
			return
		}
		e, waited, err := s.cache.get(place{d.Host, d.fold(p.code)}, now)
		if err != nil {
			s.unavailable(w, r, lookUp)
			return
		}
		if v.entry = e; waited {
			v.at = s.cfg.Now()
		}
	}
	route := v.entry.route()
	if route == nil || route.Special == nil {
		s.answer(w, r, &v, snip.Decide(route, v.Visit, v.at))
		return
	}
	s.visitSpecial(w, r, &v)
}

// asksForLink reports whether the answer depends on the link: with POST comes its
// password.
func (v *visit) asksForLink() bool {
	return v.Method == http.MethodGet || v.Method == http.MethodHead || v.Method == http.MethodPost && !v.Preview
}

// wantsPassword reports whether following the link takes its password, as far as can be
// told before its click limit is asked.
func (v *visit) wantsPassword() bool {
	ask := v.Visit
	ask.Method = http.MethodGet
	return snip.Decide(v.entry.route(), ask, v.at).Outcome == snip.OutcomePassword
}

// visitSpecial is visit for the few links that do not lead everybody to one place.
func (s *Server) visitSpecial(w http.ResponseWriter, r *http.Request, v *visit) {
	route := &v.entry.link
	if len(route.Special.Rules) > 0 || route.Special.ClickLimit > 0 {
		v.Visitor = s.visitor(r)
	}
	if v.Method == http.MethodPost && route.Special.PasswordHash != "" {
		if v.wantsPassword() && !s.unlock(w, r, route, v.at) {
			return
		}
		v.Unlocked = true
	}
	d := snip.Decide(route, v.Visit, v.at)
	if d.Limit != snip.LimitNone {
		left, err := s.limit(r, route, d.Limit)
		if err != nil {
			s.unavailable(w, r, "It cannot be told right now whether this link may still be followed. Try again in a moment.")
			return
		}
		if !left {
			v.UsedUp = true
			d = snip.Decide(route, v.Visit, v.at)
		}
	}
	s.answer(w, r, v, d)
}

// answer does what was decided.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v *visit, d snip.Decision) {
	s.metrics.redirects[d.Outcome].Inc()
	if d.Outcome != snip.OutcomeRedirect {
		s.unknown.see(v.code, v.Visit, d, v.at)
		s.visitPage(w, r, v, d)
		return
	}
	if d.Count {
		buf, ok := s.buffers.Get().(*[]byte)
		if !ok {
			buf = new([]byte)
		}
		*buf = s.appendNote((*buf)[:0], &v.entry.link, d.Arm, r)
		// An error is a note that was dropped, and the spool has counted it.
		_ = s.cfg.Notes.Record(v.at, *buf)
		s.buffers.Put(buf)
	}
	location := v.entry.location
	if d.Location != location[0] {
		location = []string{d.Location}
	}
	h := w.Header()
	h["Location"] = location
	h["Cache-Control"] = noStore
	h["Content-Length"] = nothing
	w.WriteHeader(d.Status)
}

// visitPage answers a visit that is not sent on.
func (s *Server) visitPage(w http.ResponseWriter, r *http.Request, v *visit, d snip.Decision) {
	w.Header()["Cache-Control"] = noStore
	switch d.Outcome {
	case snip.OutcomePreview:
		s.preview(w, r, v, d.Hidden)
	case snip.OutcomeNotFound:
		s.missing(w, r, v.domain, "No link has this code.")
	case snip.OutcomeGone:
		s.gone(w, r, v)
	case snip.OutcomePassword:
		s.askPassword(w, r, errPassword)
	case snip.OutcomeMethod:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		s.problem(w, d.Status, "A link is followed with GET.")
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(d.Status)
	}
}

const lookUp = "The link cannot be looked up right now. Try again in a moment."

// unavailable answers what cannot be told while the store is away, such as where a code
// leads that was never seen. It is not a 404: the link may well exist. Whoever asked the
// store has logged why.
func (s *Server) unavailable(w http.ResponseWriter, r *http.Request, message string) {
	s.metrics.redirects[snip.OutcomeUnavailable].Inc()
	w.Header()["Cache-Control"] = noStore
	s.refuse(w, r, problem.Of(&snip.Error{Code: snip.Unavailable, Message: message}))
}

// wantsPage tells people from programs.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
