package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"snip"
)

// Links are searched in two ways. What many links have is soon found by walking over
// them in the order of the list; what few have is found by an index and put in order. The
// walk comes first and gives up after some links: what it did not find is rare.

const (
	// How many links the walk looks at: so many, and more for a large page.
	walkedAtLeast = 4000
	walkedPerLink = 20

	// What fewer links have is rare: so many that have a tag, or so many of a thousand.
	rareTag  = 5000
	rareWord = 10
)

// walk looks through the first links of the list.
func (l *listing) walk(ctx context.Context, tx session) ([]snip.Link, error) {
	w := where{args: slices.Clone(l.base.args)}
	from := fmt.Sprintf(`(SELECT * FROM links WHERE %s ORDER BY %s LIMIT %d) AS links`,
		l.base.text(), l.order.columns, max(walkedAtLeast, walkedPerLink*l.question.Limit))
	w.holdWords(tx, l.words)
	w.haveTags(l.tags)
	return l.ask(ctx, tx, from, l.order.columns, w)
}

// holdWords adds the condition that links have words that begin with these.
func (w *where) holdWords(tx session, words []string) {
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

// haveTags adds the condition that links have tags.
func (w *where) haveTags(tags []int64) {
	for _, tag := range tags {
		w.add(`EXISTS (SELECT 1 FROM link_tags WHERE tag_id = ? AND link_id = links.id)`, tag)
	}
}

// search finds links by what the fewest of them have.
func (l *listing) search(ctx context.Context, tx session) ([]snip.Link, error) {
	tag, links, err := l.rarestTag(ctx, tx)
	if err != nil {
		return nil, err
	}
	if len(l.words) == 0 || tag != 0 && links < rareTag {
		return l.searchTag(ctx, tx, tag)
	}
	rare, err := l.rareWords(ctx, tx)
	switch {
	case err != nil:
		return nil, err
	case len(rare) > 0:
		return l.searchWords(ctx, tx, rare)
	case tag != 0:
		return l.searchTag(ctx, tx, tag)
	}
	return l.searchWords(ctx, tx, l.words)
}

// rarestTag returns the tag that the fewest links have, and how many that are, at most
// rareTag.
func (l *listing) rarestTag(ctx context.Context, tx session) (rarest, links int64, err error) {
	for _, tag := range l.tags {
		var n int64
		err := tx.QueryRowContext(ctx, `
			SELECT COUNT(*) FROM (SELECT 1 FROM link_tags WHERE tag_id = $1 LIMIT $2) AS few`, tag, rareTag).Scan(&n)
		if err != nil {
			return 0, 0, err
		}
		if rarest == 0 || n < links {
			rarest, links = tag, n
		}
	}
	return rarest, links, nil
}

// rareWords returns the words that few of the newest links have.
func (l *listing) rareWords(ctx context.Context, tx session) ([]string, error) {
	if len(l.words) == 1 {
		return l.words, nil
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
	var rare []string
	for i, word := range l.words {
		if counts[i] < rareWord {
			rare = append(rare, word)
		}
	}
	return rare, nil
}

// searchTag goes through the links that have a tag.
func (l *listing) searchTag(ctx context.Context, tx session, tag int64) ([]snip.Link, error) {
	w := where{terms: slices.Clone(l.base.terms), args: slices.Clone(l.base.args)}
	w.add("links.id = found.link_id AND found.tag_id = ?", tag)
	l.passed(&w, "found.link_id")
	w.holdWords(tx, l.words)
	w.haveTags(l.tags)
	return l.ask(ctx, tx, "link_tags AS found CROSS JOIN links", l.orderBy("found.link_id"), w)
}

// searchWords goes through the links that the index of words finds.
func (l *listing) searchWords(ctx context.Context, tx session, words []string) ([]snip.Link, error) {
	if tx.kind == onPostgres {
		return l.searchWordsOnServer(ctx, tx, words)
	}
	w := where{terms: slices.Clone(l.base.terms), args: slices.Clone(l.base.args)}
	w.add("links.id = found.rowid AND found.link_search MATCH ?", `"`+strings.Join(words, `" * AND "`)+`" *`)
	l.passed(&w, "found.rowid")
	w.holdWords(tx, without(l.words, words))
	w.haveTags(l.tags)
	return l.ask(ctx, tx, "link_search AS found CROSS JOIN links", l.orderBy("found.rowid"), w)
}

func (l *listing) searchWordsOnServer(ctx context.Context, tx session, words []string) ([]snip.Link, error) {
	w := where{args: slices.Clone(l.base.args)}
	w.add("words::tsvector @@ CAST(? AS tsquery)", `'`+strings.Join(words, `':* & '`)+`':*`)
	l.passed(&w, "link_id")
	// The server must not walk over all links in their order, in the hope to find some soon.
	from := `(WITH hits AS MATERIALIZED (SELECT link_id FROM link_words WHERE ` + w.text() + `)
		SELECT link_id FROM hits ORDER BY link_id ` + map[string]string{"<": "DESC", ">": "ASC"}[l.order.passed] + `) AS found CROSS JOIN links`
	w.terms = append(slices.Clone(l.base.terms), "links.id = found.link_id")
	w.holdWords(tx, without(l.words, words))
	w.haveTags(l.tags)
	return l.ask(ctx, tx, from, l.orderBy("found.link_id"), w)
}

// passed adds the condition that a link comes after the page before, where that is told
// by its ID, for the column through which it is found.
func (l *listing) passed(w *where, id string) {
	if l.after != nil && l.order.byID() {
		w.add(id+" "+l.order.passed+" ?", l.after.Last...)
	}
}

// orderBy is the order in terms of the column through which links are found.
func (l *listing) orderBy(id string) string {
	if l.order.byID() {
		return strings.ReplaceAll(l.order.columns, "links.id", id)
	}
	return l.order.columns
}
