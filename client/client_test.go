package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snip"
	"snip/client"
	"snip/store"
	"snip/visitor"
	"snip/web"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// instance is a server over a real store.
type instance struct {
	store   *store.Store
	handler http.Handler
	address string
	key     string
}

func open(t *testing.T) *instance {
	t.Helper()
	links, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "snip.db"), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { links.Close() })
	_, key, err := links.CreateKey(t.Context(), snip.NewKey{Label: "test", Scopes: []snip.Scope{snip.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	visitors, err := visitor.New(visitor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	site, err := web.New(web.Config{
		Service: func(k snip.Key) snip.Service { return links.As(k) },
		Routes:  links, Limits: links, Keys: links, Domains: links.Domains, Visitors: visitors, Notes: noNotes{},
		Now:      func() time.Time { return noon },
		Progress: func(context.Context) (time.Time, int64, error) { return noon, 7, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.Close)
	server := httptest.NewServer(site.Handler())
	t.Cleanup(server.Close)
	return &instance{store: links, handler: site.Handler(), address: server.URL, key: key}
}

func connect(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	c := connect(t, client.Config{Server: address})
	_, err := c.Link(t.Context(), snip.Ref{Code: "abc"})
	if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Link = %v, want ErrUnreachable with its reason", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Link(ctx, snip.Ref{Code: "abc"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Link = %v, want it to tell that the caller gave up", err)
	}
}

// TestOtherServers: what is no Snip is an error, not an empty link, and gets no
// second request with the key.
func TestOtherServers(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusFound)
		},
		"page":      func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"not found": http.NotFound,
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				h(w, r)
			}))
			c := connect(t, client.Config{Server: server.URL, Key: "k"})
			l, err := c.Link(t.Context(), snip.Ref{Code: "abc"})
			server.Close()
			if err == nil || errors.Is(err, client.ErrUnreachable) || l.ID != 0 || asked != 1 {
				t.Errorf("Link = %+v, %v after %d requests, want an error after one", l, err, asked)
			}
		})
	}
}

func TestNewChecksTheAddress(t *testing.T) {
	for _, server := range []string{"", "localhost:8080", "127.0.0.1:8080", "ftp://example.com", "http://", "https:example.com", "://x"} {
		if _, err := client.New(client.Config{Server: server}); err == nil || !strings.Contains(err.Error(), "must be a URL") {
			t.Errorf("New(%q) = %v, want an error that says how", server, err)
		}
	}
}

func wantError(t *testing.T, err error, code snip.Code, field string) {
	t.Helper()
	e, ok := errors.AsType[*snip.Error](err)
	if !ok || e.Code != code || e.Field != field || e.Message == "" {
		t.Errorf("err = %#v, want %s of field %q", err, code, field)
	}
}

type noNotes struct{}

func (noNotes) Record(time.Time, []byte) error { return nil }
