package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

// noon has more digits than the store keeps.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 123456789, time.FixedZone("", 3600))

func fixedClock() time.Time { return noon }

func TestCreateLink(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	n := snip.NewLink{Code: "Abc_-9", Target: "https://example.com/?a+b", Title: "Tübingen", ExpiresAt: noon.Add(time.Hour)}
	got := create(t, s, n)
	at := noon.UTC().Truncate(time.Microsecond)
	want := snip.Link{
		ID: 1, Code: n.Code, Target: n.Target, Title: n.Title,
		ExpiresAt: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CreateLink: %s", diff)
	}
	found, err := s.Link(t.Context(), n.Code)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("Link: %s", diff)
	}
	for _, other := range []string{"abc_-9", "Abc_-", "Abc_-9x", "", "Abc%-9"} {
		_, err := s.Link(t.Context(), other)
		wantCode(t, err, snip.NotFound, "code")
	}
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
	create(t, s, snip.NewLink{Target: "viber://pa?chatURI=x"})
	for field, n := range map[string]snip.NewLink{
		"url":        {Target: "https://sni.example/abcd"},
		"code":       {Target: "https://example.com", Code: "abcd?env=prod"},
		"title":      {Target: "https://example.com", Title: "\n"},
		"expires_at": {Target: "https://example.com", ExpiresAt: noon},
	} {
		_, err := s.CreateLink(t.Context(), n)
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
		if strings.Contains(target, " ") {
			target = strings.ReplaceAll(target, " ", "%20")
		}
		code := create(t, s, snip.NewLink{Target: target}).Code
		if l, err := s.Link(t.Context(), code); err != nil || l.Target != target {
			t.Errorf("Link(%q).Target = %.80q, %v, want %.80q", code, l.Target, err, target)
		}
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
			_, err := stores[i%2].CreateLink(t.Context(), snip.NewLink{Code: "one", Target: "https://example.com"})
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
				l, err := stores[i%2].CreateLink(t.Context(), snip.NewLink{Target: "https://example.com"})
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
	links, err := stores[0].ListLinks(t.Context(), snip.Page{Limit: 1000})
	if err != nil || len(links) != workers*each {
		t.Errorf("%d links, %v, want %d", len(links), err, workers*each)
	}
}

func TestCollisionsAreRetried(t *testing.T) {
	var n atomic.Int32
	s := open(t, store.Config{NewCode: func() string { return fmt.Sprint("code", n.Add(1)/3) }})
	for range 4 {
		create(t, s, snip.NewLink{})
	}
	links, err := s.ListLinks(t.Context(), snip.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, l := range links {
		codes = append(codes, l.Code)
	}
	if want := []string{"code3", "code2", "code1", "code0"}; !slices.Equal(codes, want) {
		t.Errorf("codes %q, want %q", codes, want)
	}

	s = open(t, store.Config{NewCode: func() string { return "same" }})
	create(t, s, snip.NewLink{})
	if _, err := s.CreateLink(t.Context(), snip.NewLink{Target: "https://example.com"}); err == nil || !strings.Contains(err.Error(), "no free code") {
		t.Errorf("CreateLink = %v, want no free code", err)
	}
}

func TestListLinks(t *testing.T) {
	s := open(t, store.Config{})
	if links, err := s.ListLinks(t.Context(), snip.Page{Limit: 1000}); err != nil || len(links) != 0 {
		t.Errorf("ListLinks = %v, %v, want none", links, err)
	}
	var want []snip.Link
	for i := range 5 {
		want = append(want, create(t, s, snip.NewLink{Code: fmt.Sprint("c", i)}))
	}
	slices.Reverse(want)
	var got []snip.Link
	page := snip.Page{Limit: 2}
	for {
		links, err := s.ListLinks(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		if len(links) == 0 {
			break
		}
		if len(links) > 2 {
			t.Fatalf("%d links on a page of 2", len(links))
		}
		got = append(got, links...)
		page.After = links[len(links)-1].ID
		create(t, s, snip.NewLink{}) // Changes no later page.
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for field, p := range map[string]snip.Page{"limit": {}, "after": {Limit: 1, After: -1}} {
		_, err := s.ListLinks(t.Context(), p)
		wantCode(t, err, snip.Invalid, field)
	}
	_, err := s.ListLinks(t.Context(), snip.Page{Limit: 1001})
	wantCode(t, err, snip.Invalid, "limit")
}

func TestEditLink(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	l := create(t, s, snip.NewLink{Code: "old", Title: "Old", ExpiresAt: noon.Add(time.Hour)})
	create(t, s, snip.NewLink{Code: "taken"})
	now = noon.Add(time.Minute)

	edit := func(code string, e snip.LinkEdit) {
		t.Helper()
		got, err := s.EditLink(t.Context(), code, e)
		if err != nil {
			t.Fatalf("EditLink: %v", err)
		}
		if diff := cmp.Diff(l, got); diff != "" {
			t.Errorf("EditLink: %s", diff)
		}
		found, err := s.Link(t.Context(), l.Code)
		if err != nil || found != l {
			t.Errorf("Link = %+v, %v, want %+v", found, err, l)
		}
	}
	edit("old", snip.LinkEdit{}) // Changes nothing, not even the time.
	l.UpdatedAt = now.UTC().Truncate(time.Microsecond)
	title, target, code := "", "https://example.com/new", "New"
	l.Title = title
	edit("old", snip.LinkEdit{Title: &title})
	l.Target = target
	edit("old", snip.LinkEdit{Target: &target})
	l.ExpiresAt = time.Time{}
	edit("old", snip.LinkEdit{ExpiresAt: &time.Time{}})
	past := noon.UTC().Truncate(time.Microsecond)
	l.ExpiresAt = past
	edit("old", snip.LinkEdit{ExpiresAt: &past})
	l.Code = code
	edit("old", snip.LinkEdit{Code: &code})
	edit("New", snip.LinkEdit{Code: &code}) // Its own is not taken.

	taken, bad := "taken", "api"
	_, err := s.EditLink(t.Context(), "old", snip.LinkEdit{Title: &title})
	wantCode(t, err, snip.NotFound, "code")
	_, err = s.EditLink(t.Context(), "old", snip.LinkEdit{})
	wantCode(t, err, snip.NotFound, "code")
	_, err = s.EditLink(t.Context(), "New", snip.LinkEdit{Code: &taken, Title: &taken})
	wantCode(t, err, snip.Conflict, "code")
	_, err = s.EditLink(t.Context(), "New", snip.LinkEdit{Code: &bad})
	wantCode(t, err, snip.Invalid, "code")
	if found, err := s.Link(t.Context(), "New"); err != nil || found != l {
		t.Errorf("Link = %+v, %v, want %+v after refused edits", found, err, l)
	}
}

// TestDeletedLink covers L35's other side: its statistics go with a link, its ID
// never comes back, and its code may.
func TestDeletedLink(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "code"})
	count(t, s, clicks(3, snip.Click{Link: l.ID, At: noon, Visitor: 1})...)
	if err := s.DeleteLink(t.Context(), "code"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Link(t.Context(), "code")
	wantCode(t, err, snip.NotFound, "code")
	_, err = s.Stats(t.Context(), snip.StatsQuery{Codes: []string{"code"}, Range: snip.Range{From: snip.DateOf(noon), To: snip.DateOf(noon)}})
	wantCode(t, err, snip.NotFound, "code")
	wantCode(t, s.DeleteLink(t.Context(), "code"), snip.NotFound, "code")
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
