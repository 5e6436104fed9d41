package store

import (
	"context"
	"database/sql"

	"snip"
)

// ListLinks returns a page of links. A link that is made meanwhile moves none to another
// page; one that is changed may move itself where it is sorted by what changed.
func (v *View) ListLinks(ctx context.Context, q snip.LinkQuery) (snip.LinkPage, error) {
	if err := q.Check(); err != nil {
		return snip.LinkPage{}, err
	}
	var page snip.LinkPage
	err := v.store.read(ctx, func(tx session) error {
		l, err := v.newListing(ctx, tx, q)
		if err != nil || l.nothing {
			return err
		}
		if page.Links, err = l.read(ctx, tx); err != nil {
			return err
		}
		if len(page.Links) > q.Limit {
			page.Links = page.Links[:q.Limit]
			page.Next = l.cursorAfter(page.Links[q.Limit-1])
		}
		return nil
	})
	return page, v.store.failed("list links", err)
}

// listing is a question for links, made ready to be asked.
type listing struct {
	asked   snip.LinkQuery
	order   order
	after   *cursor // Nil for the first page.
	within  *string // The domain to which a list by code keeps. Nil: all.
	nothing bool    // No link can be the answer.

	words   []string    // Links have words that begin with these.
	met     []condition // What else they meet.
	sources []source    // Indexes that lead to those that meet one condition.
}

// condition is one that links meet.
type condition struct {
	term  string
	value []any
}

// order is that of a list.
type order struct {
	columns string // Of links, with which way each goes.
	key     string // The columns alone.
	passed  string // How a key compares with that of the last link of the page before.
}

func orderOf(s snip.Sort) order {
	switch s {
	case snip.SortOldest:
		return order{"links.id", "links.id", ">"}
	case snip.SortUpdated:
		return order{"links.updated_at DESC, links.id DESC", "links.updated_at, links.id", "<"}
	case snip.SortCode:
		return order{"links.domain, links.code", "links.domain, links.code", ">"}
	case snip.SortExpiry:
		return order{"links.expires_at, links.id", "links.expires_at, links.id", ">"}
	}
	return order{"links.id DESC", "links.id", "<"}
}

// byID reports whether the order is that in which links were made.
func (o order) byID() bool { return o.key == "links.id" }

func (v *View) newListing(ctx context.Context, tx session, q snip.LinkQuery) (*listing, error) {
	l := &listing{asked: q, order: orderOf(q.Sort), words: wordsOf(q.Search)}
	if q.Domain != nil {
		host := asKept(*q.Domain)
		l.asked.Domain = &host
	}
	var err error
	if l.after, err = readCursor(l.asked); err != nil {
		return nil, err
	}
	tags := snip.CleanTags(q.Tags)
	ids, err := tagIDs(ctx, tx, tags)
	if err != nil {
		return nil, err
	}
	l.nothing = len(ids) < len(tags)
	l.addConditions(v, ids)
	if tx.kind == onPostgres {
		// Each question is made so that indexes answer it, whatever the server believes
		// about how many links there are of which kind. None is worth being compiled.
		_, err = tx.ExecContext(ctx, `
			SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off`)
	}
	return l, err
}

// addConditions says which links are the answer, but for their words.
func (l *listing) addConditions(v *View, tags []int64) {
	for _, tag := range tags {
		l.met = append(l.met, condition{"EXISTS (SELECT 1 FROM link_tags WHERE tag_id = ? AND link_id = links.id)", []any{tag}})
		l.sources = append(l.sources, source{table: "link_tags", id: "link_id", term: "found.tag_id = ?", value: []any{tag}})
	}
	// In the order in which they are taken, if they lead to many links all the same.
	if v.key.OwnLinks {
		l.addOwner(v.key.ID)
	}
	if l.asked.Owner != 0 {
		l.addOwner(l.asked.Owner)
	}
	switch l.asked.Archived {
	case "", snip.ArchivedNo:
		l.met = append(l.met, condition{"links.archived_at IS NULL", nil})
	case snip.ArchivedOnly:
		l.met = append(l.met, condition{"links.archived_at IS NOT NULL", nil})
		l.sources = append(l.sources, source{table: "links", id: "id", index: "links_archived", term: "found.archived_at IS NOT NULL"})
	}
	for _, domain := range []*string{v.key.Domain, l.asked.Domain} {
		if domain == nil {
			continue
		}
		if l.asked.Sort == snip.SortCode {
			l.nothing = l.nothing || l.within != nil && *l.within != *domain
			l.within = domain
			continue
		}
		l.met = append(l.met, condition{"links.domain = ?", []any{*domain}})
		l.sources = append(l.sources, source{table: "links", id: "id", index: "links_domain", term: "found.domain = ?", value: []any{*domain}})
	}
}

func (l *listing) addOwner(key int64) {
	l.met = append(l.met, condition{"links.owner = ?", []any{key}})
	// The second condition is what the index asks for.
	l.sources = append(l.sources, source{
		table: "links", id: "id", index: "links_owner", term: "found.owner = ? AND found.owner <> 0", value: []any{key},
	})
}

// read returns the links of a page, and one more if there are more.
func (l *listing) read(ctx context.Context, tx session) ([]snip.Link, error) {
	if len(l.words) == 0 && len(l.sources) == 0 {
		return l.ask(ctx, tx, l.whole(tx))
	}
	if len(l.words) == 0 && len(l.sources) == 1 && l.order.byID() {
		return l.ask(ctx, tx, l.through(tx, l.sources[0]))
	}
	links, err := l.ask(ctx, tx, l.walk(tx))
	if err != nil || len(links) > l.asked.Limit {
		return links, err
	}
	return l.search(ctx, tx)
}

// question is a statement that reads links.
type question struct {
	text string
	args []any
}

// whole goes through the list from where the page begins.
func (l *listing) whole(tx session) question {
	var w where
	l.position(&w, "")
	l.conditions(&w, tx, nil)
	return l.from("links", l.order.columns, w)
}

// from reads links from a table, or several, of which one is called links.
func (l *listing) from(tables, order string, w where) question {
	limit := w.arg(l.asked.Limit + 1)
	return question{`SELECT ` + linkColumns + ` FROM ` + tables + ` WHERE ` + w.text() + ` ORDER BY ` + order + ` LIMIT ` + limit, w.args}
}

func (l *listing) ask(ctx context.Context, tx session, q question) ([]snip.Link, error) {
	rows, err := tx.QueryContext(ctx, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	return scanLinks(rows)
}

func scanLinks(rows *sql.Rows) (links []snip.Link, err error) {
	defer rows.Close()
	for rows.Next() {
		l, err := scanLink(rows)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, rows.Err()
}
