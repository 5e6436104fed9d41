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
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/visitor"
)

// Keys checks the secrets that programs send.
type Keys interface {
	// CheckKey returns the key of a secret, or a *snip.Error of code Unauthorized.
	CheckKey(ctx context.Context, secret string) (snip.Key, error)
}

// Routes is where the redirect path asks for links.
type Routes interface {
	// Route finds a link by its code or an alias on a domain, empty for the instance's
	// own; a *snip.Error of code NotFound says that there is none.
	Route(ctx context.Context, domain, code string) (snip.Route, error)
}

// Limits are the click limits of links. Both methods decide in one step, for all
// instances at once.
type Limits interface {
	// TakeClick takes one of the redirects of a link that its limit leaves, or reports
	// false if none is left.
	TakeClick(ctx context.Context, link, limit int64) (bool, error)
	// ClickLeft reports whether one is left, and takes none.
	ClickLeft(ctx context.Context, link, limit int64) (bool, error)
}

// Notes takes what is noted of a click. It must not wait; an error means that it
// counted the note as dropped.
type Notes interface {
	Record(at time.Time, note []byte) error
}

// Config is what a server is made of. Service, Routes, Limits, Keys, Notes and Visitors
// must be set.
type Config struct {
	// Service is all that a key can ask for; the zero key stands for whoever has none.
	Service  func(snip.Key) snip.Service
	Routes   Routes
	Limits   Limits
	Keys     Keys
	Notes    Notes
	Visitors *visitor.Reader // Tells the rules and limits of links who comes.

	// Domains returns all domains. Default: there is only the instance's own.
	Domains func(ctx context.Context) ([]snip.Domain, error)

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
	cfg        Config
	log        *slog.Logger
	cache      *cache
	domains    *domains
	locks      *locks
	unknown    *unknown // Nil: there is no report.
	metrics    *metrics
	pages      *pages
	simplest   simplest                    // Of POST /shorten.
	limitsAway quiet                       // For the log.
	buffers    sync.Pool                   // Of *[]byte, for notes.
	guard      *http.CrossOriginProtection // Another site's page must not act here with its visitor's browser.
	own        http.Handler                // What is no code, on the instance's own domain.
	custom     http.Handler                // The same on all others.
}

// New makes a server. It does no I/O.
func New(cfg Config) (*Server, error) {
	if cfg.Service == nil || cfg.Routes == nil || cfg.Limits == nil || cfg.Keys == nil || cfg.Notes == nil || cfg.Visitors == nil {
		return nil, errors.New("web: Service, Routes, Limits, Keys, Notes and Visitors must be set")
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
	s := &Server{cfg: cfg, log: cfg.Logger, simplest: newSimplest()}
	var err error
	if s.cache, err = newCache(cfg); err != nil {
		return nil, err
	}
	if s.pages, err = newPages(); err != nil {
		return nil, err
	}
	if s.locks, err = newLocks(); err != nil {
		return nil, err
	}
	s.domains = newDomains(cfg, s.cache.doubtAll)
	s.metrics = newMetrics(cfg.Metrics, s.cache)
	s.unknown = newUnknown(cfg)
	if err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close waits for what the server still does in the background. Requests must have
// ended before.
func (s *Server) Close() {
	s.cache.close()
	s.domains.close()
}

// routes is everything that is not a code.
func (s *Server) routes() error {
	s.guard = http.NewCrossOriginProtection()
	s.guard.SetDenyHandler(http.HandlerFunc(s.crossOrigin))
	if s.cfg.BaseURL != "" {
		// A proxy may ask for another host than the visitor did.
		if err := s.guard.AddTrustedOrigin(s.cfg.BaseURL); err != nil {
			return fmt.Errorf("web: BaseURL must be a scheme and a host: %w", err)
		}
	}
	own := s.everywhere()
	own.HandleFunc("POST /shorten", limited(s.shorten))
	// Where the address of the page with the new link is opened again.
	own.Handle("GET /shorten", http.RedirectHandler("/", http.StatusSeeOther))
	own.HandleFunc("/shorten", s.otherMethod("GET, HEAD, POST"))
	own.Handle("GET /-/assets/copy.js", s.asset("copy.js"))
	s.mountAPI(own)
	s.own, s.custom = s.guard.Handler(own), s.guard.Handler(s.everywhere())
	return nil
}

// everywhere is what is there on any domain.
func (s *Server) everywhere() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.root)
	mux.HandleFunc("GET /robots.txt", s.robots)
	mux.Handle("GET /favicon.ico", s.asset("favicon.svg"))
	mux.Handle("GET /-/assets/style.css", s.asset("style.css"))
	mux.HandleFunc("/", s.notFound)
	return mux
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
		now := s.cfg.Now()
		d := s.domains.of(r.Host, now)
		if p, ok := pathOf(r.URL); ok {
			s.visit(w, r, d, p, now)
			return
		}
		if d.custom() {
			s.custom.ServeHTTP(w, r)
			return
		}
		s.own.ServeHTTP(w, r)
	})
}
