package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snip"
	"snip/store"
)

// noon has more digits than the store keeps.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func fixedClock() time.Time { return noon }

func TestCreateLink(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	n := snip.NewLink{Code: "Abc_-9", Password: "open sesame", Settings: allSettings()}
	got, made, err := s.CreateLink(t.Context(), n)
	if err != nil || !made {
		t.Fatalf("CreateLink = %v, %v, want a new link", made, err)
	}
	now := noon.UTC().Truncate(time.Microsecond)
	want := snip.Link{
		ID: 1, Code: n.Code, Version: 1, Settings: n.Settings, HasPassword: true, CreatedAt: now, UpdatedAt: now,
	}
	want.StartsAt, want.ExpiresAt = now.Add(-time.Hour), now.Add(time.Hour)
	want.Tags = []string{"a", "b <i>", "ü"}
	same(t, "CreateLink", want, got)
	same(t, "Link", want, findLink(t, s, n.Code))
	for _, other := range []string{"abc_-9", "Abc_-", "Abc_-9x", "", "Abc%-9"} {
		_, err := s.Link(t.Context(), at(other))
		wantCode(t, err, snip.NotFound, "code")
	}
	_, err = s.Link(t.Context(), snip.Ref{Domain: "go.example", Code: n.Code})
	wantCode(t, err, snip.NotFound, "code")

	plain := create(t, s, snip.NewLink{Code: "plain"})
	want = snip.Link{ID: 2, Code: "plain", Version: 1, Settings: snip.Settings{Target: "https://example.com/", Status: 307}, CreatedAt: now, UpdatedAt: now}
	same(t, "a plain link", want, plain)
	same(t, "Link of a plain one", want, findLink(t, s, "plain"))
}

// allSettings has all that can be said of a link.
func allSettings() snip.Settings {
	return snip.Settings{
		Target: "https://example.com/?a+b", Title: "Tübingen", Note: "A note\nof two lines", Tags: []string{"ü", "b <i>", "a"},
		StartsAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour), ClickLimit: 5, Fallback: "https://example.com/late",
		Status: 301, Query: snip.QueryKeep, ForwardPath: true,
		Rules: []snip.Rule{
			{Name: "phones", When: snip.Conditions{Devices: []string{"phone"}, Query: map[string][]string{"a": {"b"}}}, Target: "https://m.example.com/"},
			{Split: []snip.Arm{{Target: "https://a.example.com/", Weight: 1}, {Target: "https://b.example.com/", Weight: 2}}},
		},
		Campaign: snip.Campaign{Source: "letter", Name: "späte Ernte"},
	}
}

// everything makes a link with all that a link can have.
func everything(t testing.TB, s *store.Store, code string) snip.Link {
	t.Helper()
	settings := allSettings()
	settings.ExpiresAt = noon.AddDate(10, 0, 0)
	create(t, s, snip.NewLink{Code: code + "-first", Password: "open sesame", Settings: settings})
	archived := true
	l, err := s.EditLink(t.Context(), at(code+"-first"), snip.LinkEdit{Code: &code, KeepCode: true, Archived: &archived})
	if err != nil {
		t.Fatal(err)
	}
	if taken, err := s.TakeClick(t.Context(), l.ID, l.ClickLimit); err != nil || !taken {
		t.Fatalf("TakeClick = %v, %v", taken, err)
	}
	return l
}

// domain makes a domain.
func domain(t testing.TB, s snip.Domains, host string, ignoreCase bool) {
	t.Helper()
	if _, err := s.CreateDomain(t.Context(), snip.NewDomain{Host: host, IgnoreCase: ignoreCase}); err != nil {
		t.Fatal(err)
	}
}

