package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/client"
)

// everything is a link with all settings.
func everything() snip.NewLink {
	return snip.NewLink{
		Code: "abc", Password: " open sesame ",
		Settings: snip.Settings{
			Target: `https://example.com/?a=<b>&c=%2B+#é"`, Title: "Tü & <b>", Note: "one\ntwo", Tags: []string{"a & b", "spring"},
			StartsAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour), ClickLimit: 5, Fallback: "https://example.com/late",
			Status: 308, Query: snip.QueryKeep, ForwardPath: true,
			Rules: []snip.Rule{
				{Name: "phones", When: snip.Conditions{
					Devices: []string{"phone"}, Languages: []string{"pt-BR"}, Query: map[string][]string{"a": {"1", "<"}}, From: noon,
				}, Target: "https://m.example.com/"},
				{Split: []snip.Arm{{Name: "new", Target: "https://new.example.com/", Weight: 1}, {Target: "https://old.example.com/", Weight: 3}}},
			},
			Campaign: snip.Campaign{Source: "letter", Name: "spring & more"},
		},
	}
}

// TestLinksAreThoseOfTheStore: every method answers what the store behind the server
// does.
func TestLinksAreThoseOfTheStore(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address + "/", Key: i.key})
	ctx := t.Context()
	if _, err := c.CreateDomain(ctx, snip.NewDomain{Host: "go.example"}); err != nil {
		t.Fatal(err)
	}
	for _, domain := range []string{"", "go.example"} {
		n := everything()
		n.Domain = domain
		ref := snip.Ref{Domain: domain, Code: "abc"}
		made, isNew, err := c.CreateLink(ctx, n)
		i.want(t, made, err)
		if !isNew || !made.HasPassword || cmp.Diff(n.Settings, made.Settings) != "" {
			t.Errorf("made: %v; %s", isNew, cmp.Diff(n.Settings, made.Settings))
		}
		short := i.address + "/abc"
		if domain != "" {
			short = "http://go.example/abc"
		}
		if got := c.ShortURL(made); got != short {
			t.Errorf("ShortURL = %q, want %q", got, short)
		}
		found, err := c.Link(ctx, ref)
		i.want(t, found, err)

		code := "xyz"
		edited, err := c.EditLink(ctx, ref, snip.LinkEdit{Version: made.Version, Code: &code, KeepCode: true, Campaign: &snip.Campaign{Term: "t"}})
		i.want(t, edited, err)
		if !slices.Equal(edited.Aliases, []string{"abc"}) || edited.Campaign != (snip.Campaign{Term: "t"}) || edited.Version <= made.Version {
			t.Errorf("edited to %+v", edited)
		}
		plain, err := c.EditLink(ctx, ref, snip.LinkEdit{
			Password: new(string), Title: new(string), Note: new(string), Tags: new([]string), StartsAt: new(time.Time), ExpiresAt: new(time.Time),
			ClickLimit: new(int64), Fallback: new(string), Status: new(int), Query: new(snip.QueryPolicy), ForwardPath: new(bool),
			Rules: new([]snip.Rule), Campaign: new(snip.Campaign), Aliases: new([]string),
		})
		i.want(t, plain, err)
		if plain.Status = 0; cmp.Diff(snip.Settings{Target: n.Target}, plain.Settings, alike) != "" || plain.HasPassword || len(plain.Aliases) != 0 {
			t.Errorf("all was taken away, but %+v", plain)
		}
		yes := true
		archived, err := c.EditLink(ctx, snip.Ref{Domain: domain, Code: code}, snip.LinkEdit{Archived: &yes})
		i.want(t, archived, err)
		if archived.ArchivedAt.IsZero() {
			t.Error("not archived")
		}
		_, err = c.EditLink(ctx, snip.Ref{Domain: domain, Code: code}, snip.LinkEdit{Version: made.Version, Title: &code})
		wantError(t, err, snip.Changed, "")
		wantError(t, c.DeleteLink(ctx, snip.Ref{Domain: domain, Code: code}, made.Version), snip.Changed, "")
		if err := c.DeleteLink(ctx, snip.Ref{Domain: domain, Code: code}, archived.Version); err != nil {
			t.Error(err)
		}
		_, err = i.store.Link(ctx, snip.Ref{Domain: domain, Code: code})
		wantError(t, err, snip.NotFound, "code")
	}
}

