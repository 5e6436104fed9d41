package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"snip"
	"snip/problem"
)

// encode writes JSON. What was typed is written as it was typed.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// json answers a program.
func (s *Server) json(w http.ResponseWriter, status int, v any) {
	b, err := encode(v)
	if err != nil {
		s.log.Error("an answer cannot be written", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if _, err := w.Write(b); err != nil {
		s.log.Debug("an answer did not reach its client", "error", err)
	}
}

// fail reports an error and answers it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.refuse(w, r, s.report(w, r, err))
}

// report logs an error if it needs somebody's attention, and returns what to answer.
func (s *Server) report(w http.ResponseWriter, r *http.Request, err error) problem.Problem {
	p := s.note(r, err)
	advise(w.Header(), p)
	return p
}

// note logs an error if it needs somebody's attention. It leaves out the query of an
// address, which may hold what no log should.
func (s *Server) note(r *http.Request, err error) problem.Problem {
	p := problem.Of(err)
	switch p.Code {
	case snip.Internal:
		s.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	case snip.Unavailable:
		s.log.Warn("request refused", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	return p
}

// refuse answers a problem: as a page to people who follow a link, else as it is.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p problem.Problem) {
	advise(w.Header(), p)
	if wantsPage(r) && !strings.HasPrefix(r.URL.Path, "/api/") {
		s.failPage(w, p)
		return
	}
	s.writeProblem(w, p)
}

// advise tells in the header what the client can do about a problem.
func advise(h http.Header, p problem.Problem) {
	switch p.Code {
	case snip.Unavailable:
		h.Set("Retry-After", "5")
	case snip.Unauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="snip"`)
	}
}

func (s *Server) problem(w http.ResponseWriter, status int, detail string) {
	s.writeProblem(w, problem.Problem{
		Title: http.StatusText(status), Status: status, Detail: detail, Code: problem.Code(status),
	})
}

func (s *Server) writeProblem(w http.ResponseWriter, p problem.Problem) {
	w.Header().Set("Content-Type", problem.ContentType)
	s.json(w, p.Status, p)
}

func (s *Server) crossOrigin(w http.ResponseWriter, _ *http.Request) {
	s.problem(w, http.StatusForbidden, "A page of another site may not do this.")
}

// refusal is a problem as huma answers it.
type refusal struct{ problem.Problem }

var (
	_ huma.StatusError       = (*refusal)(nil)
	_ huma.HeadersError      = (*refusal)(nil)
	_ huma.ContentTypeFilter = (*refusal)(nil)
)

// refusal reports an error of an operation and returns what to answer.
func (s *Server) refusal(r *http.Request, err error) *refusal { return &refusal{s.note(r, err)} }

func (p *refusal) Error() string             { return p.Detail }
func (p *refusal) GetStatus() int            { return p.Status }
func (p *refusal) ContentType(string) string { return problem.ContentType }

func (p *refusal) GetHeaders() http.Header {
	h := http.Header{}
	advise(h, p.Problem)
	return h
}

// refusalOf describes the answer of a code.
func (a *api) refusalOf(code snip.Code) *huma.Response {
	words := map[snip.Code]string{
		snip.Invalid:      "A parameter, a header or a field of the body is wrong. errors says which, and how to mend it.",
		snip.Unauthorized: "The key is missing, not known, revoked or expired.",
		snip.Forbidden:    "The key lacks the scope, or a page of another site asks.",
		snip.NotFound:     "There is none, as far as the key may see.",
		snip.Conflict:     "Something else stands against it.",
		snip.Changed:      "It is not in the version any more that If-Match names. Nothing was kept.",
		snip.TooLarge:     "The body is over 1 MB.",
		snip.Reused:       "The idempotency key stands for another request. Nothing was kept.",
		snip.Unavailable:  "The database is away or full. Nothing was kept: try again later.",
		snip.Internal:     "A fault of the server. It was logged there.",
	}
	r := &huma.Response{
		Description: words[code],
		Content:     map[string]*huma.MediaType{problem.ContentType: {Schema: a.known().Schema(reflect.TypeFor[problem.Problem](), true, "")}},
	}
	switch code {
	case snip.Unavailable:
		r.Headers = map[string]*huma.Header{"Retry-After": {Description: "In how many seconds.", Schema: &huma.Schema{Type: huma.TypeInteger}}}
	case snip.Unauthorized:
		r.Headers = map[string]*huma.Header{"WWW-Authenticate": {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return r
}
