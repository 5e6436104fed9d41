package store_test

import (
	"fmt"
	"sync"
	"testing"

	"snip"
	"snip/event"
	"snip/store"
)

func TestChangeLinks(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	domain(t, s, "go.example", true)
	a := create(t, s, snip.NewLink{Code: "a", Settings: snip.Settings{Tags: []string{"old", "x"}}})
	b := create(t, s, snip.NewLink{Code: "b"})
	c := create(t, s, snip.NewLink{Domain: "go.example", Code: "Code"})
	next := "next"
	if _, err := s.EditLink(t.Context(), at("b"), snip.LinkEdit{Code: &next, KeepCode: true}); err != nil {
		t.Fatal(err)
	}
	count(t, s, someClicks(10, a, b, c)...)
	full := create(t, s, snip.NewLink{Code: "full", Settings: snip.Settings{Tags: manyTags()}})

	// A link may be named twice, and by an alias.
	refs := []snip.Ref{
		at("a"), at("none"), at("b"), {Domain: "Go.example", Code: "cODE"}, at("next"), at("none"), at("a"), at("full"),
		{Domain: "go.example", Code: "a"}, at("//"),
	}
	bulk := func(action snip.BulkAction, done int, tags ...string) {
		t.Helper()
		result, err := s.ChangeLinks(t.Context(), snip.Bulk{Action: action, Links: refs, Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, f := range result.Failed {
			failed = append(failed, fmt.Sprint(f.Domain, " ", f.Code, " ", snip.CodeOf(f.Err)))
		}
		want := []string{" none not_found", "go.example a not_found", " // not_found"}
		if action == snip.BulkTag {
			want = []string{" none not_found", " full invalid", "go.example a not_found", " // not_found"}
		}
		if result.Done != done {
			t.Errorf("%s: done %d, want %d", action, result.Done, done)
		}
		same(t, string(action)+" failed", want, failed)
	}
	of := func(code string) snip.Link { return findLink(t, s, code) }

	bulk(snip.BulkTag, 3, "x", "new")
	same(t, "tags of a", []string{"new", "old", "x"}, of("a").Tags)
	same(t, "tags of b", []string{"new", "x"}, of("b").Tags)
	same(t, "full", full, of("full"))
	versions := []int64{of("a").Version, of("b").Version}
	same(t, "versions", []int64{2, 3}, versions)
	bulk(snip.BulkTag, 3, "x") // They have it.
	same(t, "versions", versions, []int64{of("a").Version, of("b").Version})
	bulk(snip.BulkUntag, 4, "old", "new", "nobody's")
	same(t, "tags of a", []string{"x"}, of("a").Tags)
	bulk(snip.BulkArchive, 4)
	bulk(snip.BulkArchive, 4)
	if l := of("a"); !l.ArchivedAt.Equal(of("a").UpdatedAt) || l.Version != 4 {
		t.Errorf("archived at %v in version %d, want at %v in version 4", l.ArchivedAt, l.Version, l.UpdatedAt)
	}
	if links := list(t, s, snip.LinkQuery{Limit: 10}); len(links) != 0 {
		t.Errorf("%q are listed, and all are archived", codes(links))
	}
	if r, err := s.Route(t.Context(), "", "a"); err != nil || r.Link != a.ID {
		t.Errorf("Route of an archived link = %+v, %v, want that it goes on", r, err)
	}
	bulk(snip.BulkRestore, 4)
	before := len(told(t, s))
	bulk(snip.BulkDelete, 4)
	same(t, "told", []event.LinkChange{
		{Link: a.ID, Change: event.Deleted, Codes: []string{"a"}},
		{Link: b.ID, Change: event.Deleted, Codes: []string{"next", "b"}},
		{Link: c.ID, Change: event.Deleted, Domain: "go.example", Codes: []string{"Code"}},
		{Link: full.ID, Change: event.Deleted, Codes: []string{"full"}},
	}, told(t, s)[before:])
	if links := list(t, s, snip.LinkQuery{Archived: snip.ArchivedAll, Limit: 10}); len(links) != 0 {
		t.Errorf("%q are left", codes(links))
	}
	for _, table := range []string{"aliases", "link_tags", "link_words", "rollups", "days"} {
		var n int
		if err := s.Read().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE link_id <> 0").Scan(&n); err != nil || n > 0 {
			t.Errorf("%d rows of deleted links are left in %s, %v", n, table, err)
		}
	}

	for field, b := range map[string]snip.Bulk{
		"action": {Action: "burn", Links: refs}, "links": {Action: snip.BulkArchive}, "tags": {Action: snip.BulkTag, Links: refs},
	} {
		_, err := s.ChangeLinks(t.Context(), b)
		wantCode(t, err, snip.Invalid, field)
	}
}

func manyTags() (tags []string) {
	for i := range snip.MaxTags {
		tags = append(tags, fmt.Sprint("tag-", i))
	}
	return tags
}

// TestChangeLinksAtOnce: many changes of the same links at the same time.
func TestChangeLinksAtOnce(t *testing.T) {
	s := open(t, store.Config{})
	var refs []snip.Ref
	for i := range snip.MaxBulk {
		if i < 100 {
			create(t, s, snip.NewLink{Code: fmt.Sprint("c", i)})
		}
		refs = append(refs, at(fmt.Sprint("c", i)))
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			result, err := s.ChangeLinks(t.Context(), snip.Bulk{Action: snip.BulkTag, Links: refs, Tags: []string{"all", fmt.Sprint("tag-", i)}})
			if err != nil || result.Done != 100 || len(result.Failed) != snip.MaxBulk-100 {
				t.Errorf("done %d, failed %d, %v; want 100, %d", result.Done, len(result.Failed), err, snip.MaxBulk-100)
			}
		})
	}
	wg.Wait()
	counts, err := s.Tags(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "tags", []snip.TagCount{{Tag: "all", Links: 100}, {Tag: "tag-0", Links: 100}, {Tag: "tag-1", Links: 100}, {Tag: "tag-2", Links: 100}, {Tag: "tag-3", Links: 100}}, counts)
	if got := findLink(t, s, "c7").Version; got != 5 {
		t.Errorf("version %d after four changes, want 5", got)
	}
}
