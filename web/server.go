// Package web is what visitors and programs meet: the redirect path, the API and
// the pages.
//
// The redirect path waits for nothing but the link, and for that only where it was
// not seen before. Counting happens elsewhere: a click is noted, and whatever
// becomes of the note changes no answer.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip"
)

// Keys checks the secrets that programs send.
type Keys interface {
	// CheckKey returns the key of a secret, or a *snip.Error of code Forbidden.
	CheckKey(ctx context.Context, secret string) (snip.Key, error)
}

// Notes takes what is noted of a click. It must not wait; an error means that it
// counted the note as dropped.
type Notes interface {
	Record(at time.Time, note []byte) error
}

// Config is what a server is made of. Links, Stats, Keys and Notes must be set.
type Config struct {
	Links snip.Links
	Stats snip.Statistics
	Keys  Keys
	Notes Notes

	// Progress tells up to when clicks are counted, and how many were dropped, ever.
	// Default: unknown, and none.
	Progress func(ctx context.Context) (countedUpTo time.Time, dropped int64, err error)

	// Zone is where the days of statistics begin and end unless a question names
	// another. It must have an IANA name. Default: UTC.
	Zone *time.Location

	// Unknown gets the report of unknown codes, for as long as Run runs. Default: there
	// is none.
	Unknown UnknownCodes

	BaseURL     string // Public address without a slash at its end. Default: that of each request.
	OpenShorten bool   // Anybody may POST /shorten.

	Proxies        Proxies // Whose word about a visitor's address is taken. Default: nobody's.
	RespectPrivacy bool    // Of visitors who send DNT or Sec-GPC only the user agent is noted.

	CacheBytes   int64 // Bound of the links kept in memory. Default: 32 MiB.
	CacheUnknown int   // Bound of the unknown codes kept in memory. Default: 4,000.

	Metrics prometheus.Registerer // Default: none.
	Logger  *slog.Logger          // Default: none.
	Now     func() time.Time      // Default: time.Now.
}

// Server is safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	cache   *cache
	unknown *unknown // Nil: there is no report.
	metrics *metrics
	pages   *pages
	buffers sync.Pool // Of *[]byte, for notes.
	mux     http.Handler
}

// New makes a server. It does no I/O.
func New(cfg Config) (*Server, error) {
	if cfg.Links == nil || cfg.Stats == nil || cfg.Keys == nil || cfg.Notes == nil {
		return nil, errors.New("web: Links, Stats, Keys and Notes must be set")
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if name := cfg.Zone.String(); name == "" || name == "Local" {
		return nil, fmt.Errorf("web: Zone is named %q, must have an IANA name such as Europe/Berlin", name)
	}
	if cfg.CacheBytes < 0 || cfg.CacheUnknown < 0 {
		return nil, errors.New("web: CacheBytes and CacheUnknown must not be negative")
	}
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 32 << 20
	}
	if cfg.CacheUnknown == 0 {
		cfg.CacheUnknown = 4_000
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, log: cfg.Logger}
	var err error
	if s.cache, err = newCache(cfg); err != nil {
		return nil, err
	}
	if s.pages, err = newPages(); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(cfg.Metrics, s.cache)
	s.unknown = newUnknown(cfg)
	if s.mux, err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close waits for what the server still does in the background. Requests must have
// ended before.
func (s *Server) Close() { s.cache.close() }

// routes is everything that is not a code.
func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /shorten", limited(s.shorten))
	// Where the address of the page with the new link is opened again.
	mux.Handle("GET /shorten", http.RedirectHandler("/", http.StatusSeeOther))
	mux.HandleFunc("GET /api/v1/links", s.withKey(s.listLinks))
	mux.HandleFunc("POST /api/v1/links", s.withKey(s.createLink))
	mux.HandleFunc("GET /api/v1/links/{code}", s.withKey(s.getLink))
	mux.HandleFunc("PATCH /api/v1/links/{code}", s.withKey(s.editLink))
	mux.HandleFunc("DELETE /api/v1/links/{code}", s.withKey(s.deleteLink))
	mux.HandleFunc("GET /api/v1/links/{code}/stats", s.withKey(s.linkStats))
	mux.HandleFunc("GET /api/v1/stats", s.withKey(s.allStats))
	mux.HandleFunc("GET /api/v1/stats/links", s.withKey(s.popularLinks))
	mux.HandleFunc("GET /api/v1/stats/unknown-codes", s.withKey(s.unknownCodes))
	mux.HandleFunc("GET /robots.txt", s.robots)
	mux.Handle("GET /favicon.ico", s.asset("favicon.svg"))
	mux.Handle("GET /-/assets/style.css", s.asset("style.css"))
	mux.Handle("GET /-/assets/copy.js", s.asset("copy.js"))
	mux.HandleFunc("/", s.notFound)
	for path, methods := range map[string]string{
		"/shorten":                    "GET, HEAD, POST",
		"/api/v1/links":               "GET, HEAD, POST",
		"/api/v1/links/{code}":        "GET, HEAD, PATCH, DELETE",
		"/api/v1/links/{code}/stats":  "GET, HEAD",
		"/api/v1/stats":               "GET, HEAD",
		"/api/v1/stats/links":         "GET, HEAD",
		"/api/v1/stats/unknown-codes": "GET, HEAD",
	} {
		mux.HandleFunc(path, s.otherMethod(methods))
	}

	// Another site's page must not act here with its visitor's browser.
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(s.crossOrigin))
	if s.cfg.BaseURL != "" {
		// A proxy may ask for another host than the visitor did.
		if err := guard.AddTrustedOrigin(s.cfg.BaseURL); err != nil {
			return nil, fmt.Errorf("web: BaseURL must be a scheme and a host: %w", err)
		}
	}
	return guard.Handler(mux), nil
}

// otherMethod answers for a path that has methods, but not this one.
func (s *Server) otherMethod(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		s.problem(w, http.StatusMethodNotAllowed, "Accepted here are "+allow+".")
	}
}

// Handler serves visitors and programs.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, preview, ok := codeOf(r.URL.Path); ok {
			s.visit(w, r, code, preview)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// codeOf tells whether a path is /code, /code/ or /code+, and no path of the
// server's own.
func codeOf(path string) (code string, preview, ok bool) {
	if len(path) < 2 {
		return "", false, false
	}
	code = path[1:]
	if c, found := strings.CutSuffix(code, "+"); found {
		code, preview = c, true
	} else {
		code = strings.TrimSuffix(code, "/")
	}
	if code == "" || len(code) > snip.MaxCode || code == "shorten" || code == "api" || code == "-" {
		return "", false, false
	}
	for i := range len(code) {
		c := code[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return "", false, false
		}
	}
	return code, preview, true
}
