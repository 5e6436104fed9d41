package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snip"
	"snip/event"
	"snip/store"
)

func TestEditLink(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }, Rules: snip.Rules{Own: []string{"sni.example"}}})
	l := create(t, s, snip.NewLink{Code: "old", Settings: snip.Settings{Title: "Old", ExpiresAt: noon.Add(time.Hour)}})
	create(t, s, snip.NewLink{Code: "taken"})
	changes := outboxRows(t, s)

	edit := func(code string, e snip.LinkEdit, change func()) {
		t.Helper()
		now = now.Add(time.Minute)
		e.Version = l.Version
		got, err := s.EditLink(t.Context(), at(code), e)
		if err != nil {
			t.Fatalf("EditLink: %v", err)
		}
		if change != nil {
			change()
			l.Version++
			l.UpdatedAt = now.UTC().Truncate(time.Microsecond)
			changes++
		}
		same(t, "EditLink", l, got)
		same(t, "Link", l, findLink(t, s, l.Code))
	}
	settings := allSettings()
	text, number, status, yes, no, never := "", int64(7), 301, true, false, time.Time{}
	edit("old", snip.LinkEdit{}, nil) // Changes nothing, not even the time.
	edit("old", snip.LinkEdit{Title: &text}, func() { l.Title = "" })
	edit("old", snip.LinkEdit{Target: &settings.Target}, func() { l.Target = settings.Target })
	edit("old", snip.LinkEdit{ExpiresAt: &never}, func() { l.ExpiresAt = never })
	past := noon.UTC().Truncate(time.Microsecond)
	edit("old", snip.LinkEdit{ExpiresAt: &past}, func() { l.ExpiresAt = past })
	edit("old", snip.LinkEdit{Tags: &settings.Tags}, func() { l.Tags = []string{"a", "b <i>", "ü"} })
	edit("old", snip.LinkEdit{Tags: &[]string{"ü", "c"}}, func() { l.Tags = []string{"c", "ü"} })
	edit("old", snip.LinkEdit{Tags: &[]string{"c", "ü"}}, nil)
	edit("old", snip.LinkEdit{Rules: &settings.Rules, Note: &settings.Note}, func() { l.Rules, l.Note = settings.Rules, settings.Note })
	edit("old", snip.LinkEdit{Rules: &settings.Rules, Status: &l.Status}, nil)
	edit("old", snip.LinkEdit{Status: &status, Campaign: &settings.Campaign, ForwardPath: &yes, Query: &settings.Query, Fallback: &settings.Fallback}, func() {
		l.Status, l.Campaign, l.ForwardPath, l.Query, l.Fallback = 301, settings.Campaign, true, settings.Query, settings.Fallback
	})
	edit("old", snip.LinkEdit{ClickLimit: &number}, func() { l.ClickLimit = 7 })
	if taken, err := s.TakeClick(t.Context(), l.ID, 7); err != nil || !taken {
		t.Fatal(taken, err)
	}
	l.LimitUsed = 1
	edit("old", snip.LinkEdit{Archived: &yes}, func() { l.ArchivedAt = now.UTC().Truncate(time.Microsecond) })
	edit("old", snip.LinkEdit{Archived: &yes}, nil)
	edit("old", snip.LinkEdit{Archived: &no}, func() { l.ArchivedAt = time.Time{} })
	edit("old", snip.LinkEdit{ClickLimit: new(int64)}, func() { l.ClickLimit, l.LimitUsed = 0, 0 })
	edit("old", snip.LinkEdit{ClickLimit: &number}, func() { l.ClickLimit = 7 }) // Begins anew.
	password := "secret"
	edit("old", snip.LinkEdit{Password: new(string)}, nil)
	edit("old", snip.LinkEdit{Password: &password}, func() { l.HasPassword = true })
	edit("old", snip.LinkEdit{Password: &password}, func() {}) // Nobody can tell that it is the same.
	edit("old", snip.LinkEdit{Password: new(string)}, func() { l.HasPassword = false })
	code := "New"
	edit("old", snip.LinkEdit{Code: &code}, func() { l.Code = "New" })
	edit("New", snip.LinkEdit{Code: &code}, nil)
	if got := outboxRows(t, s); got != changes {
		t.Errorf("%d changes were told, want %d", got, changes)
	}

	taken, bad, loop := "taken", "api", "https://sni.example/x"
	for _, test := range []struct {
		code   string
		edit   snip.LinkEdit
		reason snip.Code
		field  string
	}{
		{"old", snip.LinkEdit{Title: &taken}, snip.NotFound, "code"},
		{"old", snip.LinkEdit{}, snip.NotFound, "code"},
		{"New", snip.LinkEdit{Code: &taken, Title: &taken}, snip.Conflict, "code"},
		{"New", snip.LinkEdit{Code: &bad}, snip.Invalid, "code"},
		{"New", snip.LinkEdit{Target: &loop}, snip.Invalid, "url"},
		{"New", snip.LinkEdit{Title: &taken, Version: l.Version - 1}, snip.Changed, ""},
		{"New", snip.LinkEdit{Version: l.Version + 1}, snip.Changed, ""},
	} {
		_, err := s.EditLink(t.Context(), at(test.code), test.edit)
		wantCode(t, err, test.reason, test.field)
	}
	wantCode(t, s.DeleteLink(t.Context(), at("New"), l.Version-1), snip.Changed, "")
	same(t, "Link after refused edits", l, findLink(t, s, "New"))
	if err := s.DeleteLink(t.Context(), at("New"), l.Version); err != nil {
		t.Error(err)
	}
}

