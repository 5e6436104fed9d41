package store_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"snip"
	"snip/store"
)

// list returns all links that answer a question, page by page.
func list(t testing.TB, s snip.Links, q snip.LinkQuery) (all []snip.Link) {
	t.Helper()
	for {
		page, err := s.ListLinks(t.Context(), q)
		if err != nil {
			t.Fatalf("ListLinks(%+v): %v", q, err)
		}
		if len(page.Links) > q.Limit || page.Next != "" && len(page.Links) < q.Limit {
			t.Fatalf("%d links on a page of %d, and the next is %q", len(page.Links), q.Limit, page.Next)
		}
		all = append(all, page.Links...)
		if page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

func codes(links []snip.Link) (codes []string) {
	for _, l := range links {
		codes = append(codes, l.Code)
	}
	return codes
}

func TestPagesStayWhileLinksAreMade(t *testing.T) {
	s := open(t, store.Config{})
	if page, err := s.ListLinks(t.Context(), snip.LinkQuery{Limit: 1000}); err != nil || len(page.Links) != 0 || page.Next != "" {
		t.Errorf("ListLinks = %v, %v, want none", page, err)
	}
	var want []snip.Link
	for i := range 5 {
		want = append(want, create(t, s, snip.NewLink{Code: fmt.Sprint("c", i)}))
	}
	slices.Reverse(want)
	var got []snip.Link
	q := snip.LinkQuery{Limit: 2}
	for {
		page, err := s.ListLinks(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Links...)
		create(t, s, snip.NewLink{}) // Changes no later page.
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	same(t, "links", want, got)
}

func TestListRefusesWhatCannotBeAsked(t *testing.T) {
	s := open(t, store.Config{})
	for i := range 3 {
		create(t, s, snip.NewLink{Settings: snip.Settings{Tags: []string{"a"}, ExpiresAt: noon.AddDate(100, 0, i)}})
	}
	for field, q := range map[string]snip.LinkQuery{
		"limit": {}, "sort": {Limit: 1, Sort: "clicks"}, "archived": {Limit: 1, Archived: "maybe"}, "owner": {Limit: 1, Owner: -1},
	} {
		_, err := s.ListLinks(t.Context(), q)
		wantCode(t, err, snip.Invalid, field)
	}
	_, err := s.ListLinks(t.Context(), snip.LinkQuery{Limit: 1_000_000_000})
	wantCode(t, err, snip.Invalid, "limit")

	own := ""
	questions := []snip.LinkQuery{
		{}, {Sort: snip.SortOldest}, {Sort: snip.SortUpdated}, {Sort: snip.SortCode}, {Sort: snip.SortExpiry},
		{Tags: []string{"a"}}, {Search: "example"}, {Domain: &own}, {Archived: snip.ArchivedAll},
	}
	for i, q := range questions {
		q.Limit = 1
		page, err := s.ListLinks(t.Context(), q)
		if err != nil || page.Next == "" {
			t.Fatalf("ListLinks(%+v) = %+v, %v, want a next page", q, page, err)
		}
		for j, other := range questions {
			other.Limit, other.Cursor = 2, page.Next
			if _, err := s.ListLinks(t.Context(), other); i == j && err != nil {
				t.Errorf("ListLinks(%+v) = %v, want the page after", other, err)
			} else if i != j {
				wantCode(t, err, snip.Invalid, "cursor")
			}
		}
		text, err := base64.RawURLEncoding.DecodeString(page.Next)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range []string{
			page.Next[1:], page.Next + "x", "{}", "!",
			base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), `"l":[`, `"l":[{},`, 1))),
			base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), `"l":[`, `"l":[true,`, 1))),
			base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), `"l":[`, `"l":[null,`, 1))),
		} {
			q.Cursor = broken
			_, err := s.ListLinks(t.Context(), q)
			wantCode(t, err, snip.Invalid, "cursor")
		}
	}
}

