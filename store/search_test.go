package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"snip"
	"snip/store"
)

var word = regexp.MustCompile(`[\pL\pM\pN]+`)

// words is the model of what can be found: every run of letters, marks and digits.
func words(text string) (words []string) {
	for _, w := range word.FindAllString(text, -1) {
		var lower []rune
		for _, c := range w {
			lower = append(lower, []rune(strings.ToLower(string(c)))[0])
		}
		words = append(words, string(lower[:min(len(lower), 64)]))
	}
	return words
}

// matches is the model of a search.
func matches(l snip.Link, search string) bool {
	there := words(strings.Join([]string{l.Code, l.Title, l.Note, l.Target}, "\n"))
	for _, w := range words(search) {
		if !slices.ContainsFunc(there, func(has string) bool { return strings.HasPrefix(has, w) }) {
			return false
		}
	}
	return true
}

// TestSearchAgreesWithAModel: both databases find what the model finds, in whatever
// script, and whether the walk or the index finds it.
func TestSearchAgreesWithAModel(t *testing.T) {
	s := open(t, store.Config{})
	letters := []rune("aAbBzZ09äÄßẞİıçŁжЖњ̈Ωωςαあア漢ℵⅨ²٣ñ_-.,'\"*:&|!()<>% \u00a0\u200d\u2019\U0001F600\U00010400\U0001E900")
	r := rand.New(rand.NewPCG(3, 4))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	var links []snip.Link
	for i := range 150 {
		if i%20 == 10 {
			// The index is asked in groups of so many: some go across where one ends, and some
			// have no link.
			skipTo(t, s, int64(i*i)<<13-10)
		}
		l := create(t, s, snip.NewLink{Settings: snip.Settings{
			Target: fmt.Sprint("https://example.com/", strings.Map(func(c rune) rune {
				if c == ' ' || c == '\u00a0' || c == '\\' {
					return '/'
				}
				return c
			}, text(10)), "?i=", i), Title: text(r.IntN(20)), Note: text(r.IntN(40)),
		}})
		links = append(links, l)
	}
	long := create(t, s, snip.NewLink{Settings: leadsTo("https://example.com/" + strings.Repeat("ab", 3000))})
	links = append(links, long)
	searches := []string{"", "https example", strings.Repeat("ab", 40), strings.Repeat("ab", 32), "%", "' OR 1=1 --", `" OR "`, "*", "a*", "NOT a", "i 14"}
	for range 300 {
		searches = append(searches, text(1+r.IntN(3)))
		has := words(links[r.IntN(len(links))].Title)
		if len(has) > 0 {
			w := []rune(has[r.IntN(len(has))])
			searches = append(searches, string(w[:1+r.IntN(len(w))]), strings.ToUpper(string(w)))
		}
	}
	for _, search := range searches {
		var want []string
		for _, l := range slices.Backward(links) {
			if matches(l, search) {
				want = append(want, l.Code)
			}
		}
		same(t, fmt.Sprintf("found by %q", search), want, codes(list(t, s, snip.LinkQuery{Search: search, Limit: 1000})))
	}
}

func TestSearchFollowsEdits(t *testing.T) {
	s := open(t, store.Config{})
	create(t, s, snip.NewLink{Code: "one", Settings: snip.Settings{Title: "Alpha"}})
	create(t, s, snip.NewLink{Code: "two", Settings: snip.Settings{Title: "Beta"}})
	found := func(search string, want ...string) {
		t.Helper()
		same(t, "found by "+search, want, codes(list(t, s, snip.LinkQuery{Search: search, Limit: 10})))
	}
	found("alp", "one")
	title, code := "Gamma", "three"
	for _, e := range []snip.LinkEdit{{Title: &title}, {Code: &code}} {
		if _, err := s.EditLink(t.Context(), at("one"), e); err != nil {
			t.Fatal(err)
		}
	}
	found("alp")
	found("one")
	found("three gam", "three")
	if err := s.DeleteLink(t.Context(), at("two"), 0); err != nil {
		t.Fatal(err)
	}
	found("bet")
	create(t, s, snip.NewLink{Code: "two"})
	found("two", "two")
}

// TestSearchBeyondTheWalk: what is not among the newest links is found by an index, in
// the same order and with the same pages, whichever groups of the index they are in.
func TestSearchBeyondTheWalk(t *testing.T) {
	t.Run("one group", func(t *testing.T) { searchBeyondTheWalk(t, 0) })
	t.Run("many groups", func(t *testing.T) { searchBeyondTheWalk(t, 1<<15) })
}

