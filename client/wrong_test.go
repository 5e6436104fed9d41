package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"snip"
	"snip/client"
)

func to(target string) snip.Settings { return snip.Settings{Target: target} }

// TestErrorsOfTheServer come back as those of the domain.
func TestErrorsOfTheServer(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	if _, _, err := c.CreateLink(ctx, snip.NewLink{Code: "abc", Settings: to("https://example.com/")}); err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	create := func(n snip.NewLink) func() error {
		return func() error { _, _, err := c.CreateLink(ctx, n); return err }
	}
	find := func(r snip.Ref) func() error { return func() error { _, err := c.Link(ctx, r); return err } }
	list := func(q snip.LinkQuery) func() error { return func() error { _, err := c.ListLinks(ctx, q); return err } }
	edit := func(code string, e snip.LinkEdit) func() error {
		return func() error { _, err := c.EditLink(ctx, snip.Ref{Code: code}, e); return err }
	}
	past := to("https://example.com/")
	past.ExpiresAt = noon.Add(-time.Hour)
	split := to("https://example.com/")
	split.Rules = []snip.Rule{{Split: []snip.Arm{{Target: "https://example.com/a", Weight: 0}, {Target: "https://example.com/b", Weight: 0}}}}
	for name, test := range map[string]struct {
		call  func() error
		code  snip.Code
		field string
	}{
		"create":            {create(snip.NewLink{Settings: to("bbc.co.uk")}), snip.Invalid, "url"},
		"create, taken":     {create(snip.NewLink{Code: "abc", Settings: to("https://example.com/")}), snip.Conflict, "code"},
		"create, expired":   {create(snip.NewLink{Settings: past}), snip.Invalid, "expires_at"},
		"create, no weight": {create(snip.NewLink{Settings: split}), snip.Invalid, "rules[0].split"},
		"create, too long":  {create(snip.NewLink{Settings: to(strings.Repeat("x", 2<<20))}), snip.TooLarge, ""},
		"create, elsewhere": {create(snip.NewLink{Domain: "none.example", Settings: to("https://example.com/")}), snip.Invalid, "domain"},
		"shorten": {func() error {
			_, err := c.Shorten(ctx, snip.NewLink{Code: "a/b", Settings: to("https://example.com/")})
			return err
		}, snip.Invalid, "code"},
		"find":           {find(snip.Ref{Code: "none"}), snip.NotFound, "code"},
		"find, odd":      {find(snip.Ref{Code: "../a?b#c/ü"}), snip.NotFound, "code"},
		"find, dots":     {find(snip.Ref{Code: ".."}), snip.NotFound, "code"},
		"find, none":     {find(snip.Ref{}), snip.NotFound, "code"},
		"list, all":      {list(snip.LinkQuery{Limit: 1_000_000_000}), snip.Invalid, "limit"},
		"list, none":     {list(snip.LinkQuery{}), snip.Invalid, "limit"},
		"list, cursor":   {list(snip.LinkQuery{Limit: 1, Cursor: "x"}), snip.Invalid, "cursor"},
		"list, sort":     {list(snip.LinkQuery{Limit: 1, Sort: "luck"}), snip.Invalid, "sort"},
		"edit":           {edit("abc", snip.LinkEdit{Title: text("a\nb")}), snip.Invalid, "title"},
		"edit, unknown":  {edit("none", snip.LinkEdit{Title: text("a")}), snip.NotFound, "code"},
		"edit, changed":  {edit("abc", snip.LinkEdit{Version: 7, Title: text("a")}), snip.Changed, ""},
		"delete":         {func() error { return c.DeleteLink(ctx, snip.Ref{Code: "none"}, 0) }, snip.NotFound, "code"},
		"bulk":           {func() error { _, err := c.ChangeLinks(ctx, snip.Bulk{Action: snip.BulkArchive}); return err }, snip.Invalid, "links"},
		"domain":         {func() error { _, err := c.CreateDomain(ctx, snip.NewDomain{Host: "a b"}); return err }, snip.Invalid, "host"},
		"domain, own":    {func() error { return c.DeleteDomain(ctx, "", 0) }, snip.Conflict, ""},
		"key":            {func() error { _, _, err := c.CreateKey(ctx, snip.NewKey{}); return err }, snip.Invalid, "scopes"},
		"key, the last":  {func() error { _, err := c.RevokeKey(ctx, 1); return err }, snip.Conflict, ""},
		"key, none such": {func() error { _, err := c.EditKey(ctx, 9, snip.KeyEdit{Label: text("a")}); return err }, snip.NotFound, ""},
	} {
		err := test.call()
		t.Run(name, func(t *testing.T) { wantError(t, err, test.code, test.field) })
	}
	for _, key := range []string{"", "snip_wrong"} {
		_, err := connect(t, client.Config{Server: i.address, Key: key}).ListLinks(ctx, snip.LinkQuery{Limit: 1})
		wantError(t, err, snip.Unauthorized, "")
	}
	if err := i.store.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, find(snip.Ref{Code: "abc"})(), snip.Unavailable, "")
}

