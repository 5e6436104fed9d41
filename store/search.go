package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"snip"
)

// Links that meet conditions are found in two ways. What many links have is soon found by
// walking over them in the order of the list. What few have is found by an index and put in
// that order. The walk comes first and gives up after some links: what it did not find is
// rare, or far back.

const (
	// How many links the walk looks at: so many, and more for a large page. Indexes give
	// links in the order in which they were made, and to put what they find in another one
	// takes longer. Those that follow one another by their codes lie far apart.
	walked        = 20_000
	walkedByID    = 2_000
	walkedByCode  = 4_000
	walkedPerLink = 20

	// What fewer links have is rare: so many that meet a condition, or so many of the
	// newest thousand that have a word.
	rareLinks = 5000
	rareWord  = 10
)

// walk looks through the first links of the list.
func (l *listing) walk(tx session) question {
	var w where
	l.position(&w, "")
	most := walked
	switch {
	case l.order.byID():
		most = walkedByID
	case l.asked.Sort == snip.SortCode:
		most = walkedByCode
	}
	from := fmt.Sprintf(`(SELECT * FROM links WHERE %s ORDER BY %s LIMIT %d) AS links`,
		w.text(), l.order.columns, max(most, walkedPerLink*l.asked.Limit))
	w.terms = nil
	l.conditions(&w, tx, l.words)
	return l.from(from, l.order.columns, w)
}

// source is an index that leads to the links which meet a condition, in the order in
// which they were made.
type source struct {
	table string // As found.
	id    string // The column that tells the link.
	index string // Its name, where the table has others. SQLite cannot know which of them leads to few.
	term  string // The condition.
	value []any
}

// search asks through the index that leads to the fewest links.
func (l *listing) search(ctx context.Context, tx session) ([]snip.Link, error) {
	best, links, err := l.fewest(ctx, tx)
	if err != nil {
		return nil, err
	}
	if len(l.words) == 0 || best != nil && links < rareLinks {
		return l.ask(ctx, tx, l.through(tx, *best))
	}
	rare, err := l.rareWords(ctx, tx)
	switch {
	case err != nil:
		return nil, err
	case len(rare) > 0:
		return l.throughWords(ctx, tx, rare)
	case best != nil:
		return l.ask(ctx, tx, l.through(tx, *best))
	}
	return l.throughWords(ctx, tx, l.words)
}

// fewest returns the source that leads to the fewest links, and how many they are, at
// most rareLinks. It returns nil if there is none.
func (l *listing) fewest(ctx context.Context, tx session) (best *source, links int, err error) {
	for _, s := range l.sources {
		var w where
		w.add(s.term, s.value...)
		var n int
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM `+s.from(tx)+` WHERE `+w.text()+` LIMIT `+w.arg(rareLinks)+`) AS few`, w.args...).Scan(&n)
		if err != nil {
			return nil, 0, err
		}
		if best == nil || n < links {
			best, links = &s, n
		}
	}
	return best, links, nil
}

// from returns the table as found.
func (s source) from(tx session) string {
	if s.index == "" || tx.kind == onPostgres {
		return s.table + " AS found"
	}
	return s.table + " AS found INDEXED BY " + s.index
}

// through goes through the links to which a source leads.
func (l *listing) through(tx session, s source) question {
	id := "found." + s.id
	var w where
	w.add("links.id = "+id+" AND "+s.term, s.value...)
	l.position(&w, id)
	l.conditions(&w, tx, l.words)
	return l.from(s.from(tx)+" CROSS JOIN links", l.orderBy(id), w)
}

// position adds the condition that links come after the page before, and others that
// tell where they are in the list. Where that is in the order in which they were made, id
// is the column by which they are found, or empty.
func (l *listing) position(w *where, id string) {
	if l.asked.Sort == snip.SortExpiry {
		w.add("links.expires_at IS NOT NULL")
	}
	if l.within != nil {
		w.add("links.domain = ?", *l.within)
	}
	if l.after == nil {
		return
	}
	key := l.order.key
	if l.order.byID() && id != "" {
		key = id
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(l.after.Last)), ", ")
	w.add("("+key+") "+l.order.passed+" ("+marks+")", l.after.Last...)
}

// orderBy is the order in terms of the column through which links are found.
func (l *listing) orderBy(id string) string {
	if l.order.byID() {
		return strings.ReplaceAll(l.order.columns, "links.id", id)
	}
	return l.order.columns
}

// conditions adds what links must meet, and that they have words that begin with some.
func (l *listing) conditions(w *where, tx session, words []string) {
	for _, c := range l.met {
		w.add(c.term, c.value...)
	}
	if len(words) == 0 {
		return
	}
	var terms []string
	for _, word := range words {
		terms = append(terms, w.holdsWord(tx, word))
	}
	w.terms = append(w.terms, `EXISTS (SELECT 1 FROM link_words WHERE link_id = links.id AND `+strings.Join(terms, " AND ")+`)`)
}

// holdsWord is the condition that a row of link_words has a word that begins with this.
func (w *where) holdsWord(tx session, word string) string {
	function := "instr"
	if tx.kind == onPostgres {
		function = "strpos"
	}
	return function + "(words, " + w.arg(" "+word) + ") > 0"
}

// rareWords returns the words that few of the newest links have.
func (l *listing) rareWords(ctx context.Context, tx session) ([]string, error) {
	if len(l.words) == 1 && len(l.sources) == 0 {
		return l.words, nil // Or the walk would have found it.
	}
	var w where
	counts, into := make([]int64, len(l.words)), make([]any, len(l.words))
	var columns []string
	for i, word := range l.words {
		columns, into[i] = append(columns, `COALESCE(SUM(CASE WHEN `+w.holdsWord(tx, word)+` THEN 1 ELSE 0 END), 0)`), &counts[i]
	}
	err := tx.QueryRowContext(ctx, `
		SELECT `+strings.Join(columns, ", ")+`
		FROM (SELECT words FROM link_words ORDER BY link_id DESC LIMIT 1000) AS newest`, w.args...).Scan(into...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(l.words), func(word string) bool {
		return counts[slices.Index(l.words, word)] >= rareWord
	}), nil
}