// outboxRows returns how many changes of links were told.
func outboxRows(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	if err := s.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM outbox WHERE topic = 'links'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEditsTogether: of two settings that are right apart, the edit that brings them
// together is refused.
func TestEditsTogether(t *testing.T) {
	s := open(t, store.Config{})
	keep, target, later := snip.QueryKeep, "mailto:a@example.com", time.Now().AddDate(2, 0, 0)
	create(t, s, snip.NewLink{Code: "a", Settings: snip.Settings{ExpiresAt: time.Now().AddDate(1, 0, 0), Query: keep}})
	_, err := s.EditLink(t.Context(), at("a"), snip.LinkEdit{StartsAt: &later})
	wantCode(t, err, snip.Invalid, "starts_at")
	_, err = s.EditLink(t.Context(), at("a"), snip.LinkEdit{Target: &target})
	wantCode(t, err, snip.Invalid, "query")
}

// TestParallelEditsOfOneVersion: one of them is kept, the others are told.
func TestParallelEditsOfOneVersion(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "a"})
	var kept atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			title := fmt.Sprint("title ", i)
			_, err := s.EditLink(t.Context(), at("a"), snip.LinkEdit{Version: l.Version, Title: &title})
			if err == nil {
				kept.Add(1)
			} else {
				wantCode(t, err, snip.Changed, "")
			}
		})
	}
	wg.Wait()
	if n := kept.Load(); n != 1 {
		t.Errorf("%d edits of one version were kept, want 1", n)
	}
	if got := findLink(t, s, "a").Version; got != l.Version+1 {
		t.Errorf("version %d, want %d", got, l.Version+1)
	}
}

func TestAliases(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	l := create(t, s, snip.NewLink{Code: "a"})
	count(t, s, clicks(3, snip.Click{Link: l.ID, At: noon, Visitor: 1})...)
	rename := func(from, to string, e snip.LinkEdit, aliases ...string) {
		t.Helper()
		e.Code = &to
		got, err := s.EditLink(t.Context(), at(from), e)
		if err != nil {
			t.Fatalf("EditLink(%q to %q): %v", from, to, err)
		}
		if got.ID != l.ID || got.Code != to || got.Clicks != 3 || !slices.Equal(got.Aliases, aliases) {
			t.Errorf("link %d with code %q, aliases %q and %d clicks; want link %d with %q, %q and 3", got.ID, got.Code, got.Aliases, got.Clicks, l.ID, to, aliases)
		}
		for _, code := range append(aliases, to) {
			same(t, "Link by "+code, got, findLink(t, s, code))
		}
	}
	keep := snip.LinkEdit{KeepCode: true}
	rename("a", "b", keep, "a")
	rename("a", "c", keep, "a", "b")
	_, _, err := s.CreateLink(t.Context(), snip.NewLink{Code: "a", Settings: leadsTo("https://example.com")})
	wantCode(t, err, snip.Conflict, "code")
	other, a := create(t, s, snip.NewLink{Code: "other"}), "a"
	_, err = s.EditLink(t.Context(), at("other"), snip.LinkEdit{Code: &a})
	wantCode(t, err, snip.Conflict, "code")

	rename("b", "a", keep, "b", "c")            // Takes an alias back.
	rename("a", "d", snip.LinkEdit{}, "b", "c") // And gives the code up.
	create(t, s, snip.NewLink{Code: "a"})
	rename("d", "e", snip.LinkEdit{KeepCode: true, Aliases: &[]string{"c"}}, "c", "d")
	rename("e", "e", snip.LinkEdit{Aliases: &[]string{"d"}}, "d")
	create(t, s, snip.NewLink{Code: "c"})
	for i, e := range []snip.LinkEdit{{Aliases: &[]string{"d", "new"}}, {Aliases: &[]string{"other"}}, {Aliases: &[]string{"D"}}} {
		_, err := s.EditLink(t.Context(), at("e"), e)
		wantCode(t, err, snip.Invalid, []string{"aliases[1]", "aliases[0]", "aliases[0]"}[i])
	}
	last := told(t, s)
	same(t, "told of the last edit", event.LinkChange{Link: l.ID, Change: event.Edited, Codes: []string{"e", "d", "c"}}, last[len(last)-2])

	for i := range snip.MaxAliases - 1 {
		code := fmt.Sprint("f", i)
		if _, err := s.EditLink(t.Context(), at("d"), snip.LinkEdit{Code: &code, KeepCode: true}); err != nil {
			t.Fatal(err)
		}
	}
	code := "too-many"
	_, err = s.EditLink(t.Context(), at("d"), snip.LinkEdit{Code: &code, KeepCode: true})
	wantCode(t, err, snip.Invalid, "keep_code")
	aliases := findLink(t, s, "d").Aliases
	if err := s.DeleteLink(t.Context(), at("d"), 0); err != nil {
		t.Fatal(err)
	}
	last = told(t, s)
	if c := last[len(last)-1]; c.Change != event.Deleted || len(c.Codes) != snip.MaxAliases+1 {
		t.Errorf("told %+v, want a deletion at %d codes", c, snip.MaxAliases+1)
	}
	for _, code := range aliases {
		create(t, s, snip.NewLink{Code: code})
	}
	same(t, "another link", other, findLink(t, s, "other"))
}