// TestListsAgreeWithAModel asks every kind of question of random links.
func TestListsAgreeWithAModel(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	domain(t, s, "go.example", true)
	keys := []snip.Key{{Scopes: []snip.Scope{snip.ScopeAdmin}}, makeKey(t, s, snip.NewKey{Label: "a"}), makeKey(t, s, snip.NewKey{Label: "b", OwnLinks: true})}
	r := rand.New(rand.NewPCG(1, 2))
	domains, tags, words := []string{"", "go.example"}, []string{"red", "green", "blue"}, []string{"Apfel", "Äpfel", "apple", "Birne", "xyz 12"}
	for i := range 120 {
		now = now.Add(time.Duration(r.IntN(3)) * time.Microsecond)
		if i%30 == 29 {
			skipTo(t, s, int64(i)<<14-15) // Among groups of the index of words.
		}
		n := snip.NewLink{Domain: domains[r.IntN(2)], Settings: leadsTo("https://example.com/" + fmt.Sprint(i%7))}
		n.Title = words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
		for _, tag := range tags {
			if r.IntN(3) == 0 {
				n.Tags = append(n.Tags, tag)
			}
		}
		if r.IntN(3) == 0 {
			n.ExpiresAt = noon.Add(time.Hour * time.Duration(1+r.IntN(4)))
		}
		l, _, err := s.As(keys[r.IntN(3)]).CreateLink(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(4) == 0 {
			now = now.Add(time.Duration(r.IntN(2)) * time.Microsecond)
			archived := true
			if _, err := s.EditLink(t.Context(), snip.Ref{Domain: l.Domain, Code: l.Code}, snip.LinkEdit{Archived: &archived}); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := list(t, s, snip.LinkQuery{Limit: 1000, Archived: snip.ArchivedAll})
	if len(all) != 120 {
		t.Fatalf("%d links, want 120", len(all))
	}
	sorts := []snip.Sort{"", snip.SortNewest, snip.SortOldest, snip.SortUpdated, snip.SortCode, snip.SortExpiry}
	for range 400 {
		q := snip.LinkQuery{
			Sort: sorts[r.IntN(len(sorts))], Limit: 1 + r.IntN(40), Archived: []string{"", snip.ArchivedNo, snip.ArchivedOnly, snip.ArchivedAll}[r.IntN(4)],
			Search: []string{"", "", "ap", "äP", "birne ap", "x 12", "none", "https com"}[r.IntN(8)],
			Owner:  []int64{0, 0, keys[1].ID, keys[2].ID}[r.IntN(4)],
		}
		if r.IntN(3) == 0 {
			q.Domain = &domains[r.IntN(2)]
		}
		for _, tag := range append(tags, "none") {
			if r.IntN(4) == 0 {
				q.Tags = append(q.Tags, tag)
			}
		}
		key := keys[r.IntN(3)]
		same(t, fmt.Sprintf("key %d asks %+v", key.ID, q), codes(answer(all, q, key)), codes(list(t, s.As(key), q)))
	}
}

// answer is the model of ListLinks.
func answer(all []snip.Link, q snip.LinkQuery, key snip.Key) (links []snip.Link) {
	for _, l := range all {
		archived := !l.ArchivedAt.IsZero()
		switch {
		case key.OwnLinks && l.Owner != key.ID, q.Owner != 0 && l.Owner != q.Owner, q.Domain != nil && l.Domain != *q.Domain,
			(q.Archived == "" || q.Archived == snip.ArchivedNo) && archived, q.Archived == snip.ArchivedOnly && !archived,
			q.Sort == snip.SortExpiry && l.ExpiresAt.IsZero(), !matches(l, q.Search),
			slices.ContainsFunc(q.Tags, func(tag string) bool { return !slices.Contains(l.Tags, tag) }):
			continue
		}
		links = append(links, l)
	}
	slices.SortFunc(links, func(a, b snip.Link) int {
		switch q.Sort {
		case snip.SortOldest:
			return int(a.ID - b.ID)
		case snip.SortUpdated:
			if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
				return c
			}
		case snip.SortCode:
			if c := strings.Compare(a.Domain, b.Domain); c != 0 {
				return c
			}
			return strings.Compare(a.Code, b.Code)
		case snip.SortExpiry:
			if c := a.ExpiresAt.Compare(b.ExpiresAt); c != 0 {
				return c
			}
			return int(a.ID - b.ID)
		}
		return int(b.ID - a.ID)
	})
	return links
}