// TestListsAreThoseOfTheStore: page by page, of each question.
func TestListsAreThoseOfTheStore(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	var refs []snip.Ref
	for _, code := range []string{"spring1", "spring2", "spring3", "autumn"} {
		n := snip.NewLink{Code: code, Settings: snip.Settings{Target: "https://example.com/" + code, Title: "sale & more", ExpiresAt: noon.Add(time.Hour)}}
		if _, _, err := c.CreateLink(ctx, n); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, snip.Ref{Code: code})
	}
	bulk := func(b snip.Bulk, done int, failed ...string) {
		t.Helper()
		got, err := c.ChangeLinks(ctx, b)
		if err != nil || got.Done != done || len(got.Failed) != len(failed) {
			t.Fatalf("ChangeLinks(%+v) = %+v, %v", b, got, err)
		}
		for n, f := range got.Failed {
			if f.Code != failed[n] {
				t.Errorf("%+v failed, want %s", f, failed[n])
			}
			wantError(t, f.Err, snip.NotFound, "")
		}
	}
	bulk(snip.Bulk{Action: snip.BulkTag, Links: append(refs[:3:3], snip.Ref{Code: "none"}), Tags: []string{"a & b"}}, 3, "none")
	bulk(snip.Bulk{Action: snip.BulkUntag, Links: refs[:1], Tags: []string{"a & b"}}, 1)
	bulk(snip.Bulk{Action: snip.BulkArchive, Links: refs[2:3]}, 1)
	tags, err := c.Tags(ctx)
	if diff := cmp.Diff([]snip.TagCount{{Tag: "a & b", Links: 2}}, tags); diff != "" || err != nil {
		t.Errorf("Tags: %v; %s", err, diff)
	}
	other := "go.example"
	for _, q := range []snip.LinkQuery{
		{}, {Search: "spring"}, {Search: "SALE more"}, {Tags: []string{"a & b"}}, {Domain: new(string)}, {Domain: &other}, {Archived: snip.ArchivedAll},
		{Archived: snip.ArchivedOnly}, {Sort: snip.SortCode}, {Sort: snip.SortExpiry}, {Sort: snip.SortOldest, Owner: 1}, {Owner: 2},
	} {
		ours, theirs := q, q
		ours.Limit, theirs.Limit = 1, 1
		for range 5 {
			got, err := c.ListLinks(ctx, ours)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			want, err := i.store.ListLinks(ctx, theirs)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			if diff := cmp.Diff(want.Links, got.Links, alike, sameStatus); diff != "" || (want.Next == "") != (got.Next == "") {
				t.Errorf("%+v: next %q and %q; %s", q, want.Next, got.Next, diff)
			}
			if ours.Cursor, theirs.Cursor = got.Next, want.Next; got.Next == "" {
				break
			}
		}
	}
	bulk(snip.Bulk{Action: snip.BulkRestore, Links: refs[2:3]}, 1)
	bulk(snip.Bulk{Action: snip.BulkDelete, Links: refs}, 4)
	page, err := c.ListLinks(ctx, snip.LinkQuery{Limit: 1, Archived: snip.ArchivedAll})
	if err != nil || len(page.Links) != 0 {
		t.Errorf("after all were deleted: %+v, %v", page, err)
	}
}

// TestMadeOnce: a link that is there is said to be.
func TestMadeOnce(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	n := snip.NewLink{IdempotencyKey: "order 7", Settings: snip.Settings{Target: "https://example.com/"}}
	first, made, err := c.CreateLink(ctx, n)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	again, _, err := c.CreateLink(ctx, n)
	if err != nil || again.ID != first.ID {
		t.Errorf("asked again: %+v, %v, want link %d", again, err, first.ID)
	}
	n.Title = "another"
	_, _, err = c.CreateLink(ctx, n)
	wantError(t, err, snip.Reused, "Idempotency-Key")
	n = snip.NewLink{Reuse: true, Settings: snip.Settings{Target: "https://example.com/"}}
	again, made, err = c.CreateLink(ctx, n)
	if err != nil || made || again.ID != first.ID {
		t.Errorf("reused: %+v, %v, %v, want link %d", again, made, err, first.ID)
	}
	n.IdempotencyKey = "tab\t"
	_, _, err = c.CreateLink(ctx, n)
	wantError(t, err, snip.Invalid, "Idempotency-Key")
}