// makeKey makes a key that may write.
func makeKey(t testing.TB, s snip.Keys, n snip.NewKey) snip.Key {
	t.Helper()
	n.Scopes = []snip.Scope{snip.ScopeRead, snip.ScopeWrite}
	k, _, err := s.CreateKey(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCreateLinkMakesUpACode(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{})
	if len(l.Code) != 7 || snip.CheckCode(l.Code) != nil {
		t.Errorf("code %q", l.Code)
	}
	if !l.ExpiresAt.IsZero() {
		t.Errorf("expires at %v, want never", l.ExpiresAt)
	}
}

func TestCreateLinkChecks(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock, Rules: snip.Rules{Own: []string{"sni.example"}, Schemes: []string{"viber"}}})
	domain(t, s, "go.example", false)
	create(t, s, snip.NewLink{Settings: leadsTo("viber://pa?chatURI=x")})
	for field, n := range map[string]snip.NewLink{
		"url":          {Settings: leadsTo("https://sni.example/abcd")},
		"fallback_url": {Settings: snip.Settings{Target: "https://example.com", Fallback: "https://go.example/abcd"}},
		"code":         {Code: "abcd?env=prod", Settings: leadsTo("https://example.com")},
		"title":        {Settings: snip.Settings{Target: "https://example.com", Title: "\n"}},
		"expires_at":   {Settings: snip.Settings{Target: "https://example.com", ExpiresAt: noon}},
		"domain":       {Domain: "other.example", Settings: leadsTo("https://example.com")},
		"password":     {Password: strings.Repeat("x", 257), Settings: leadsTo("https://example.com")},
		"tags[0]":      {Settings: snip.Settings{Target: "https://example.com", Tags: []string{"a,b"}}},
	} {
		_, _, err := s.CreateLink(t.Context(), n)
		wantCode(t, err, snip.Invalid, field)
	}
}

func TestTargetsAreKeptByteForByte(t *testing.T) {
	s := open(t, store.Config{})
	long := "https://example.com/?"
	for _, target := range []string{
		"https://en.wikipedia.org/wiki/?2+2_(TV_channel)",
		"https://guides.apple.com/?ug=a%2BGA",
		"https://google.com/?abc#123",
		"http://linksredirect.com?pub_id=28CL11&url=https://paytm.com/dth",
		"http://www.tübingen.de/",
		"mailto:a@b.c?subject=T&body=x%0D%0Ay",
		"https://example.com/'; DROP TABLE links; --",
		"https://example.com/\u00e4/a\u0308/\U0001F600",
		long + strings.Repeat("ä", (snip.MaxTarget-len(long))/2),
	} {
		target = strings.ReplaceAll(target, " ", "%20")
		code := create(t, s, snip.NewLink{Settings: leadsTo(target)}).Code
		if got := findLink(t, s, code).Target; got != target {
			t.Errorf("Link(%q).Target = %.80q, want %.80q", code, got, target)
		}
	}
}

// TestRoute covers L14, too: one code on two domains is two links.
func TestRoute(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	domain(t, s, "go.example", true)
	l := everything(t, s, "Code")
	other := create(t, s, snip.NewLink{Domain: "go.example", Code: "Code"})
	for _, test := range []struct {
		domain, code string
		link         int64
		alias        string
	}{
		{"", "Code", l.ID, ""}, {"", "Code-first", l.ID, "Code-first"}, {"", "code", 0, ""}, {"", "none", 0, ""},
		{"go.example", "Code", other.ID, ""}, {"go.example", "cODE", other.ID, ""}, {"go.example", "code-first", 0, ""},
		{"none.example", "Code", 0, ""},
	} {
		r, err := s.Route(t.Context(), test.domain, test.code)
		if test.link == 0 {
			wantCode(t, err, snip.NotFound, "code")
		} else if err != nil || r.Link != test.link || r.Alias != test.alias {
			t.Errorf("Route(%q, %q) = link %d, alias %q, %v; want %d, %q", test.domain, test.code, r.Link, r.Alias, err, test.link, test.alias)
		}
	}
	r, err := s.Route(t.Context(), "", "Code")
	if err != nil {
		t.Fatal(err)
	}
	if right, err := argon2id.ComparePasswordAndHash("open sesame", r.Special.PasswordHash); err != nil || !right {
		t.Errorf("the password does not fit the hash %q, %v", r.Special.PasswordHash, err)
	}
	if !strings.HasPrefix(r.Special.PasswordHash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %q, want argon2id with 19 MiB, twice", r.Special.PasswordHash)
	}
	want, err := l.Route("Code", r.Special.PasswordHash)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreUnexported(snip.RouteRule{})); diff != "" {
		t.Errorf("Route (-want +got):\n%s", diff)
	}
}

