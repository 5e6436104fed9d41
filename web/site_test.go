package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/store"
	"snip/visitor"
	"snip/web"
)

// site is a server over a real store on a file of its own.
type site struct {
	t     *testing.T
	web   *web.Server
	store *store.Store
	notes *notes
	key   string
	clock *clock
}

// openSite makes a site. What the configuration leaves out is the store, or a notebook.
func openSite(t *testing.T, cfg web.Config) *site {
	t.Helper()
	s := &site{t: t, notes: &notes{}, clock: &clock{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}}
	var err error
	s.store, err = store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "snip.db"), Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, s.key, err = s.store.CreateKey(t.Context(), snip.NewKey{Label: "test", Scopes: []snip.Scope{snip.ScopeAdmin}}); err != nil {
		t.Fatal(err)
	}
	s.web = s.another(cfg)
	return s
}

// another is one more server over the store, which serves as the configuration says.
func (s *site) another(cfg web.Config) *web.Server {
	s.t.Helper()
	if cfg.Service == nil {
		cfg.Service = func(k snip.Key) snip.Service { return s.store.As(k) }
	}
	if cfg.Routes == nil {
		cfg.Routes = s.store
	}
	if cfg.Limits == nil {
		cfg.Limits = s.store
	}
	if cfg.Domains == nil {
		cfg.Domains = s.store.Domains
	}
	if cfg.Keys == nil {
		cfg.Keys = s.store
	}
	if cfg.Notes == nil {
		cfg.Notes = s.notes
	}
	if cfg.Now == nil {
		cfg.Now = s.clock.Now
	}
	return newServer(s.t, cfg)
}

// newServer makes a server. What the configuration leaves out is nowhere.
func newServer(t testing.TB, cfg web.Config) *web.Server {
	t.Helper()
	if cfg.Service == nil {
		cfg.Service = as(nowhere{})
	}
	if cfg.Routes == nil {
		cfg.Routes = nowhere{}
	}
	if cfg.Limits == nil {
		cfg.Limits = nowhere{}
	}
	if cfg.Keys == nil {
		cfg.Keys = nowhere{}
	}
	if cfg.Notes == nil {
		cfg.Notes = nowhere{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewPedanticRegistry()
	}
	if cfg.Visitors == nil {
		var err error
		if cfg.Visitors, err = visitor.New(visitor.Config{}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := web.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// as is the same service for every key.
func as(s snip.Service) func(snip.Key) snip.Service {
	return func(snip.Key) snip.Service { return s }
}

func (s *site) create(n snip.NewLink) snip.Link {
	s.t.Helper()
	if n.Target == "" {
		n.Target = "https://example.com/"
	}
	l, _, err := s.store.CreateLink(s.t.Context(), n)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// do sends a request. Headers are name, value, name, value.
func (s *site) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	return do(s.t, s.web, method, path, body, headers...)
}

// api sends JSON with the key.
func (s *site) api(method, path, body string) answer {
	s.t.Helper()
	return s.do(method, path, body, "Authorization", "Bearer "+s.key, "Content-Type", "application/json")
}

// visit follows a link as a program does.
func (s *site) visit(path string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, path, "")
}

// wantClicks checks how many clicks were noted so far.
func (s *site) wantClicks(n int) {
	s.t.Helper()
	if got := len(s.notes.all()); got != n {
		s.t.Errorf("%d clicks noted, want %d", got, n)
	}
}

func newRequest(t *testing.T, path string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
}

func do(t *testing.T, w *web.Server, method, path, body string, headers ...string) answer {
	t.Helper()
	return doContext(t.Context(), w, method, path, body, headers...)
}

func doContext(ctx context.Context, w *web.Server, method, path, body string, headers ...string) answer {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return serveRequest(w, r)
}

func serveRequest(w *web.Server, r *http.Request) answer {
	rec := httptest.NewRecorder()
	w.Handler().ServeHTTP(rec, r)
	return answer{rec.Code, rec.Result().Header, rec.Body.String()}
}

// serve puts a site on a port. Its client follows no redirect.
func serve(t *testing.T, w *web.Server) (address string, client *http.Client) {
	t.Helper()
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	client = server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server.URL, client
}

// ask sends a request over the network.
func ask(t *testing.T, client *http.Client, method, url string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// notes is a notebook in memory.
type notes struct {
	mu     sync.Mutex // Protects the fields below.
	kept   []string
	err    error
	before func() // Called for each note, before it is kept.
}

func (n *notes) Record(_ time.Time, note []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.before != nil {
		n.before()
	}
	n.kept = append(n.kept, string(note))
	return n.err
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.kept)
}

// last returns what was noted last.
func (n *notes) last(t *testing.T) web.Note {
	t.Helper()
	all := n.all()
	if len(all) == 0 {
		t.Fatal("nothing was noted")
	}
	note, err := web.DecodeNote([]byte(all[len(all)-1]))
	if err != nil {
		t.Fatal(err)
	}
	return note
}

type clock struct {
	mu  sync.Mutex // Protects now.
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
