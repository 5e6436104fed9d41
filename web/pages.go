package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"snip"
	"snip/problem"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages are the templates, each with the type it is executed with.
type pages struct {
	home     *template.Template // homePage
	made     *template.Template // madePage
	preview  *template.Template // previewPage
	password *template.Template // passwordPage
	message  *template.Template // messagePage
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

// previewPage shows where a link leads, or why it does not.
type previewPage struct {
	ShortURL, Target, Title string
	Varies                  bool              // It leads some visitors elsewhere.
	Hidden                  string            // Why Target is not shown.
	Follow                  template.HTMLAttr // The attribute href of where it leads.
}

// passwordPage asks for the password of a link.
type passwordPage struct {
	Code  string // By which browsers that keep passwords tell one link from another.
	Wrong string // What is wrong with the password before.
}

// messagePage says why there is no more to see.
type messagePage struct{ Title, Text string }

func newPages() (*pages, error) {
	p := &pages{}
	for name, t := range map[string]**template.Template{
		"home": &p.home, "made": &p.made, "preview": &p.preview, "password": &p.password, "message": &p.message,
	} {
		var err error
		if *t, err = template.ParseFS(files, "templates/layout.html", "templates/"+name+".html"); err != nil {
			return nil, fmt.Errorf("web: page %s: %w", name, err)
		}
	}
	return p, nil
}

// policy is what a page may load: files of the server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

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
	if h.Get("Content-Security-Policy") == "" {
		h.Set("Content-Security-Policy", policy+"; form-action 'self'")
	}
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

// root is what stands at / of a domain.
func (s *Server) root(w http.ResponseWriter, r *http.Request) {
	d := s.domains.of(r.Host, s.cfg.Now())
	switch {
	case d != nil && d.root != nil:
		lead(w, d.root)
	case d.custom():
		s.page(w, http.StatusOK, s.pages.message, messagePage{d.Host, "Short links live here."})
	default:
		s.page(w, http.StatusOK, s.pages.home, homePage{Open: s.cfg.OpenShorten})
	}
}

// lead sends a visitor to a page of a domain's owner.
func lead(w http.ResponseWriter, location []string) {
	h := w.Header()
	h["Location"] = location
	h["Cache-Control"] = noStore
	h["Content-Length"] = nothing
	w.WriteHeader(http.StatusFound)
}

// homeAgain shows what was typed, with what is wrong beside it.
func (s *Server) homeAgain(w http.ResponseWriter, n snip.NewLink, p problem.Problem) {
	page := homePage{Open: true, Target: n.Target, Code: n.Code, Wrong: p.Detail}
	if len(p.Errors) > 0 && (p.Errors[0].Field == "url" || p.Errors[0].Field == "code") {
		page.Field = p.Errors[0].Field
	}
	s.page(w, p.Status, s.pages.home, page)
}

// preview shows where a link leads, unless that is hidden. While the store is away it
// lacks the title, and shows the target as the header Location has it.
func (s *Server) preview(w http.ResponseWriter, r *http.Request, v *visit, hidden bool) {
	ctx, cancel := context.WithTimeout(r.Context(), staleWait)
	defer cancel()
	ref, route := snip.Ref{Domain: v.domain.Host, Code: v.code}, v.entry.link
	page := previewPage{ShortURL: s.shortURL(r, ref.Domain, ref.Code), Target: route.Location}
	l, err := s.cfg.Service(snip.Key{}).Link(ctx, ref)
	if snip.CodeOf(err) == snip.NotFound {
		s.missing(w, r, v.domain, "No link has this code.")
		return
	}
	if err == nil {
		page.Target, page.Title = l.Target, l.Title
		if route, err = l.Route(v.code, ""); err != nil {
			s.fail(w, r, err)
			return
		}
		// The cache may not have heard of it yet.
		hidden = hidden || l.HasPassword || l.ClickLimit > 0 || v.at.Before(l.StartsAt)
	}
	if hidden {
		s.page(w, http.StatusOK, s.pages.preview, previewPage{ShortURL: page.ShortURL, Hidden: "Its owner does not want to show beforehand where this link leads."})
		return
	}
	page.Varies = route.Special != nil && len(route.Special.Rules) > 0
	// As an URL the template would encode parts of it anew. It is safe: a target was
	// checked against the list of schemes before it was kept.
	page.Follow = template.HTMLAttr(`href="` + template.HTMLEscapeString(route.Location) + `"`)
	s.page(w, http.StatusOK, s.pages.preview, page)
}

func (s *Server) gone(w http.ResponseWriter, r *http.Request, v *visit) {
	page := messagePage{"Used up", "This link has been followed as often as it may be."}
	if v.entry.link.Expired(v.at) {
		page = messagePage{"Expired", "This link has expired."}
	}
	if wantsPage(r) {
		s.page(w, http.StatusGone, s.pages.message, page)
		return
	}
	s.problem(w, http.StatusGone, page.Text)
}

func (s *Server) failPage(w http.ResponseWriter, p problem.Problem) {
	title := p.Title
	switch p.Code {
	case snip.NotFound:
		title = "Nothing here"
	case snip.Unavailable:
		title = "One moment"
	case snip.Unauthorized:
		title = "A key is needed"
	case snip.Forbidden:
		title = "Not allowed"
	}
	s.page(w, p.Status, s.pages.message, messagePage{title, p.Detail})
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	d := s.domains.of(r.Host, s.cfg.Now())
	if !d.custom() && (strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/-/")) {
		d = nil // What is missing there is the server's own, not a page of the domain's owner.
	}
	s.missing(w, r, d, "There is nothing at this address.")
}

// missing answers for what is not there as the owner of the domain wants it.
func (s *Server) missing(w http.ResponseWriter, r *http.Request, d *domain, message string) {
	switch {
	case d != nil && d.notFound != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		lead(w, d.notFound)
	case d != nil && wantsPage(r):
		s.page(w, http.StatusNotFound, s.pages.message, messagePage{"Nothing here", cmp.Or(d.NotFoundText, message)})
	default:
		s.fail(w, r, &snip.Error{Code: snip.NotFound, Message: message})
	}
}

// robots keeps crawlers from what is not for them. Links themselves may be followed.
func (s *Server) robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("User-agent: *\nDisallow: /api/\nDisallow: /-/\n")) // Who is gone needs no answer.
}

// asset serves an embedded file. Browsers ask each time whether it is still the
// same, so that a page of a new version never meets an old file.
func (s *Server) asset(name string) http.Handler {
	// Summed up when somebody asks, so that large ones are not read in vain.
	tag := sync.OnceValues(func() (string, error) {
		sum := sha256.New()
		err := copyAsset(sum, name)
		return tagOfContent([sha256.Size]byte(sum.Sum(nil))), err
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// It stays where it is in the program: some are large, and hardly ever asked for.
		f, err := files.Open("assets/" + name)
		if err != nil {
			s.fail(w, r, fmt.Errorf("web: asset: %w", err))
			return
		}
		defer f.Close() // It was read only.
		etag, err := tag()
		if err != nil {
			s.fail(w, r, fmt.Errorf("web: asset %s: %w", name, err))
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", etag)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		http.ServeContent(w, r, "", time.Time{}, f.(io.ReadSeeker)) // Every embedded file is one.
	})
}

// tagOfContent is the ETag of what has a sum.
func tagOfContent(sum [sha256.Size]byte) string {
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func copyAsset(w io.Writer, name string) error {
	f, err := files.Open("assets/" + name)
	if err != nil {
		return err
	}
	defer f.Close() // It was read only.
	_, err = io.Copy(w, f)
	return err
}
