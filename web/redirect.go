package web

import (
	"net/http"
	"strings"

	"snip"
	"snip/problem"
)

// Header values that every redirect shares. Nobody may change them.
var (
	noStore = []string{"private, no-store"}
	nothing = []string{"0"}
)

// visit answers /code. A click is noted before it is answered, so that a client
// which is gone right afterwards is counted all the same.
func (s *Server) visit(w http.ResponseWriter, r *http.Request, code string, preview bool) {
	v := snip.Visit{Method: r.Method, Preview: preview}
	var e *entry
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		var err error
		if e, err = s.cache.get(code); err != nil {
			s.unavailable(w, r)
			return
		}
	}
	now := s.cfg.Now()
	d := snip.Decide(e.route(), v, now)
	s.metrics.redirects[d.Outcome].Inc()
	if d.Outcome != snip.OutcomeRedirect {
		s.unknown.see(code, v, d, now)
		s.visitPage(w, r, code, e, d)
		return
	}
	if d.Count {
		buf, ok := s.buffers.Get().(*[]byte)
		if !ok {
			buf = new([]byte)
		}
		*buf = s.appendNote((*buf)[:0], e.link.Link, r)
		// An error is a note that was dropped, and the spool has counted it.
		_ = s.cfg.Notes.Record(now, *buf)
		s.buffers.Put(buf)
	}
	h := w.Header()
	h["Location"] = e.location
	h["Cache-Control"] = noStore
	h["Content-Length"] = nothing
	w.WriteHeader(d.Status)
}

// visitPage answers a visit that is not sent on.
func (s *Server) visitPage(w http.ResponseWriter, r *http.Request, code string, e *entry, d snip.Decision) {
	w.Header()["Cache-Control"] = noStore
	switch d.Outcome {
	case snip.OutcomePreview:
		s.preview(w, r, code, e.link)
	case snip.OutcomeNotFound:
		s.fail(w, r, &snip.Error{Code: snip.NotFound, Message: "No link has this code."})
	case snip.OutcomeGone:
		s.gone(w, r)
	case snip.OutcomeMethod:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		s.problem(w, d.Status, "A link is followed with GET.")
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(d.Status)
	}
}

// unavailable answers for a code never seen while the store is away. It is not a
// 404: the link may well exist. The cache has logged why.
func (s *Server) unavailable(w http.ResponseWriter, r *http.Request) {
	s.metrics.redirects[snip.OutcomeUnavailable].Inc()
	w.Header()["Cache-Control"] = noStore
	s.refuse(w, r, problem.Of(&snip.Error{
		Code: snip.Unavailable, Message: "The link cannot be looked up right now. Try again in a moment.",
	}))
}

// wantsPage tells people from programs.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