// TestTextThatCannotBeSent: other characters in its place would be kept.
func TestTextThatCannotBeSent(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	bad := "https://example.com/\xff"
	good := to("https://example.com/")
	for field, spoil := range map[string]func(*snip.NewLink){
		"url": func(n *snip.NewLink) { n.Target = bad }, "title": func(n *snip.NewLink) { n.Title = bad },
		"note": func(n *snip.NewLink) { n.Note = bad }, "tags": func(n *snip.NewLink) { n.Tags = []string{"a", bad} },
		"domain": func(n *snip.NewLink) { n.Domain = bad }, "code": func(n *snip.NewLink) { n.Code = bad },
		"password": func(n *snip.NewLink) { n.Password = bad }, "fallback_url": func(n *snip.NewLink) { n.Fallback = bad },
		"campaign": func(n *snip.NewLink) { n.Campaign.Term = bad },
		"rules": func(n *snip.NewLink) {
			n.Rules = []snip.Rule{{When: snip.Conditions{Query: map[string][]string{"a": {bad}}}, Target: "https://example.com/"}}
		},
	} {
		n := snip.NewLink{Settings: good}
		spoil(&n)
		_, _, err := c.CreateLink(ctx, n)
		wantError(t, err, snip.Invalid, field)
	}
	_, err := c.EditLink(ctx, snip.Ref{Code: "abc"}, snip.LinkEdit{Code: &bad})
	wantError(t, err, snip.Invalid, "code")
	_, err = c.ChangeLinks(ctx, snip.Bulk{Action: snip.BulkTag, Links: []snip.Ref{{Code: bad}}, Tags: []string{"a"}})
	wantError(t, err, snip.Invalid, "links")
	_, err = c.CreateDomain(ctx, snip.NewDomain{Host: bad})
	wantError(t, err, snip.Invalid, "host")
	_, _, err = c.CreateKey(ctx, snip.NewKey{Label: bad, Scopes: []snip.Scope{snip.ScopeRead}})
	wantError(t, err, snip.Invalid, "label")
}

// TestLostAnswers: a link whose answer was lost is asked for once more, and there is
// one. What may not be done twice is not sent twice.
func TestLostAnswers(t *testing.T) {
	i := open(t)
	lose, asked, halfway := 0, 0, false
	var names []string
	cut := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		names = append(names, r.Header.Get("Idempotency-Key"))
		if asked > lose {
			i.handler.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		i.handler.ServeHTTP(answer, r)
		if halfway {
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}))
	cut.Config.SetKeepAlivesEnabled(false) // On a connection that was used before, net/http asks again by itself.
	cut.Start()
	defer cut.Close()
	c := connect(t, client.Config{Server: cut.URL, Key: i.key})

	var l snip.Link
	for n, half := range []bool{false, true} {
		lose, asked, halfway, names = 1, 0, half, nil
		var err error
		if l, _, err = c.CreateLink(t.Context(), snip.NewLink{Settings: to("https://example.com/")}); err != nil {
			t.Fatal(err)
		}
		if asked != 2 || names[0] == "" || names[0] != names[1] {
			t.Errorf("asked %d times, under %q", asked, names)
		}
		page, err := i.store.ListLinks(t.Context(), snip.LinkQuery{Limit: 10})
		if err != nil || len(page.Links) != n+1 || page.Links[0].ID != l.ID {
			t.Errorf("%d links, want those that were told of; %v", len(page.Links), err)
		}
	}

	lose, asked, halfway = 2, 0, false
	if _, _, err := c.CreateLink(t.Context(), snip.NewLink{Settings: to("https://example.com/")}); !errors.Is(err, client.ErrUnreachable) || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	lose, asked = 1, 0
	if err := c.DeleteLink(t.Context(), snip.Ref{Code: l.Code}, 0); !errors.Is(err, client.ErrUnreachable) || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// TestSecretsAreNotQuoted in errors about the configuration.
func TestSecretsAreNotQuoted(t *testing.T) {
	for _, cfg := range []client.Config{
		{Server: "https://ada:secret@snip.example"}, {Server: "https://snip.example", Key: "secret\nkey"}, {Server: "https://snip.example", Key: "secretü"},
	} {
		if _, err := client.New(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%+v) = %v", cfg, err)
		}
	}
}
