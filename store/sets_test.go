package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

// valueSums is what was counted by dimension and value.
type valueSums [snip.NumDimensions]map[string]snip.Counts

// sumsOf adds up by hand the clicks of links.
func sumsOf(clicks []snip.Click, links ...snip.Link) (total snip.Counts, sums valueSums) {
	for d := range sums {
		sums[d] = map[string]snip.Counts{}
	}
	for i := range clicks {
		c := &clicks[i]
		if !slices.ContainsFunc(links, func(l snip.Link) bool { return l.ID == c.Link }) {
			continue
		}
		one := snip.Counts{Clicks: 1}
		if c.Class == snip.Human {
			one.HumanClicks = 1
		}
		total.Add(one)
		for d := range sums {
			sum := sums[d][c.Value(snip.Dimension(d))]
			sum.Add(one)
			sums[d][c.Value(snip.Dimension(d))] = sum
		}
	}
	return total, sums
}

// around is the days of someClicks.
func around() snip.Range {
	return snip.Range{From: snip.DateOf(noon).AddDays(-4), To: snip.DateOf(noon).AddDays(4), Zone: time.UTC}
}

// ask asks for the days around noon, and checks that everything in the answer adds up.
func ask(t *testing.T, v snip.Statistics, q snip.StatsQuery) snip.Stats {
	t.Helper()
	q.Range, q.Top = around(), snip.MaxTop
	if q.Step == 0 {
		q.Step = snip.StepDay
	}
	st, err := v.Stats(t.Context(), q)
	if err != nil {
		t.Fatalf("Stats(%+v): %v", q, err)
	}
	mustAddUp(t, st)
	return st
}

func mustAddUp(t *testing.T, st snip.Stats) {
	t.Helper()
	var sum snip.Counts
	for _, p := range st.Series {
		sum.Add(p.Counts)
	}
	if sum != st.Counts {
		t.Errorf("%+v, and the series adds up to %+v", st.Counts, sum)
	}
	for d, b := range st.Dimensions {
		sum := b.More
		sum.Add(b.Other)
		for _, v := range b.Top {
			sum.Add(v.Counts)
		}
		if sum != st.Counts {
			t.Errorf("%+v, and by %s it adds up to %+v", st.Counts, snip.Dimension(d), sum)
		}
	}
}