// searchBeyondTheWalk leaves out so many IDs that links are in other groups.
func searchBeyondTheWalk(t *testing.T, step int64) {
	s := open(t, store.Config{})
	rare := create(t, s, snip.NewLink{Code: "rare-1", Settings: snip.Settings{Title: "needle", Tags: []string{"few"}}})
	skipTo(t, s, step)
	create(t, s, snip.NewLink{Code: "rare-2", Settings: snip.Settings{Title: "Needles", Tags: []string{"few", "all"}}})
	skipTo(t, s, 8*step-3000)
	fillUp(t, s, 6000)
	skipTo(t, s, 20*step)
	create(t, s, snip.NewLink{Code: "rare-3", Settings: snip.Settings{Title: "needle", Tags: []string{"few", "all"}}})
	for _, q := range []struct {
		snip.LinkQuery
		want []string
	}{
		{snip.LinkQuery{Search: "needle"}, []string{"rare-3", "rare-2", "rare-1"}},
		{snip.LinkQuery{Search: "needle", Sort: snip.SortOldest}, []string{"rare-1", "rare-2", "rare-3"}},
		{snip.LinkQuery{Search: "needle", Sort: snip.SortUpdated}, []string{"rare-3", "rare-2", "rare-1"}},
		{snip.LinkQuery{Search: "needle", Sort: snip.SortCode}, []string{"rare-1", "rare-2", "rare-3"}},
		{snip.LinkQuery{Search: "https needles"}, []string{"rare-2"}},
		{snip.LinkQuery{Search: "https example", Tags: []string{"few"}, Limit: 1}, []string{"rare-3", "rare-2", "rare-1"}},
		{snip.LinkQuery{Tags: []string{"all", "few"}}, []string{"rare-3", "rare-2"}},
		{snip.LinkQuery{Tags: []string{"few"}, Sort: snip.SortOldest}, []string{"rare-1", "rare-2", "rare-3"}},
		{snip.LinkQuery{Tags: []string{"few"}, Sort: snip.SortCode}, []string{"rare-1", "rare-2", "rare-3"}},
		{snip.LinkQuery{Search: "odd even"}, nil}, // Each has half of the links.
		{snip.LinkQuery{Search: "nothing"}, nil},
	} {
		for _, limit := range []int{1, 2, 100} {
			q.Limit = limit
			same(t, fmt.Sprintf("ListLinks(%+v)", q.LinkQuery), q.want, codes(list(t, s, q.LinkQuery)))
		}
	}
	if n := len(list(t, s, snip.LinkQuery{Search: "odd", Limit: 1000})); n != 3000 {
		t.Errorf("%d links are found by a word that half of them have, want 3000", n)
	}
	if n := len(list(t, s, snip.LinkQuery{Tags: []string{"all"}, Sort: snip.SortUpdated, Limit: 999})); n != 6002 {
		t.Errorf("%d links have a tag that nearly all have, want 6002", n)
	}
	if l := list(t, s, snip.LinkQuery{Search: "needle", Tags: []string{"few"}, Limit: 10}); l[2].ID != rare.ID {
		t.Errorf("the oldest is link %d, want %d", l[2].ID, rare.ID)
	}
}

// skipTo makes the next link have the ID after this one, if it is not beyond it already.
func skipTo(t testing.TB, s *store.Store, id int64) {
	t.Helper()
	statement := `UPDATE sqlite_sequence SET seq = MAX(seq, $1) WHERE name = 'links'`
	if onPostgres() {
		statement = `SELECT setval('links_id_seq', GREATEST(nextval('links_id_seq') - 1, $1))`
	}
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fillUp makes n links, many in one transaction, with the tag "all" and the words "odd" or "even".
func fillUp(t testing.TB, s *store.Store, n int) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range []string{
			`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO links (domain, code, created_at, updated_at, title, url)
			SELECT '', 'filled-' || i, 1, 1, CASE WHEN i %% 2 = 0 THEN 'even' ELSE 'odd' END, 'https://example.com/' || i FROM n`,
			`INSERT INTO link_words (link_id, words) SELECT id, ' filled ' || title || ' https example com' FROM links WHERE code LIKE 'filled-%%' AND %[1]d > 0`,
			`INSERT INTO link_tags (tag_id, link_id) SELECT tags.id, links.id FROM links, tags WHERE name = 'all' AND code LIKE 'filled-%%' AND %[1]d > 0`,
		} {
			if _, err := tx.ExecContext(ctx, fmt.Sprintf(statement, n)); err != nil {
				return err
			}
		}
		if onPostgres() {
			return nil
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO link_search (rowid, words)
			SELECT link_id, replace(words, ' ', ' ' || CAST(1000000 + (link_id >> 15) AS TEXT)) FROM link_words WHERE words LIKE ' filled%'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