func TestCodesWhereCaseDoesNotMatter(t *testing.T) {
	s := open(t, store.Config{})
	domain(t, s, "go.example", true)
	on := func(code string) snip.Ref { return snip.Ref{Domain: "GO.example", Code: code} }
	l := create(t, s, snip.NewLink{Domain: "Go.Example", Code: "Info"})
	if l.Domain != "go.example" {
		t.Errorf("domain %q, want go.example", l.Domain)
	}
	make := func(code string) error {
		return third(s.CreateLink(t.Context(), snip.NewLink{Domain: "go.example", Code: code, Settings: leadsTo("https://example.com")}))
	}
	wantCode(t, make("INFO"), snip.Conflict, "code")
	upper := "INFO"
	l, err := s.EditLink(t.Context(), on("info"), snip.LinkEdit{Code: &upper, KeepCode: true})
	if err != nil || l.Code != "INFO" || l.Aliases != nil {
		t.Errorf("EditLink = %q, %q, %v; want INFO and no alias, which would be the same", l.Code, l.Aliases, err)
	}
	next := "Next"
	if _, err := s.EditLink(t.Context(), on("iNFO"), snip.LinkEdit{Code: &next, KeepCode: true}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, make("info"), snip.Conflict, "code")
	wantCode(t, make("NEXT"), snip.Conflict, "code")
	if got, err := s.Link(t.Context(), on("iNfO")); err != nil || got.ID != l.ID {
		t.Errorf("Link = %d, %v, want %d by its alias", got.ID, err, l.ID)
	}
	back := "inFo"
	if l, err = s.EditLink(t.Context(), on("next"), snip.LinkEdit{Code: &back}); err != nil || l.Code != "inFo" || l.Aliases != nil {
		t.Errorf("EditLink = %q, %q, %v; want the alias back as the code", l.Code, l.Aliases, err)
	}
	if err := make("Next"); err != nil {
		t.Error(err)
	}
	create(t, s, snip.NewLink{Code: "Info"}) // On the instance's own, case matters.
	create(t, s, snip.NewLink{Code: "info"})
}

// TestOneCodeOneLink: whatever happens at once, a code belongs to one link.
func TestOneCodeOneLink(t *testing.T) {
	s := open(t, store.Config{})
	domain(t, s, "go.example", true)
	for _, host := range []string{"", "go.example"} {
		names := []string{"x", "y", "z", "X"}
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for i := range 30 {
					code, other := names[(w+i)%4], names[(w*i+1)%4]
					ref := snip.Ref{Domain: host, Code: code}
					var err error
					switch i % 4 {
					case 0, 1:
						_, _, err = s.CreateLink(t.Context(), snip.NewLink{Domain: host, Code: code, Settings: leadsTo("https://example.com")})
					case 2:
						_, err = s.EditLink(t.Context(), ref, snip.LinkEdit{Code: &other, KeepCode: true})
					case 3:
						if (w+i)%3 == 0 {
							err = s.DeleteLink(t.Context(), ref, 0)
						} else {
							_, err = s.EditLink(t.Context(), ref, snip.LinkEdit{Aliases: &[]string{}})
						}
					}
					if c := snip.CodeOf(err); err != nil && c != snip.Conflict && c != snip.NotFound {
						t.Errorf("worker %d: %v", w, err)
					}
				}
			})
		}
		wg.Wait()
		owner := map[string]int64{}
		for _, l := range list(t, s, snip.LinkQuery{Domain: &host, Limit: 100, Archived: snip.ArchivedAll}) {
			for _, code := range append(l.Aliases, l.Code) {
				if host != "" {
					code = strings.ToLower(code)
				}
				if before, twice := owner[code]; twice {
					t.Errorf("%q on %q leads to the links %d and %d", code, host, before, l.ID)
				}
				owner[code] = l.ID
			}
		}
		if len(owner) == 0 {
			t.Errorf("no link is left on %q", host)
		}
	}
}