// mustBe compares an answer with the clicks of links, added up by hand.
func mustBe(t *testing.T, what string, st snip.Stats, clicks []snip.Click, links ...snip.Link) {
	t.Helper()
	total, want := sumsOf(clicks, links...)
	var got valueSums
	for d, b := range st.Dimensions {
		got[d] = map[string]snip.Counts{}
		for _, v := range b.Top {
			got[d][v.Value] = v.Counts
		}
	}
	if st.Counts != total {
		t.Errorf("%s: %+v, want %+v", what, st.Counts, total)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// fewReferrers leaves no more values than one answer can tell.
func fewReferrers(clicks []snip.Click) []snip.Click {
	for i := range clicks {
		clicks[i].Referrer = clicks[i].Referrer[:min(3, len(clicks[i].Referrer))]
	}
	return clicks
}

// on is a domain of a query.
func on(host string) *string { return &host }

func createDomain(t *testing.T, s *store.Store, n snip.NewDomain) {
	t.Helper()
	if _, err := s.CreateDomain(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// TestStatsOfTagsAndDomains covers L14: the same code on two domains is two links, and
// every set has what its links have, no more.
func TestStatsOfTagsAndDomains(t *testing.T) {
	s := open(t, store.Config{})
	createDomain(t, s, snip.NewDomain{Host: "go.example"})
	link := func(domain, code string, tags ...string) snip.Link {
		return create(t, s, snip.NewLink{Domain: domain, Code: code, Settings: snip.Settings{Tags: tags}})
	}
	a, b, c := link("", "a", "red"), link("", "b", "red", "blue"), link("", "c")
	goA, goB := link("go.example", "a", "red"), link("go.example", "b")
	all := fewReferrers(someClicks(3000, a, b, c, goA, goB))
	count(t, s, all...)

	for _, compacted := range []bool{false, true} {
		if compacted {
			compact(t, s, time.UTC, noon)
		}
		for _, test := range []struct {
			name  string
			q     snip.StatsQuery
			links []snip.Link
		}{
			{"everything", snip.StatsQuery{}, []snip.Link{a, b, c, goA, goB}},
			{"a tag", snip.StatsQuery{Tag: "red"}, []snip.Link{a, b, goA}},
			{"a tag of one link", snip.StatsQuery{Tag: "blue"}, []snip.Link{b}},
			{"a tag of none", snip.StatsQuery{Tag: "green"}, nil},
			{"the own domain", snip.StatsQuery{Domain: on("")}, []snip.Link{a, b, c}},
			{"another domain", snip.StatsQuery{Domain: on("go.example")}, []snip.Link{goA, goB}},
			{"another domain as typed", snip.StatsQuery{Domain: on("GO.example")}, []snip.Link{goA, goB}},
			{"a tag on a domain", snip.StatsQuery{Domain: on("go.example"), Tag: "red"}, []snip.Link{goA}},
			{"a tag on a domain without", snip.StatsQuery{Domain: on("go.example"), Tag: "blue"}, nil},
			{"a code", snip.StatsQuery{Codes: []string{"a"}}, []snip.Link{a}},
			{"a code on a domain", snip.StatsQuery{Codes: []string{"a"}, Domain: on("go.example")}, []snip.Link{goA}},
			{"codes on a domain", snip.StatsQuery{Codes: []string{"b", "a", "b"}, Domain: on("go.example")}, []snip.Link{goA, goB}},
		} {
			st := ask(t, s, test.q)
			mustBe(t, fmt.Sprintf("%s, compacted %t", test.name, compacted), st, all, test.links...)
			if !cmp.Equal(st.Domain, test.q.Domain) || !cmp.Equal(st.Codes, test.q.Codes) || st.Tag != test.q.Tag {
				t.Errorf("%s: the answer is of %v, %v, %q", test.name, st.Domain, st.Codes, st.Tag)
			}
		}
	}

	// Who follows two links of a set is one visitor: of all links together there are as
	// many as of the set with all of them.
	everything, tagged := ask(t, s, snip.StatsQuery{}), ask(t, s, snip.StatsQuery{Codes: []string{"a", "b", "c"}})
	own := ask(t, s, snip.StatsQuery{Domain: on("")})
	if diff := cmp.Diff(tagged.Visitors, own.Visitors); diff != "" {
		t.Errorf("visitors of a domain: %s", diff)
	}
	if len(everything.Visitors) != len(own.Visitors) {
		t.Errorf("%d days with visitors, on the own domain %d", len(everything.Visitors), len(own.Visitors))
	}

	_, err := s.Stats(t.Context(), snip.StatsQuery{Domain: on("none.example"), Range: around()})
	wantCode(t, err, snip.NotFound, "")
	_, err = s.Stats(t.Context(), snip.StatsQuery{Codes: []string{"c"}, Domain: on("go.example"), Range: around()})
	wantCode(t, err, snip.NotFound, "code")
}

// TestStatsGoByWhatLinksAreNow: tags, codes and domains are those of the moment, and
// what was counted stays with its link.
func TestStatsGoByWhatLinksAreNow(t *testing.T) {
	s := open(t, store.Config{})
	createDomain(t, s, snip.NewDomain{Host: "any.example", IgnoreCase: true})
	a := create(t, s, snip.NewLink{Code: "a", Settings: snip.Settings{Tags: []string{"red"}}})
	b := create(t, s, snip.NewLink{Code: "b"})
	anyA := create(t, s, snip.NewLink{Domain: "any.example", Code: "MixedCase"})
	all := fewReferrers(someClicks(500, a, b, anyA))
	count(t, s, all...)
	mustBe(t, "before", ask(t, s, snip.StatsQuery{Tag: "red"}), all, a)

	edit := func(ref snip.Ref, e snip.LinkEdit) {
		t.Helper()
		if _, err := s.EditLink(t.Context(), ref, e); err != nil {
			t.Fatal(err)
		}
	}
	code, tags, archived := "new", []string{"red"}, true
	edit(snip.Ref{Code: "a"}, snip.LinkEdit{Code: &code, KeepCode: true, Tags: &[]string{}})
	edit(snip.Ref{Code: "b"}, snip.LinkEdit{Tags: &tags, Archived: &archived})
	mustBe(t, "with other tags, and archived", ask(t, s, snip.StatsQuery{Tag: "red"}), all, b)
	for name, q := range map[string]snip.StatsQuery{
		"by the new code":           {Codes: []string{"new"}},
		"by the old code, an alias": {Codes: []string{"a"}},
		"by both":                   {Codes: []string{"a", "new", "a"}},
	} {
		mustBe(t, name, ask(t, s, q), all, a)
	}
	edit(snip.Ref{Domain: "any.example", Code: "mixedcase"}, snip.LinkEdit{Code: &code, KeepCode: true})
	for _, code := range []string{"NEW", "mixedCASE", "MixedCase"} {
		mustBe(t, code, ask(t, s, snip.StatsQuery{Domain: on("any.example"), Codes: []string{code}}), all, anyA)
	}
	_, err := s.Stats(t.Context(), snip.StatsQuery{Codes: []string{"NEW"}, Range: around()})
	wantCode(t, err, snip.NotFound, "code")

	if err := s.DeleteLink(t.Context(), snip.Ref{Code: "b"}, 0); err != nil {
		t.Fatal(err)
	}
	mustBe(t, "once it is deleted", ask(t, s, snip.StatsQuery{Tag: "red"}), all)
	mustBe(t, "the others", ask(t, s, snip.StatsQuery{}), all, a, anyA)
}

// TestStatsOfLimitedKeys: everything is what the key sees, in every view.
func TestStatsOfLimitedKeys(t *testing.T) {
	s := open(t, store.Config{})
	createDomain(t, s, snip.NewDomain{Host: "go.example"})
	mine := snip.Key{ID: 7, Scopes: []snip.Scope{snip.ScopeRead, snip.ScopeWrite}, OwnLinks: true}
	other := snip.Key{ID: 8, Scopes: mine.Scopes, OwnLinks: true}
	there := snip.Key{ID: 9, Scopes: mine.Scopes, Domain: on("go.example")}
	both := snip.Key{ID: 7, Scopes: mine.Scopes, Domain: on("go.example"), OwnLinks: true}
	link := func(key snip.Key, domain, code string) snip.Link {
		t.Helper()
		l, _, err := s.As(key).CreateLink(t.Context(), snip.NewLink{
			Domain: domain, Code: code, Settings: snip.Settings{Target: "https://example.com/", Tags: []string{"red"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := link(mine, "", "a"), link(other, "", "b")
	goA, goB := link(mine, "go.example", "a"), link(there, "go.example", "b")
	nobody := create(t, s, snip.NewLink{Code: "nobody"})
	all := fewReferrers(someClicks(2000, a, b, goA, goB, nobody))
	count(t, s, all...)

	for name, test := range map[string]struct {
		key   snip.Key
		links []snip.Link
		own   []snip.Link // On the own domain.
	}{
		"own links":                {mine, []snip.Link{a, goA}, []snip.Link{a}},
		"own links of another":     {other, []snip.Link{b}, []snip.Link{b}},
		"a domain":                 {there, []snip.Link{goA, goB}, nil},
		"own links on a domain":    {both, []snip.Link{goA}, nil},
		"no limit":                 {snip.Key{ID: 1}, []snip.Link{a, b, goA, goB, nobody}, []snip.Link{a, b, nobody}},
		"a key that made no links": {snip.Key{ID: 99, OwnLinks: true}, nil, nil},
	} {
		v := s.As(test.key)
		mustBe(t, name+": everything", ask(t, v, snip.StatsQuery{}), all, test.links...)
		mustBe(t, name+": own domain", ask(t, v, snip.StatsQuery{Domain: on("")}), all, test.own...)
		tagged := slices.DeleteFunc(slices.Clone(test.links), func(l snip.Link) bool { return l.ID == nobody.ID })
		mustBe(t, name+": tag", ask(t, v, snip.StatsQuery{Tag: "red"}), all, tagged...)
		mustBePopular(t, name, v, all, test.links)
		for _, l := range []snip.Link{a, b, goA, goB, nobody} {
			q := snip.StatsQuery{Codes: []string{l.Code}, Domain: on(l.Domain), Range: around()}
			if slices.ContainsFunc(test.links, func(m snip.Link) bool { return m.ID == l.ID }) {
				mustBe(t, name+": "+l.Code, ask(t, v, q), all, l)
				continue
			}
			_, err := v.Stats(t.Context(), q)
			wantCode(t, err, snip.NotFound, "code")
		}
		_, err := v.UnknownCodes(t.Context(), around(), 10)
		if test.key.OwnLinks || test.key.Domain != nil {
			wantCode(t, err, snip.Forbidden, "")
		} else if err != nil {
			t.Errorf("%s: UnknownCodes: %v", name, err)
		}
	}
}

// mustBePopular compares which links are popular with what was added up by hand, with
// room for all of them and for one.
func mustBePopular(t *testing.T, name string, v *store.View, clicks []snip.Click, links []snip.Link) {
	t.Helper()
	total, _ := sumsOf(clicks, links...)
	for _, limit := range []int{1, 1000} {
		p, err := v.Popular(t.Context(), around(), limit)
		if err != nil {
			t.Fatal(err)
		}
		if p.Counts != total || len(p.Links) != min(limit, len(links)) {
			t.Errorf("%s: %d popular links with %+v, want %d with %+v", name, len(p.Links), p.Counts, min(limit, len(links)), total)
		}
		sum, last := p.More, int64(1<<62)
		for _, l := range p.Links {
			want, _ := sumsOf(clicks, l.Link)
			sum.Add(l.Counts)
			if l.Counts != want || l.HumanClicks > last || l.Link.Clicks != want.Clicks || l.Link.Code == "" || l.Link.Target == "" {
				t.Errorf("%s: %+v, want %+v and no more than %d of people", name, l, want, last)
			}
			last = l.HumanClicks
		}
		if sum != p.Counts {
			t.Errorf("%s: popular links and more have %+v, want %+v", name, sum, p.Counts)
		}
	}
}

// TestStatsOfManyLinks: a tag may have more links than are read at once, and all its
// links have together what everything has.
func TestStatsOfManyLinks(t *testing.T) {
	s := open(t, store.Config{})
	links := make([]snip.Link, 1200)
	var wg sync.WaitGroup
	const makers = 30 // Who come at one time are written at once.
	for maker := range makers {
		wg.Go(func() {
			for i := maker; i < len(links); i += makers {
				l, _, err := s.CreateLink(t.Context(), snip.NewLink{
					Code: fmt.Sprint("c", i), Settings: snip.Settings{Target: "https://example.com/", Tags: []string{"all"}},
				})
				if err != nil {
					t.Error(err)
				}
				links[i] = l
			}
		})
	}
	wg.Wait()
	slices.SortFunc(links, func(a, b snip.Link) int { return int(a.ID - b.ID) })
	// Some links nobody followed, and of the first in some pages there is more than is
	// read at once.
	var followed []snip.Link
	for i, l := range links {
		if i%7 != 0 {
			followed = append(followed, l)
		}
	}
	all := fewReferrers(someClicks(5000, followed...))
	for _, i := range []int{3, 4, 5, 6, 8, 9, 10, 11, 12, 600} {
		for j := range 1000 {
			all = append(all, snip.Click{
				Link: links[i].ID, At: noon.Add(time.Duration(i+j%3) * time.Minute), Visitor: uint64(j + 1),
				Browser: fmt.Sprint("b", j%900), OS: fmt.Sprint("o", j%900), Device: fmt.Sprint("d", j%900), Medium: fmt.Sprint("m", j%900),
				Language: fmt.Sprint("l", j%900), Country: fmt.Sprint("c", j%900), Region: fmt.Sprint("r", j%900), Campaign: fmt.Sprint("u", j%900),
			})
		}
	}
	for chunk := range slices.Chunk(all, 1000) {
		count(t, s, chunk...)
	}
	for _, step := range []snip.Step{snip.StepHour, snip.StepMonth} {
		everything := ask(t, s, snip.StatsQuery{Step: step})
		for name, q := range map[string]snip.StatsQuery{"tag": {Tag: "all", Step: step}, "domain": {Domain: on(""), Step: step}} {
			got := ask(t, s, q)
			mustBe(t, name, got, all, links...)
			got.Domain, got.Tag = nil, ""
			if diff := cmp.Diff(everything, got, sameZone); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}
