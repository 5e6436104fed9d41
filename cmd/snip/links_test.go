package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"snip"
)

// many is a service with numbered links, that notes how it was asked. What it does not
// have panics.
type many struct {
	service
	links  int
	limits []int // Of each page.
	bulks  []int // How many links each action named.
}

func (m *many) ListLinks(_ context.Context, q snip.LinkQuery) (page snip.LinkPage, err error) {
	m.limits = append(m.limits, q.Limit)
	if q.Limit < 1 || q.Limit > snip.MaxPage {
		return page, &snip.Error{Code: snip.Invalid, Field: "limit", Message: "Must be 1 to 1000."}
	}
	from := 0
	if q.Cursor != "" {
		if from, err = strconv.Atoi(q.Cursor); err != nil {
			return page, err
		}
	}
	to := min(from+q.Limit, m.links)
	for n := from; n < to; n++ {
		page.Links = append(page.Links, snip.Link{Code: fmt.Sprint(n)})
	}
	if to < m.links {
		page.Next = fmt.Sprint(to)
	}
	return page, nil
}

func (m *many) ChangeLinks(_ context.Context, b snip.Bulk) (snip.BulkResult, error) {
	m.bulks = append(m.bulks, len(b.Links))
	return snip.BulkResult{Done: len(b.Links)}, nil
}

// TestPages: no page is larger than one may be, no link comes twice, and it is told
// whether there are more.
func TestPages(t *testing.T) {
	for _, c := range []struct {
		links, limit int
		all          bool
		got          int
		more         bool
		limits       []int
	}{
		{0, 100, false, 0, false, []int{100}},
		{100, 100, false, 100, false, []int{100}},
		{101, 100, false, 100, true, []int{100}},
		{2500, 1500, false, 1500, true, []int{1000, 500}},
		{2500, 3000, false, 2500, false, []int{1000, 1000, 1000}},
		{2500, 100, true, 2500, false, []int{1000, 1000, 1000}},
	} {
		m := &many{links: c.links}
		seen := map[string]bool{}
		l := lister{place: place{service: m}, query: snip.LinkQuery{Limit: c.limit}, all: c.all}
		more, err := l.each(t.Context(), func(l snip.Link) error {
			seen[l.Code] = true
			return nil
		})
		if err != nil || more != c.more || len(seen) != c.got || !slices.Equal(m.limits, c.limits) {
			t.Errorf("%+v: %d links, more %v, %v; asked for %v", c, len(seen), more, err, m.limits)
		}
	}
	_, err := lister{place: place{service: &many{links: 5}}}.each(t.Context(), nil)
	if snip.CodeOf(err) != snip.Invalid {
		t.Errorf("a limit of 0: %v", err)
	}
}

// TestManyAreChangedInParts, as many at a time as may be named.
func TestManyAreChangedInParts(t *testing.T) {
	m := &many{}
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	if err := change(cmd, place{service: m}, snip.Bulk{Action: snip.BulkArchive}, make([]snip.Ref, 2500), false); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.bulks, []int{1000, 1000, 500}) || out.String() != "archived: 2500\n" {
		t.Errorf("asked for %v, printed %q", m.bulks, &out)
	}
}

// TestNames: a link on another domain is named with its host, in any way it is written.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		arg, domain string
		want        snip.Ref
	}{
		{"go", "", snip.Ref{Code: "go"}},
		{"go", "-", snip.Ref{Code: "go"}},
		{"go", "Go.Example.", snip.Ref{Domain: "go.example", Code: "go"}},
		{"bücher.example/go", "other.example", snip.Ref{Domain: "xn--bcher-kva.example", Code: "go"}},
		{"-/go", "other.example", snip.Ref{Code: "go"}},
		{"a b/go", "", snip.Ref{Domain: "a b", Code: "go"}},
		{"https://go.example/go", "", snip.Ref{Domain: "https://go.example", Code: "go"}},
	} {
		if got := refOf(c.arg, c.domain); got != c.want {
			t.Errorf("refOf(%q, %q) = %+v, want %+v", c.arg, c.domain, got, c.want)
		}
	}
}

// TestStateOfKeys tells what a key is worth now.
func TestStateOfKeys(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for want, k := range map[string]snip.Key{
		"valid":                        {},
		"valid until " + stamp(future): {ExpiresAt: future},
		"expired " + stamp(past):       {ExpiresAt: past},
		"revoked " + stamp(past):       {RevokedAt: past, ExpiresAt: future},
	} {
		if got := stateOf(k, time.UTC); got != want {
			t.Errorf("%+v is %q, want %q", k, got, want)
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
