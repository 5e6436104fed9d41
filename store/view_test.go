package store_test

import (
	"fmt"
	"testing"

	"snip"
	"snip/store"
)

// TestLimitedKeys: what a key may not see is not there for it.
func TestLimitedKeys(t *testing.T) {
	s := open(t, store.Config{})
	domain(t, s, "go.example", false)
	host, own := "go.example", ""
	free := makeKey(t, s, snip.NewKey{Label: "free"})
	keys := []snip.Key{
		makeKey(t, s, snip.NewKey{Label: "own links", OwnLinks: true}),
		makeKey(t, s, snip.NewKey{Label: "one domain", Domain: &host}),
		makeKey(t, s, snip.NewKey{Label: "own links of the own domain", OwnLinks: true, Domain: &own}),
	}
	for i, key := range keys {
		v := s.As(key)
		on := ""
		if key.Domain != nil {
			on = *key.Domain
		}
		tags := snip.Settings{Target: "https://example.com/", Tags: []string{"theirs"}}
		var hidden []snip.Link
		if key.OwnLinks {
			l, _, err := s.As(free).CreateLink(t.Context(), snip.NewLink{Domain: on, Code: fmt.Sprint("hidden-", i), Settings: tags})
			if err != nil {
				t.Fatal(err)
			}
			hidden = append(hidden, l)
		}
		if key.Domain != nil {
			elsewhere := map[string]string{"": host, host: ""}[on]
			hidden = append(hidden, create(t, s, snip.NewLink{Domain: elsewhere, Code: fmt.Sprint("elsewhere-", i), Settings: tags}))
			_, _, err := v.CreateLink(t.Context(), snip.NewLink{Domain: elsewhere, Settings: leadsTo("https://example.com/")})
			wantCode(t, err, snip.Forbidden, "domain")
		}
		tags.Tags = []string{"ours"}
		mine, made, err := v.CreateLink(t.Context(), snip.NewLink{Domain: on, Code: fmt.Sprint("mine-", i), Settings: tags})
		if err != nil || !made || mine.Owner != key.ID {
			t.Fatalf("CreateLink = link of %d, %v, want one of %d", mine.Owner, err, key.ID)
		}
		title, taken := "changed", ""
		for _, l := range hidden {
			ref := snip.Ref{Domain: l.Domain, Code: l.Code}
			_, err := v.Link(t.Context(), ref)
			wantCode(t, err, snip.NotFound, "code")
			_, err = v.EditLink(t.Context(), ref, snip.LinkEdit{Title: &title})
			wantCode(t, err, snip.NotFound, "code")
			wantCode(t, v.DeleteLink(t.Context(), ref, 0), snip.NotFound, "code")
			result, err := v.ChangeLinks(t.Context(), snip.Bulk{Action: snip.BulkDelete, Links: []snip.Ref{ref}})
			if err != nil || result.Done != 0 || len(result.Failed) != 1 {
				t.Errorf("ChangeLinks = %+v, %v, want that there is no such link", result, err)
			} else {
				wantCode(t, result.Failed[0].Err, snip.NotFound, "code")
			}
			if got, err := s.Link(t.Context(), ref); err != nil || got.Version != l.Version {
				t.Errorf("Link = %+v, %v, want it as it was", got, err)
			}
			if l.Domain == on {
				taken = l.Code
			}
		}
		ref := snip.Ref{Domain: on, Code: mine.Code}
		if taken != "" { // That much it is told: the code is not to be had.
			_, err = v.EditLink(t.Context(), ref, snip.LinkEdit{Code: &taken})
			wantCode(t, err, snip.Conflict, "code")
		}
		for _, q := range []snip.LinkQuery{{}, {Search: "example"}, {Tags: []string{"ours"}}, {Sort: snip.SortUpdated}, {Owner: key.ID}} {
			q.Limit = 10
			links := list(t, v, q)
			if len(links) != 1 || links[0].ID != mine.ID {
				t.Errorf("key %d asks %+v and finds %q, want its own link alone", key.ID, q, codes(links))
			}
		}
		if links := list(t, v, snip.LinkQuery{Tags: []string{"theirs"}, Limit: 10}); len(links) != 0 {
			t.Errorf("key %d finds %q", key.ID, codes(links))
		}
		counts, err := v.Tags(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tags", []snip.TagCount{{Tag: "ours", Links: 1}}, counts)
		if _, err := v.EditLink(t.Context(), ref, snip.LinkEdit{Title: &title}); err != nil {
			t.Error(err)
		}
		if err := v.DeleteLink(t.Context(), ref, 0); err != nil {
			t.Error(err)
		}
	}
	if links := list(t, s, snip.LinkQuery{Owner: free.ID, Limit: 10}); len(links) != 2 {
		t.Errorf("the operator finds %q of key %d, want both", codes(links), free.ID)
	}
}
