package store

import (
	"context"
	"strings"

	"snip"
)

// The index of words is asked in steps, from where the page begins to where it is full.
// Links are in groups by their IDs, and before each word in the index stands the number of
// the link's group. So the words of one group that begin with some letters are found
// without those of others, and a page costs no more where a word is usual far back.

// grouped is what is indexed of a row of link_words. A group is 32,768 links: of larger
// ones a step costs more, of smaller ones there are more steps. A number is as long as any
// other up to 294 billion links.
//
// It is part of the tables: where it changes, a migration must make the index anew.
const grouped = `replace(words, ' ', ' ' || CAST(1000000 + (link_id >> 15) AS TEXT))`

// ofGroup is what the index is asked for in one group: a pattern with the group's number
// for each @ in it. No word has an @.
func ofGroup(pattern, group string) string {
	return `replace(` + pattern + `, '@', CAST(1000000 + ` + group + ` AS TEXT))`
}

// groups is a table of the groups in which there are links, from the page's first one, in
// the order of the list, or from the newest one where that is another.
func (l *listing) groups(w *where) string {
	way, first, beyond := "DESC", "MAX(link_id)", "link_id < groups.number << 15"
	if l.asked.Sort == snip.SortOldest {
		way, first, beyond = "ASC", "MIN(link_id)", "link_id >= (groups.number + 1) << 15"
	}
	from := where{args: w.args}
	if l.order.byID() && l.after != nil {
		from.add("link_id "+l.order.passed+" ?", l.after.Last...)
	}
	w.args = from.args
	next := `SELECT ` + first + ` >> 15 FROM link_words WHERE `
	return `(WITH RECURSIVE groups (number) AS (
			` + next + from.text() + `
			UNION ALL
			SELECT (` + next + beyond + `) FROM groups WHERE number IS NOT NULL
		) SELECT number FROM groups WHERE number IS NOT NULL ORDER BY number ` + way + `) AS groups`
}

// throughWords goes through the links that the index of words finds.
func (l *listing) throughWords(ctx context.Context, tx session, words []string) ([]snip.Link, error) {
	switch {
	case tx.kind == onPostgres:
		return l.ask(ctx, tx, l.inGroupsOnServer(tx, words))
	case l.order.byID():
		return l.stepByStep(ctx, tx, words)
	}
	return l.ask(ctx, tx, l.inGroups(tx, words))
}

// inGroupsOnServer goes through the groups in one statement, which ends with the page: a
// server is far away. Each group gives as many links as a page needs.
func (l *listing) inGroupsOnServer(tx session, words []string) question {
	const id = "found.link_id"
	var w where
	groups := l.groups(&w)
	pattern := w.arg(`'@` + strings.Join(words, `':* & '@`) + `':*`)
	// The server must not walk over all links in their order, in the hope to find some soon.
	found := `
		WITH hits AS MATERIALIZED (
			SELECT link_id FROM link_words WHERE CAST(` + grouped + ` AS tsvector) @@ CAST(` + ofGroup(pattern, "groups.number") + ` AS tsquery)
		) SELECT link_id FROM hits`
	order := l.order.columns
	if l.order.byID() {
		found += ` ORDER BY ` + l.orderBy("link_id")
		// So the server sees, once a page is full, that the other groups come after it.
		order = l.orderBy("groups.number") + ", " + order
	}
	w.add("links.id = " + id)
	l.position(&w, id)
	l.conditions(&w, tx, without(l.words, words))
	of := `SELECT links.* FROM (` + found + `) AS found CROSS JOIN links
		WHERE ` + w.text() + ` ORDER BY ` + l.orderBy(id) + ` LIMIT ` + w.arg(l.asked.Limit+1)
	w.terms = nil
	return l.from(groups+` CROSS JOIN LATERAL (`+of+`) AS links`, order, w)
}

// stepByStep goes through the groups one by one.
func (l *listing) stepByStep(ctx context.Context, tx session, words []string) (links []snip.Link, err error) {
	groups, err := l.groupNumbers(ctx, tx)
	if err != nil {
		return nil, err
	}
	step := l.inGroup(tx, words)
	prepared, err := tx.PrepareContext(ctx, step.text)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	for _, group := range groups {
		step.args[0] = group
		rows, err := prepared.QueryContext(ctx, step.args...)
		if err != nil {
			return nil, err
		}
		more, err := scanLinks(rows)
		if err != nil {
			return nil, err
		}
		if links = append(links, more...); len(links) > l.asked.Limit {
			break
		}
	}
	return links, nil
}

// groupNumbers reads the table of groups.
func (l *listing) groupNumbers(ctx context.Context, tx session) (numbers []int64, err error) {
	var w where
	rows, err := tx.QueryContext(ctx, `SELECT number FROM `+l.groups(&w), w.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, rows.Err()
}

// inGroup goes through the links of one group, whose number is its first argument.
func (l *listing) inGroup(tx session, words []string) question {
	var w where
	group := w.arg(nil)
	return l.matching(tx, words, "", group, w)
}

// inGroups goes through those of all groups, and puts them in order afterwards.
func (l *listing) inGroups(tx session, words []string) question {
	var w where
	groups := l.groups(&w)
	return l.matching(tx, words, groups+" CROSS JOIN ", "groups.number", w)
}

// matching goes through what the index of a file finds in a group.
func (l *listing) matching(tx session, words []string, groups, group string, w where) question {
	pattern := w.arg(`"@` + strings.Join(words, `" * AND "@`) + `" *`)
	w.terms = append(w.terms, "found.link_search MATCH "+ofGroup(pattern, group), "links.id = found.rowid")
	l.position(&w, "found.rowid")
	l.conditions(&w, tx, without(l.words, words))
	return l.from(groups+"link_search AS found CROSS JOIN links", l.orderBy("found.rowid"), w)
}