// TestDomainsAndKeysAreThoseOfTheStore, the secrets of keys left out.
func TestDomainsAndKeysAreThoseOfTheStore(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	made, err := c.CreateDomain(ctx, snip.NewDomain{Host: "Bücher.example", IgnoreCase: true, Root: "https://example.com/", NotFoundText: "No\nsuch <b>."})
	if err != nil || made.Host != "xn--bcher-kva.example" || !made.IgnoreCase || made.NotFoundText != "No\nsuch <b>." {
		t.Fatalf("CreateDomain = %+v, %v", made, err)
	}
	wrong := made.Version + 1
	_, err = c.EditDomain(ctx, made.Host, snip.DomainEdit{Version: wrong, Root: new(string)})
	wantError(t, err, snip.Changed, "")
	if edited, err := c.EditDomain(ctx, made.Host, snip.DomainEdit{Version: made.Version, Root: new(string), IgnoreCase: new(bool)}); err != nil || edited.Root != "" || edited.IgnoreCase {
		t.Errorf("EditDomain = %+v, %v", edited, err)
	}
	got, err := c.ListDomains(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want, err := i.store.ListDomains(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for n := range want {
		want[n].ID = 0 // It stays on the server.
		one, err := c.Domain(ctx, want[n].Host)
		if diff := cmp.Diff(want[n], one); diff != "" || err != nil {
			t.Errorf("Domain(%q): %v; %s", want[n].Host, err, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 2 {
		t.Error(diff)
	}
	wantError(t, c.DeleteDomain(ctx, made.Host, wrong+5), snip.Changed, "")
	if err := c.DeleteDomain(ctx, made.Host, 0); err != nil {
		t.Error(err)
	}
	_, err = c.Domain(ctx, made.Host)
	wantError(t, err, snip.NotFound, "")

	n := snip.NewKey{
		Label: "script", Scopes: []snip.Scope{snip.ScopeRead, snip.ScopeWrite}, Contact: "ada@example.com", TimeZone: "Europe/Berlin",
		Domain: new(string), OwnLinks: true, ExpiresAt: noon.Add(time.Hour),
	}
	k, secret, err := c.CreateKey(ctx, n)
	if err != nil || !strings.HasPrefix(secret, "snip_") || k.Label != n.Label || k.Domain == nil || *k.Domain != "" || !k.OwnLinks {
		t.Fatalf("CreateKey = %+v, %v", k, err)
	}
	mine := connect(t, client.Config{Server: i.address, Key: secret})
	if current, err := mine.CurrentKey(ctx); err != nil || current.ID != k.ID {
		t.Errorf("CurrentKey = %+v, %v, want key %d", current, err, k.ID)
	}
	_, err = mine.ListKeys(ctx)
	wantError(t, err, snip.Forbidden, "")
	label := "Tü"
	if k, err = c.EditKey(ctx, k.ID, snip.KeyEdit{Label: &label, ExpiresAt: new(time.Time)}); err != nil || k.Label != label || !k.ExpiresAt.IsZero() {
		t.Errorf("EditKey = %+v, %v", k, err)
	}
	keys, err := c.ListKeys(ctx)
	if err != nil || len(keys) != 2 || keys[0].ID != k.ID {
		t.Errorf("ListKeys = %+v, %v", keys, err)
	}
	if one, err := c.Key(ctx, k.ID); err != nil || one.Label != label {
		t.Errorf("Key = %+v, %v", one, err)
	}
	if k, err = c.RevokeKey(ctx, k.ID); err != nil || k.RevokedAt.IsZero() {
		t.Errorf("RevokeKey = %+v, %v", k, err)
	}
	_, err = mine.CurrentKey(ctx)
	wantError(t, err, snip.Unauthorized, "")
	_, err = c.Key(ctx, 4711)
	wantError(t, err, snip.NotFound, "")
}

// sameStatus: the usual one is written out by the server, and not by the store.
var sameStatus = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Status" },
	cmp.Comparer(func(a, b int) bool { return a == b || a+b == http.StatusTemporaryRedirect }))

// want checks that a link is the one that the store has.
func (i *instance) want(t *testing.T, got snip.Link, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := i.store.Link(t.Context(), snip.Ref{Domain: got.Domain, Code: got.Code})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, got, alike, sameStatus); diff != "" {
		t.Error(diff)
	}
}
