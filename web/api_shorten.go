package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"snip"
)

// simple is what POST /shorten takes.
type simple struct {
	Target    string     `json:"url"`
	Code      string     `json:"code,omitempty"`
	Domain    string     `json:"domain,omitempty"`
	Title     string     `json:"title,omitempty"`
	ExpiresAt *time.Time `json:"expires_at" required:"false"`
}

// simplest is how it is described, for who reads it. It is no operation of the API.
type simplest struct {
	known  huma.Registry
	schema *huma.Schema
}

func newSimplest() simplest {
	known := huma.NewMapRegistry("#", huma.DefaultSchemaNamer)
	return simplest{known, schemaOf[simple](known)}
}

// read reads the JSON that asks for a link.
func (d simplest) read(w http.ResponseWriter, r *http.Request) (n snip.NewLink, err error) {
	body, err := readJSON(w, r, d.known, d.schema)
	if err != nil {
		return n, err
	}
	var in simple
	if err := json.Unmarshal(body, &in); err != nil {
		return n, wrongField("", "The body cannot be read: %v.", err)
	}
	n.Target, n.Code, n.Domain, n.Title, n.ExpiresAt = in.Target, in.Code, in.Domain, in.Title, orZero(in.ExpiresAt)
	return n, nil
}

// shorten makes a link for a program, or for the page's form.
func (s *Server) shorten(w http.ResponseWriter, r *http.Request) {
	key, err := s.shortener(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var n snip.NewLink
	if isForm(r) {
		n, err = readForm(w, r)
	} else {
		n, err = s.simplest.read(w, r)
	}
	var l snip.Link
	if err == nil {
		l, _, err = s.cfg.Service(key).CreateLink(r.Context(), n)
		// A store that did not answer in time may have kept the link all the same.
		s.forget(snip.Ref{Domain: n.Domain, Code: n.Code}, snip.Ref{Domain: l.Domain, Code: l.Code})
	}
	page := isForm(r) && wantsPage(r)
	switch {
	case err != nil && page:
		s.homeAgain(w, n, s.report(w, r, err))
	case err != nil:
		s.fail(w, r, err)
	case page:
		s.page(w, http.StatusCreated, s.pages.made, madePage{ShortURL: s.shortURL(r, l.Domain, l.Code), Target: l.Target})
	default:
		s.json(w, http.StatusCreated, struct {
			Code     string `json:"code"`
			ShortURL string `json:"short_url"`
			Target   string `json:"url"`
		}{l.Code, s.shortURL(r, l.Domain, l.Code), l.Target})
	}
}

// shortener returns the key of a request, or where anybody may shorten one that allows
// that alone, and on the instance's own domain.
func (s *Server) shortener(r *http.Request) (snip.Key, error) {
	if err := secretInAddress(r); err != nil {
		return snip.Key{}, err
	}
	if _, sent := bearer(r); !sent && s.cfg.OpenShorten {
		return snip.Key{Scopes: []snip.Scope{snip.ScopeWrite}, Domain: pointer(""), OwnLinks: true}, nil
	}
	return s.allowed(r, snip.ScopeWrite)
}
