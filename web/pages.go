package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"path"
	"time"

	"snip"
	"snip/problem"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages are the templates, each with the type it is executed with.
type pages struct {
	home    *template.Template // homePage
	made    *template.Template // madePage
	preview *template.Template // previewPage
	message *template.Template // messagePage
}

// homePage is the form, or what this is where shortening needs a key.
type homePage struct {
	Open   bool
	Target string // As typed, after an error.
	Code   string
	Field  string // The wrong one: "url", "code" or none.
	Wrong  string // What is wrong with it.
}

// madePage shows a link that was just made.
type madePage struct{ ShortURL, Target string }

// previewPage shows where a link leads.
type previewPage struct {
	ShortURL, Target, Title string
	Follow                  template.HTMLAttr // The attribute href of where it leads.
}

// messagePage says why there is no more to see.
type messagePage struct{ Title, Text string }

func newPages() (*pages, error) {
	p := &pages{}
	for name, t := range map[string]**template.Template{
		"home": &p.home, "made": &p.made, "preview": &p.preview, "message": &p.message,
	} {
		var err error
		if *t, err = template.ParseFS(files, "templates/layout.html", "templates/"+name+".html"); err != nil {
			return nil, fmt.Errorf("web: page %s: %w", name, err)
		}
	}
	return p, nil
}

// page writes a page. It is executed before anything is sent, so that a fault in it
// is an error and not half a page.
func (s *Server) page(w http.ResponseWriter, status int, t *template.Template, data any) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout.html", data); err != nil {
		s.log.Error("page failed", "page", t.Name(), "error", err)
		s.problem(w, http.StatusInternalServerError, "Something went wrong on the server. It was logged.")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	if _, err := w.Write(b.Bytes()); err != nil {
		s.log.Debug("a page did not reach its reader", "error", err)
	}
}

func (s *Server) home(w http.ResponseWriter, _ *http.Request) {
	s.page(w, http.StatusOK, s.pages.home, homePage{Open: s.cfg.OpenShorten})
}

// homeAgain shows what was typed, with what is wrong beside it.
func (s *Server) homeAgain(w http.ResponseWriter, n snip.NewLink, p problem.Problem) {
	page := homePage{Open: true, Target: n.Target, Code: n.Code, Wrong: p.Detail}
	if len(p.Errors) > 0 && (p.Errors[0].Field == "url" || p.Errors[0].Field == "code") {
		page.Field = p.Errors[0].Field
	}
	s.page(w, p.Status, s.pages.home, page)
}

// preview shows where a link leads. While the store is away it lacks the title, and
// shows the target as the header Location has it.
func (s *Server) preview(w http.ResponseWriter, r *http.Request, code string, route snip.Route) {
	ctx, cancel := context.WithTimeout(r.Context(), staleWait)
	defer cancel()
	page := previewPage{ShortURL: s.shortURL(r, code), Target: route.Location}
	l, err := s.cfg.Links.Link(ctx, code)
	if snip.CodeOf(err) == snip.NotFound {
		s.fail(w, r, err)
		return
	}
	if err == nil {
		page.Target, page.Title = l.Target, l.Title
		if route, err = l.Route(); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	// As an URL the template would encode parts of it anew. It is safe: a target was
	// checked against the list of schemes before it was kept.
	page.Follow = template.HTMLAttr(`href="` + template.HTMLEscapeString(route.Location) + `"`)
	s.page(w, http.StatusOK, s.pages.preview, page)
}

func (s *Server) gone(w http.ResponseWriter, r *http.Request) {
	const text = "This link has expired."
	if wantsPage(r) {
		s.page(w, http.StatusGone, s.pages.message, messagePage{"Expired", text})
		return
	}
	s.problem(w, http.StatusGone, text)
}

func (s *Server) failPage(w http.ResponseWriter, p problem.Problem) {
	title := p.Title
	switch p.Code {
	case snip.NotFound:
		title = "Nothing here"
	case snip.Unavailable:
		title = "One moment"
	case snip.Forbidden:
		title = "A key is needed"
	}
	s.page(w, p.Status, s.pages.message, messagePage{title, p.Detail})
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, &snip.Error{Code: snip.NotFound, Message: "There is nothing at this address."})
}

// robots keeps crawlers from what is not for them. Links themselves may be followed.
func (s *Server) robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("User-agent: *\nDisallow: /api/\nDisallow: /-/\n")) // Who is gone needs no answer.
}

// asset serves an embedded file. Browsers ask each time whether it is still the
// same, so that a page of a new version never meets an old file.
func (s *Server) asset(name string) http.Handler {
	content, err := files.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // The name is not one of those that were embedded.
	}
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(content))[:16])
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
