package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"snip"
	"snip/problem"
	"snip/wire"
)

func (s *Server) linkJSON(r *http.Request, l snip.Link) wire.Link {
	return wire.LinkOf(l, s.shortURL(r, l.Code))
}

// shortURL is where a code is followed: at the public address, or else where the
// request came to.
func (s *Server) shortURL(r *http.Request, code string) string {
	if s.cfg.BaseURL != "" {
		return s.cfg.BaseURL + "/" + code
	}
	return "http://" + r.Host + "/" + code
}

// shorten makes a link for a program, or for the page's form.
func (s *Server) shorten(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.OpenShorten {
		if err := s.checkKey(r); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	var n snip.NewLink
	var err error
	if isForm(r) {
		n, err = readForm(w, r)
	} else {
		n, err = readLink(w, r)
	}
	var l snip.Link
	if err == nil {
		l, err = s.create(r, n)
	}
	page := isForm(r) && wantsPage(r)
	switch {
	case err != nil && page:
		s.homeAgain(w, n, s.report(w, r, err))
	case err != nil:
		s.fail(w, r, err)
	case page:
		s.page(w, http.StatusCreated, s.pages.made, madePage{ShortURL: s.shortURL(r, l.Code), Target: l.Target})
	default:
		s.json(w, http.StatusCreated, struct {
			Code     string `json:"code"`
			ShortURL string `json:"short_url"`
			Target   string `json:"url"`
		}{l.Code, s.shortURL(r, l.Code), l.Target})
	}
}

// readLink reads the JSON that asks for a link.
func readLink(w http.ResponseWriter, r *http.Request) (n snip.NewLink, err error) {
	err = decode(w, r, fields{
		"url": text(&n.Target), "code": text(&n.Code), "title": text(&n.Title), "expires_at": instant(&n.ExpiresAt),
	})
	return n, err
}

func (s *Server) create(r *http.Request, n snip.NewLink) (snip.Link, error) {
	l, err := s.cfg.Links.CreateLink(r.Context(), n)
	// A store that did not answer in time may have kept the link all the same.
	s.cache.invalidate(cmp.Or(l.Code, n.Code))
	return l, err
}

func (s *Server) createLink(w http.ResponseWriter, r *http.Request) {
	n, err := readLink(w, r)
	var l snip.Link
	if err == nil {
		l, err = s.create(r, n)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Location", "/api/v1/links/"+url.PathEscape(l.Code))
	s.json(w, http.StatusCreated, s.linkJSON(r, l))
}

func (s *Server) getLink(w http.ResponseWriter, r *http.Request) {
	l, err := s.cfg.Links.Link(r.Context(), r.PathValue("code"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.json(w, http.StatusOK, s.linkJSON(r, l))
}

func (s *Server) listLinks(w http.ResponseWriter, r *http.Request) {
	p := snip.Page{Limit: 100}
	query := r.URL.Query()
	limit, err := number(query, "limit", 1, 1000, int64(p.Limit))
	if err == nil {
		p.Limit = int(limit)
		p.After, err = number(query, "after", 1, 1<<63-1, 0)
	}
	var links []snip.Link
	if err == nil {
		links, err = s.cfg.Links.ListLinks(r.Context(), p)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list := struct {
		Links []wire.Link `json:"links"`
		// Next is what to ask for as after; 0 at the end.
		Next int64 `json:"next,omitempty"`
	}{Links: make([]wire.Link, len(links))}
	for i, l := range links {
		list.Links[i] = s.linkJSON(r, l)
	}
	if len(links) == p.Limit {
		list.Next = links[len(links)-1].ID
	}
	s.json(w, http.StatusOK, list)
}

// number reads a parameter of the query.
func number(query url.Values, name string, least, most, otherwise int64) (int64, error) {
	if !query.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(query.Get(name), 10, 64)
	if err != nil || n < least || n > most {
		return 0, &snip.Error{
			Code: snip.Invalid, Field: name,
			Message: "Must be a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10) + ".",
		}
	}
	return n, nil
}

func (s *Server) editLink(w http.ResponseWriter, r *http.Request) {
	var code, target, title string
	var expires time.Time
	var e snip.LinkEdit
	err := decode(w, r, fields{
		"code":  present(&e.Code, &code, text),
		"url":   present(&e.Target, &target, text),
		"title": present(&e.Title, &title, text), "expires_at": present(&e.ExpiresAt, &expires, instant),
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	before := r.PathValue("code")
	l, err := s.cfg.Links.EditLink(r.Context(), before, e)
	// A store that did not answer in time may have kept the edit.
	s.cache.invalidate(before)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.cache.invalidate(l.Code)
	s.json(w, http.StatusOK, s.linkJSON(r, l))
}

func (s *Server) deleteLink(w http.ResponseWriter, r *http.Request) {
	code := r.PathValue("code")
	err := s.cfg.Links.DeleteLink(r.Context(), code)
	s.cache.invalidate(code)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// apiLimit is how long a question may take. A database that hangs must not hold a
// connection for ever.
const apiLimit = 30 * time.Second

// withKey lets a request through that has a key.
func (s *Server) withKey(h http.HandlerFunc) http.HandlerFunc {
	return limited(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkKey(r); err != nil {
			s.fail(w, r, err)
			return
		}
		h(w, r)
	})
}

// limited gives a request a limited time.
func limited(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), apiLimit)
		defer cancel()
		h(w, r.WithContext(ctx))
	}
}

func (s *Server) checkKey(r *http.Request) error {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if secret = strings.TrimSpace(secret); !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return &snip.Error{
			Code:    snip.Forbidden,
			Message: `This needs a key, sent as "Authorization: Bearer snip_…".`,
		}
	}
	_, err := s.cfg.Keys.CheckKey(r.Context(), secret)
	return err
}

// json writes an answer of the API. What is typed is written as it was typed.
func (s *Server) json(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		s.log.Debug("an answer did not reach its client", "error", err)
	}
}

// fail reports an error and answers it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.refuse(w, r, s.report(w, r, err))
}

// report logs an error if it needs somebody's attention, and returns what to answer.
func (s *Server) report(w http.ResponseWriter, r *http.Request, err error) problem.Problem {
	p := problem.Of(err)
	switch p.Code {
	case snip.Internal:
		s.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	case snip.Unavailable:
		s.log.Warn("request refused", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	advise(w, p)
	return p
}

// refuse answers a problem: as a page to people who follow a link, else as it is.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p problem.Problem) {
	advise(w, p)
	if wantsPage(r) && !strings.HasPrefix(r.URL.Path, "/api/") {
		s.failPage(w, p)
		return
	}
	s.writeProblem(w, p)
}

// advise tells in the header what the client can do about a problem.
func advise(w http.ResponseWriter, p problem.Problem) {
	switch p.Code {
	case snip.Unavailable:
		w.Header().Set("Retry-After", "5")
	case snip.Forbidden:
		w.Header().Set("WWW-Authenticate", `Bearer realm="snip"`)
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
