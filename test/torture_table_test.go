package test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// ledger is all that a cell is judged by: the requests as their visitors saw them, the
// books as they were read afterwards, and how many clicks the webs said they dropped.
type ledger struct {
	requests []visit
	books    books
	dropped  int64
}

func (l *ledger) mustBalance(t *testing.T) {
	t.Helper()
	vs := &visits{list: l.requests}
	l.books.mustBalance(t, vs, l.dropped)
	got := l.reckon()
	if got.missing != 0 || got.doubled != 0 {
		t.Errorf("%d clicks are missing, %d doubled", got.missing, got.doubled)
	}
}

// reckoning is what became of the clicks.
type reckoning struct {
	answered, cut, refused, failed int64
	counted                        int64         // The sum over the links.
	missing                        int64         // Answered, not counted, and not reported as dropped.
	doubled                        int64         // Counted more often than once, all but the first.
	dropped                        int64         // As the webs reported it.
	slowest                        time.Duration // Redirect that was answered.
}

// reckon compares number by number: a request that was answered is in the topic once. Then
// link by link: what is in the topic is in the link's total.
func (l *ledger) reckon() reckoning {
	s := reckoning{dropped: l.dropped}
	times := map[int64]int64{} // How often the topic has a request, by its number.
	perLink := map[int64]int64{}
	for _, e := range l.books.events {
		times[e.number]++
		perLink[e.link]++
	}
	for _, v := range l.requests {
		switch v.outcome {
		case answered:
			s.answered++
			s.slowest = max(s.slowest, v.took)
			if times[v.number] == 0 {
				s.missing++
			}
		case cut:
			s.cut++
		case refused:
			s.refused++
		case failed:
			s.failed++
		}
	}
	for _, n := range times {
		s.doubled += n - 1
	}
	for _, a := range l.books.links {
		s.counted += a.clicks
		s.missing += max(0, perLink[a.id]-a.clicks)
		s.doubled += max(0, a.clicks-perLink[a.id])
	}
	s.missing = max(0, s.missing-s.dropped)
	return s
}

// checkTheChecker takes the books of a cell in which all was right, and falsifies them.
func (m *matrix) checkTheChecker(t *testing.T) {
	l := m.example
	if l == nil {
		t.Skip("no cell went well, so there are no right books to falsify")
	}
	if got := l.reckon(); got.missing != 0 || got.doubled != 0 || balance(l.requests, l.books, 0) != nil {
		t.Fatalf("what was read shows %d missing, %d doubled, want 0 and 0", got.missing, got.doubled)
	}
	sure := slices.IndexFunc(l.books.events, func(e counted) bool {
		return slices.ContainsFunc(l.requests, func(v visit) bool { return v.number == e.number && v.outcome == answered })
	})
	for _, test := range []struct {
		name             string
		events           []counted
		missing, doubled int64
	}{
		{"lost", slices.Delete(slices.Clone(l.books.events), sure, sure+1), 1, 0},
		{"doubled", append(slices.Clone(l.books.events), l.books.events[sure]), 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			forged := *l
			forged.books.events = test.events
			forged.books.links = map[string]account{}
			for code, a := range l.books.links { // The count believes the topic.
				if a.id == l.books.events[sure].link {
					a.clicks += test.doubled - test.missing
				}
				forged.books.links[code] = a
			}
			got, wrong := forged.reckon(), balance(forged.requests, forged.books, 0)
			t.Logf("of %d clicks one was %s: %d missing, %d doubled", len(l.books.events), test.name, got.missing, got.doubled)
			if got.missing != test.missing || got.doubled != test.doubled || len(wrong) == 0 {
				t.Errorf("missing %d, doubled %d, balance() = %q; want %d and %d, and a complaint",
					got.missing, got.doubled, wrong, test.missing, test.doubled)
			}
		})
	}
}

// row is a cell as the table shows it.
type row struct {
	engine, fault string
	version       string
	apart         string // Why it does not apply.
	failed        bool
	reckoning
	caughtUp time.Duration
}

type table struct{ rows []row }

func (tb *table) add(r row) { tb.rows = append(tb.rows, r) }

func columns() []string {
	return []string{"engine", "fault", "answered", "cut", "counted", "missing", "doubled", "dropped", "slowest redirect", "caught up after", ""}
}

func (r row) cells() []string {
	if r.apart != "" {
		return []string{r.engine, r.fault, "–", "–", "–", "–", "–", "–", "–", "–", "does not apply: " + r.apart}
	}
	verdict := ""
	if r.failed {
		verdict = "FAILED"
	}
	cells := []string{r.engine, r.fault}
	for _, n := range []int64{r.answered, r.cut, r.counted, r.missing, r.doubled, r.dropped} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, fmt.Sprintf("%d ms", r.slowest.Milliseconds()), fmt.Sprintf("%.1f s", r.caughtUp.Seconds()), verdict)
}

// show prints the table, and writes it as Markdown to the file that SNIP_TORTURE_TABLE
// names.
func (tb *table) show(t *testing.T, seed uint64) {
	t.Helper()
	versions := []string{runtime.Version()}
	for _, r := range tb.rows {
		if r.version != "" && !slices.Contains(versions, r.version) {
			versions = append(versions, r.version)
		}
	}
	head := fmt.Sprintf("%s, SNIP_TEST_SEED=%d, SNIP_TORTURE=%s, %s, %d cores",
		time.Now().UTC().Format(time.DateOnly), seed, os.Getenv("SNIP_TORTURE"), strings.Join(versions, ", "), runtime.NumCPU())

	var plain, markdown strings.Builder
	aligned := tabwriter.NewWriter(&plain, 0, 0, 2, ' ', 0)
	fmt.Fprintln(aligned, strings.Join(columns(), "\t"))
	fmt.Fprintf(&markdown, "%s\n\n| %s |\n|%s\n", head, strings.Join(columns(), " | "), "---|---|"+strings.Repeat("---:|", len(columns())-3)+"---|")
	for _, r := range tb.rows {
		fmt.Fprintln(aligned, strings.Join(r.cells(), "\t"))
		fmt.Fprintf(&markdown, "| %s |\n", strings.Join(r.cells(), " | "))
	}
	_ = aligned.Flush() // Into memory.
	t.Logf("%s\n%s", head, plain.String())
	if path := os.Getenv("SNIP_TORTURE_TABLE"); path != "" {
		write(t, path, markdown.String())
	}
}
