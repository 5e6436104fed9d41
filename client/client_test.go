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

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/client"
	"snip/store"
	"snip/web"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// instance is a server over a real store.
type instance struct {
	store   *store.Store
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
	key, err := links.CreateAdminKey(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	site, err := web.New(web.Config{
		Links: links, Stats: links, Keys: links, Notes: noNotes{},
		Progress: func(context.Context) (time.Time, int64, error) { return noon, 7, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.Close)
	server := httptest.NewServer(site.Handler())
	t.Cleanup(server.Close)
	return &instance{store: links, address: server.URL, key: key}
}

func connect(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClientIsLikeTheStore: every method answers what the store behind the server
// does.
func TestClientIsLikeTheStore(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address + "/", Key: i.key})
	ctx := t.Context()
	n := snip.NewLink{Target: `https://example.com/?a=<b>&c=%2B+#é"`, Code: "abc", Title: "Tü & <b>", ExpiresAt: noon.Add(time.Hour)}
	made, err := c.CreateLink(ctx, n)
	want(t, i.store, made, err)
	if made.Target != n.Target || made.Title != n.Title || !made.ExpiresAt.Equal(n.ExpiresAt) {
		t.Errorf("made %+v of %+v", made, n)
	}
	found, err := c.Link(ctx, "abc")
	want(t, i.store, found, err)

	other, title := "xyz", ""
	edited, err := c.EditLink(ctx, "abc", snip.LinkEdit{Code: &other, Title: &title, ExpiresAt: &time.Time{}})
	want(t, i.store, edited, err)
	if edited.Code != other || edited.Title != "" || !edited.ExpiresAt.IsZero() {
		t.Errorf("edited to %+v", edited)
	}
	same, err := c.EditLink(ctx, "xyz", snip.LinkEdit{})
	want(t, i.store, same, err)

	short, err := c.Shorten(ctx, snip.NewLink{Target: "https://example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (client.Short{Code: short.Code, ShortURL: i.address + "/" + short.Code, Target: "https://example.com/"}); short != want {
		t.Errorf("Shorten = %+v, want %+v", short, want)
	}

	for _, p := range []snip.Page{{Limit: 1}, {Limit: 1000}, {Limit: 1, After: 2}, {Limit: 5, After: 1}} {
		got, err := c.ListLinks(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := i.store.ListLinks(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]snip.Link{}, stored...), got); diff != "" {
			t.Errorf("ListLinks(%+v): %s", p, diff)
		}
	}

	if err := c.DeleteLink(ctx, "xyz"); err != nil {
		t.Fatal(err)
	}
	_, err = i.store.Link(ctx, "xyz")
	wantError(t, err, snip.NotFound, "code")
}

// TestErrorsOfTheServer come back as those of the domain.
func TestErrorsOfTheServer(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	if _, err := c.CreateLink(ctx, snip.NewLink{Target: "https://example.com/", Code: "abc"}); err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		call  func() error
		code  snip.Code
		field string
	}{
		"create": {func() error { _, err := c.CreateLink(ctx, snip.NewLink{Target: "bbc.co.uk"}); return err }, snip.Invalid, "url"},
		"create, taken": {func() error {
			_, err := c.CreateLink(ctx, snip.NewLink{Target: "https://example.com/", Code: "abc"})
			return err
		}, snip.Conflict, "code"},
		"create, expired": {func() error {
			_, err := c.CreateLink(ctx, snip.NewLink{Target: "https://example.com/", ExpiresAt: noon})
			return err
		}, snip.Invalid, "expires_at"},
		"create, too long": {func() error {
			_, err := c.CreateLink(ctx, snip.NewLink{Target: strings.Repeat("x", 1<<20)})
			return err
		}, snip.TooLarge, ""},
		"shorten": {func() error {
			_, err := c.Shorten(ctx, snip.NewLink{Target: "https://example.com/", Code: "a/b"})
			return err
		}, snip.Invalid, "code"},
		"find":          {func() error { _, err := c.Link(ctx, "none"); return err }, snip.NotFound, "code"},
		"find, odd":     {func() error { _, err := c.Link(ctx, "../a?b#c/ü"); return err }, snip.NotFound, "code"},
		"list":          {func() error { _, err := c.ListLinks(ctx, snip.Page{Limit: 1001}); return err }, snip.Invalid, "limit"},
		"list, after":   {func() error { _, err := c.ListLinks(ctx, snip.Page{Limit: 1, After: -1}); return err }, snip.Invalid, "after"},
		"edit":          {func() error { _, err := c.EditLink(ctx, "abc", snip.LinkEdit{Title: text("a\nb")}); return err }, snip.Invalid, "title"},
		"edit, unknown": {func() error { _, err := c.EditLink(ctx, "none", snip.LinkEdit{Title: text("a")}); return err }, snip.NotFound, "code"},
		"delete":        {func() error { return c.DeleteLink(ctx, "none") }, snip.NotFound, "code"},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, test.call(), test.code, test.field) })
	}
	for _, key := range []string{"", "snip_wrong"} {
		_, err := connect(t, client.Config{Server: i.address, Key: key}).ListLinks(ctx, snip.Page{Limit: 1})
		wantError(t, err, snip.Forbidden, "")
	}
	if err := i.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Link(ctx, "abc")
	wantError(t, err, snip.Unavailable, "")
}

// TestTextThatCannotBeSent: other characters in its place would be kept.
func TestTextThatCannotBeSent(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	bad := "https://example.com/\xff"
	_, err := c.CreateLink(t.Context(), snip.NewLink{Target: bad})
	wantError(t, err, snip.Invalid, "url")
	_, err = c.Shorten(t.Context(), snip.NewLink{Target: "https://example.com/", Title: bad})
	wantError(t, err, snip.Invalid, "title")
	_, err = c.EditLink(t.Context(), "abc", snip.LinkEdit{Code: &bad})
	wantError(t, err, snip.Invalid, "code")
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	c := connect(t, client.Config{Server: address})
	_, err := c.Link(t.Context(), "abc")
	if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Link = %v, want ErrUnreachable with its reason", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Link(ctx, "abc"); !errors.Is(err, context.Canceled) {
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
			l, err := c.Link(t.Context(), "abc")
			server.Close()
			if err == nil || errors.Is(err, client.ErrUnreachable) || l != (snip.Link{}) || asked != 1 {
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

// want checks that a link is the one that the store has.
func want(t *testing.T, links *store.Store, got snip.Link, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := links.Link(t.Context(), got.Code)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, got); diff != "" {
		t.Error(diff)
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
