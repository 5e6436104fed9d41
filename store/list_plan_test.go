package store

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"snip"
	"snip/internal/postgrestest"
)

// TestListsScanNoTable: no list and no search goes through all there is in order to find
// some of it. A walk in the order of the list is bounded by how many links it looks at.
func TestListsScanNoTable(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "snip.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expires := snip.Settings{Target: "https://example.com/", Tags: []string{"a", "b"}}
	for range 3 {
		if _, _, err := s.CreateLink(t.Context(), snip.NewLink{Settings: expires}); err != nil {
			t.Fatal(err)
		}
	}
	own := ""
	for _, sort := range []snip.Sort{snip.SortNewest, snip.SortOldest, snip.SortUpdated, snip.SortCode, snip.SortExpiry} {
		for _, q := range []snip.LinkQuery{
			{}, {Archived: snip.ArchivedAll}, {Archived: snip.ArchivedOnly}, {Domain: &own}, {Owner: 7}, {Domain: &own, Owner: 7, Archived: snip.ArchivedOnly},
			{Tags: []string{"a"}}, {Tags: []string{"a", "b"}, Domain: &own}, {Search: "exa"}, {Search: "exa com none", Tags: []string{"b"}, Owner: 3},
		} {
			q.Sort, q.Limit = sort, 2
			for i, plan := range plansOf(t, s, q) {
				for _, step := range plan {
					ok := direct.MatchString(step) || step == sorting
					if i == 0 {
						ok = direct.MatchString(step) || inOrder.MatchString(step)
					}
					if !ok {
						t.Errorf("%+v: %q in the plan\n%s", q, step, strings.Join(plan, "\n"))
					}
				}
			}
		}
	}
}

// sorting puts in order what a source led to.
const sorting = "USE TEMP B-TREE FOR ORDER BY"

// direct are steps that look up what they need.
var direct = regexp.MustCompile(`^(SEARCH .*|SCAN found VIRTUAL TABLE INDEX .*M.*|SCAN found USING (COVERING )?INDEX links_archived|` +
	`CORRELATED SCALAR SUBQUERY \d+|CO-ROUTINE groups|SETUP|RECURSIVE STEP|SCAN groups|USE TEMP B-TREE FOR string_agg\(ORDER BY\))$`)

// inOrder are those that go through links in the order of the list, of which the first
// are asked for.
var inOrder = regexp.MustCompile(`^(CO-ROUTINE links|SCAN links( USING INDEX (links_updated|links_expiry|sqlite_autoindex_links_1))?)$`)

// plansOf returns the plans of all statements by which a question may be answered. The
// first goes through links in the order of the list.
func plansOf(t *testing.T, s *Store, q snip.LinkQuery) (plans [][]string) {
	t.Helper()
	err := s.read(t.Context(), func(tx session) error {
		l, err := s.newListing(t.Context(), tx, q)
		if err != nil {
			return err
		}
		questions := []question{l.walk(tx)}
		if len(l.words) == 0 && len(l.sources) == 0 {
			questions = []question{l.whole(tx)}
		}
		for _, from := range l.sources {
			questions = append(questions, l.through(tx, from))
		}
		if len(l.words) > 0 {
			questions = append(questions, l.inGroup(tx, l.words[:1]), l.inGroups(tx, l.words[:1]))
		}
		for _, ask := range questions {
			plan, err := planOf(t.Context(), tx, ask.text, ask.args)
			if err != nil {
				return err
			}
			plans = append(plans, plan)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return plans
}

// TestSearchOnServerEndsWithThePage: the statement that goes from group to group does not
// ask those after the page.
func TestSearchOnServerEndsWithThePage(t *testing.T) {
	s, err := Open(t.Context(), Config{URL: postgrestest.Start(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.write(t.Context(), fillGroups); err != nil {
		t.Fatal(err)
	}
	for sort, first := range map[snip.Sort]string{snip.SortNewest: "c1999", snip.SortOldest: "c0", snip.SortUpdated: "c0"} {
		err := s.read(t.Context(), func(tx session) error {
			l, err := s.newListing(t.Context(), tx, snip.LinkQuery{Search: "word", Sort: sort, Limit: 50})
			if err != nil {
				return err
			}
			q := l.inGroupsOnServer(tx, l.words)
			if links, err := l.ask(t.Context(), tx, q); err != nil || len(links) != 51 || links[0].Code != first {
				t.Errorf("%s: %d links, %v, want 51 from %s on", sort, len(links), err, first)
			}
			asked, err := groupsAsked(t.Context(), tx, q)
			if want := map[bool]int{true: 2, false: 20}[l.order.byID()]; asked > want || asked == 0 {
				t.Errorf("%s: %d groups of 20 are asked, want at most %d", sort, asked, want)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", sort, err)
		}
	}
}

// fillGroups makes a hundred links in each of twenty groups.
func fillGroups(ctx context.Context, tx session) error {
	for _, statement := range []string{
		`INSERT INTO links (id, domain, code, created_at, updated_at, title, url)
			SELECT ((i / 100) << 15) + i % 100 + 1, '', 'c' || i, 1, 5000 - i, '', 'https://example.com/' FROM generate_series(0, 1999) AS i`,
		`INSERT INTO link_words (link_id, words) SELECT id, ' word' FROM links`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// groupsAsked runs a question and returns how often it asks the index of words.
func groupsAsked(ctx context.Context, tx session, q question) (n int, err error) {
	rows, err := tx.QueryContext(ctx, "EXPLAIN ANALYZE "+q.text, q.args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var step string
		if err := rows.Scan(&step); err != nil {
			return 0, err
		}
		if loops := indexLoops.FindStringSubmatch(step); loops != nil {
			if n, err = strconv.Atoi(loops[1]); err != nil {
				return 0, err
			}
		}
	}
	return n, rows.Err()
}

var indexLoops = regexp.MustCompile(`Bitmap Index Scan on link_words_search .* loops=(\d+)`)

func planOf(ctx context.Context, tx session, text string, args []any) (plan []string, err error) {
	rows, err := tx.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return nil, err
		}
		plan = append(plan, step)
	}
	return plan, rows.Err()
}