// TestParallelCreatesOfOneCode is L12: one gets it, the others are told.
func TestParallelCreatesOfOneCode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, _, err := stores[i%2].CreateLink(t.Context(), snip.NewLink{Code: "one", Settings: leadsTo("https://example.com")})
			if err == nil {
				won.Add(1)
				return
			}
			wantCode(t, err, snip.Conflict, "code")
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 {
		t.Errorf("%d creates of one code succeeded, want 1", n)
	}
}

// TestManyParallelCreates is L12 and L43: as many codes as creates, and no error.
func TestManyParallelCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	const workers, each = 32, 10
	var codes sync.Map
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for range each {
				l, _, err := stores[i%2].CreateLink(t.Context(), snip.NewLink{Settings: leadsTo("https://example.com")})
				if err != nil {
					t.Errorf("CreateLink: %v", err)
					return
				}
				if _, twice := codes.LoadOrStore(l.Code, l.ID); twice {
					t.Errorf("code %q twice", l.Code)
				}
			}
		})
	}
	wg.Wait()
	if links := list(t, stores[0], snip.LinkQuery{Limit: 1000}); len(links) != workers*each {
		t.Errorf("%d links, want %d", len(links), workers*each)
	}
}

func TestCollisionsAreRetried(t *testing.T) {
	var n atomic.Int32
	s := open(t, store.Config{NewCode: func() string { return fmt.Sprint("code", n.Add(1)/3) }})
	for range 4 {
		create(t, s, snip.NewLink{})
	}
	same(t, "codes", []string{"code3", "code2", "code1", "code0"}, codes(list(t, s, snip.LinkQuery{Limit: 10})))

	s = open(t, store.Config{NewCode: func() string { return "same" }})
	create(t, s, snip.NewLink{})
	if _, _, err := s.CreateLink(t.Context(), snip.NewLink{Settings: leadsTo("https://example.com")}); err == nil || !strings.Contains(err.Error(), "no free code") {
		t.Errorf("CreateLink = %v, want no free code", err)
	}
}

// TestDeletedLink covers L35's other side: its statistics go with a link, its ID
// never comes back, and its code may.
func TestDeletedLink(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	count(t, s, clicks(3, snip.Click{Link: l.ID, At: noon, Visitor: 1})...)
	if err := s.DeleteLink(t.Context(), at("code"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := s.Link(t.Context(), at("code"))
	wantCode(t, err, snip.NotFound, "code")
	_, err = s.Stats(t.Context(), snip.StatsQuery{Codes: []string{"code"}, Range: snip.Range{From: snip.DateOf(noon), To: snip.DateOf(noon)}})
	wantCode(t, err, snip.NotFound, "code")
	wantCode(t, s.DeleteLink(t.Context(), at("code"), 0), snip.NotFound, "code")
	var totals int
	if err := s.Read().QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM rollups) + (SELECT SUM(clicks) FROM instance)`).Scan(&totals); err != nil || totals != 0 {
		t.Errorf("%d rollups and clicks left, %v", totals, err)
	}
	again := create(t, s, snip.NewLink{Code: "code"})
	if again.ID <= l.ID {
		t.Errorf("ID %d after %d was deleted", again.ID, l.ID)
	}
	if again.Clicks != 0 {
		t.Errorf("%d clicks on a new link", again.Clicks)
	}
}
