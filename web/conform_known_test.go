package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"snip"
)

// known is what there is at a site, so that requests find something.
type known struct {
	links   []snip.Ref
	hosts   []string
	keys    []int64
	made    int    // Domains, ever.
	next    string // Cursor of the list that was asked for last.
	nextFor [][2]string
}

// Of each no more is kept.
const (
	fewLinks   = 40
	fewDomains = 8
)

// restock makes what was used up.
func (k *known) restock(t *testing.T, s *site) {
	t.Helper()
	for len(k.hosts) < 3 {
		k.made++
		d, err := s.store.CreateDomain(t.Context(), snip.NewDomain{Host: fmt.Sprintf("d%d.example", k.made)})
		if err != nil {
			t.Fatal(err)
		}
		k.hosts = append(k.hosts, d.Host)
	}
	for i := 0; len(k.links) < 10; i++ {
		n := snip.NewLink{Settings: snip.Settings{Target: "https://example.com/", Tags: []string{"red"}}}
		if i%3 == 0 {
			n.Domain = k.hosts[i%len(k.hosts)]
		}
		l := s.create(n)
		k.links = append(k.links, snip.Ref{Domain: l.Domain, Code: l.Code})
	}
	for len(k.keys) < 3 {
		key, _, err := s.store.CreateKey(t.Context(), snip.NewKey{Label: "spare", Scopes: []snip.Scope{snip.ScopeRead}})
		if err != nil {
			t.Fatal(err)
		}
		k.keys = append(k.keys, key.ID)
	}
}

// learn keeps what an answer told, and takes away what becomes too much.
func (k *known) learn(t *testing.T, s *site, op operation, r request, rec *httptest.ResponseRecorder) {
	t.Helper()
	if rec.Code >= 300 {
		return
	}
	switch op.id {
	case "create-link", "edit-link":
		var l struct{ Domain, Code string }
		if err := json.Unmarshal(rec.Body.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		k.links = slices.DeleteFunc(k.links, func(l snip.Ref) bool { return l.Code == r.path["code"] }) // It may have another now.
		k.links = append(k.links, snip.Ref(l))
	case "delete-link", "change-links":
		var left []snip.Ref
		for _, l := range k.links {
			if _, err := s.store.Link(t.Context(), l); err == nil {
				left = append(left, l)
			}
		}
		k.links = left
	case "create-domain":
		var d struct{ Host string }
		if err := json.Unmarshal(rec.Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		k.hosts = append(k.hosts, d.Host)
	case "delete-domain":
		k.hosts = without(k.hosts, r.path["host"])
	case "list-links":
		var page struct{ Next string }
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		k.next, k.nextFor = page.Next, r.query
	}
	for len(k.links) > fewLinks {
		if err := s.store.DeleteLink(t.Context(), k.links[0], 0); err != nil && snip.CodeOf(err) != snip.NotFound {
			t.Fatal(err)
		}
		k.links = k.links[1:]
	}
	for len(k.hosts) > fewDomains {
		last := k.hosts[len(k.hosts)-1]
		if err := s.store.DeleteDomain(t.Context(), last, 0); err != nil && snip.CodeOf(err) != snip.NotFound {
			t.Fatal(err)
		}
		k.hosts = without(k.hosts, last)
	}
	k.restock(t, s)
}

func without(list []string, s string) (rest []string) {
	for _, l := range list {
		if !strings.EqualFold(l, s) {
			rest = append(rest, l)
		}
	}
	return rest
}

// rawQuery writes the query of a request.
func (r request) rawQuery() string {
	if r.raw != "" {
		return r.raw
	}
	var parts []string
	for _, p := range r.query {
		parts = append(parts, url.QueryEscape(p[0])+"="+url.QueryEscape(p[1]))
	}
	return strings.Join(parts, "&")
}

// escapePath writes a part of a path. What stands for the same or the upper directory
// never reaches a server that way.
func escapePath(s string) string {
	if s == "" || s == "." || s == ".." {
		s = "x"
	}
	return url.PathEscape(s)
}

func bearing(secret string) http.Header {
	return http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}}
}
