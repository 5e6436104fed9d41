package snip_test

import (
	"strings"
	"testing"

	"snip"
)

func TestLinkQueryCheck(t *testing.T) {
	here, there, bad := "", "kürzer.example", "a b"
	for _, q := range []snip.LinkQuery{
		{Limit: 1},
		{Search: strings.Repeat("ü", snip.MaxSearch), Domain: &here, Tags: []string{"a", "b"}, Owner: 7, Archived: "all", Sort: "expiry", Limit: snip.MaxPage, Cursor: "x"},
		{Domain: &there, Archived: "only", Sort: "code", Limit: 1},
	} {
		if err := q.Check(); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", q, err)
		}
	}
	tests := []struct {
		query          snip.LinkQuery
		field, message string
	}{
		{snip.LinkQuery{Limit: 0}, "limit", "from 1 to 1000"},
		{snip.LinkQuery{Limit: -1}, "limit", "from 1 to 1000"},
		{snip.LinkQuery{Limit: 1_000_000_000}, "limit", "from 1 to 1000"},
		{snip.LinkQuery{Limit: 1, Search: strings.Repeat("x", 201)}, "search", "201"},
		{snip.LinkQuery{Limit: 1, Search: "\x00"}, "search", "U+0000"},
		{snip.LinkQuery{Limit: 1, Search: "\xff"}, "search", "UTF-8"},
		{snip.LinkQuery{Limit: 1, Domain: &bad}, "domain", "holds ' '"},
		{snip.LinkQuery{Limit: 1, Tags: []string{"a,b"}}, "tag", "comma"},
		{snip.LinkQuery{Limit: 1, Tags: numbered(51)}, "tag", "51 tags"},
		{snip.LinkQuery{Limit: 1, Owner: -1}, "owner", "number"},
		{snip.LinkQuery{Limit: 1, Archived: "yes"}, "archived", "only"},
		{snip.LinkQuery{Limit: 1, Sort: "clicks"}, "sort", "newest"},
		{snip.LinkQuery{Limit: 1, Cursor: strings.Repeat("x", 2001)}, "cursor", "first page"},
	}
	for _, test := range tests {
		wantInvalid(t, test.query.Check(), test.field, test.message)
	}
}

func TestBulkCheck(t *testing.T) {
	links := []snip.Ref{{Code: "abc"}, {Domain: "nowhere", Code: "///"}} // The second fails by itself.
	for _, b := range []snip.Bulk{
		{Action: "tag", Links: links, Tags: []string{"a"}}, {Action: "untag", Links: links, Tags: []string{"a"}},
		{Action: "archive", Links: links}, {Action: "restore", Links: links}, {Action: "delete", Links: make([]snip.Ref, snip.MaxBulk)},
	} {
		if err := b.Check(); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", b, err)
		}
	}
	tests := []struct {
		bulk           snip.Bulk
		field, message string
	}{
		{snip.Bulk{Links: links}, "action", "restore"},
		{snip.Bulk{Action: "Tag", Links: links, Tags: []string{"a"}}, "action", "untag"},
		{snip.Bulk{Action: "delete"}, "links", "No link"},
		{snip.Bulk{Action: "delete", Links: make([]snip.Ref, snip.MaxBulk+1)}, "links", "1001 links"},
		{snip.Bulk{Action: "tag", Links: links}, "tags", "No tag"},
		{snip.Bulk{Action: "delete", Links: links, Tags: []string{"a"}}, "tags", "Leave them out"},
		{snip.Bulk{Action: "untag", Links: links, Tags: []string{"a", ""}}, "tags[1]", "empty"},
	}
	for _, test := range tests {
		wantInvalid(t, test.bulk.Check(), test.field, test.message)
	}
}

func TestStatsQueryNamesLinksOneWay(t *testing.T) {
	day := snip.Date{Year: 2026, Month: 11, Day: 29}
	r := snip.Range{From: day, To: day}
	here, bad := "", "https://go.example"
	for _, q := range []snip.StatsQuery{
		{Range: r}, {Range: r, Tag: "a"}, {Range: r, Domain: &here}, {Range: r, Domain: &here, Tag: "a"}, {Range: r, Domain: &here, Codes: []string{"abc"}},
	} {
		if err := q.Check(); err != nil {
			t.Errorf("%+v.Check() = %v, want nil", q, err)
		}
	}
	wantInvalid(t, snip.StatsQuery{Range: r, Tag: "a", Codes: []string{"abc"}}.Check(), "tag", "not for both")
	wantInvalid(t, snip.StatsQuery{Range: r, Tag: "a,b"}.Check(), "tag", "comma")
	wantInvalid(t, snip.StatsQuery{Range: r, Domain: &bad}.Check(), "domain", "without http")
}
