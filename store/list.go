package store

import (
	"context"
	"database/sql"
	"strings"

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
	question snip.LinkQuery
	order    order
	after    *cursor // Nil for the first page.
	words    []string
	tags     []int64
	nothing  bool // No link can be the answer.

	base where // What links must be, but for their words and tags.
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
	l := &listing{question: q, order: orderOf(q.Sort), words: wordsOf(q.Search)}
	if q.Domain != nil {
		host := asKept(*q.Domain)
		l.question.Domain = &host
	}
	var err error
	if l.after, err = readCursor(l.question); err != nil {
		return nil, err
	}
	tags := snip.CleanTags(q.Tags)
	if l.tags, err = tagIDs(ctx, tx, tags); err != nil {
		return nil, err
	}
	l.nothing = len(l.tags) < len(tags)
	l.where(v)
	if tx.kind == onPostgres {
		// Each question is made so that indexes answer it, whatever the server believes
		// about how many links there are of which kind.
		_, err = tx.ExecContext(ctx, `SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`)
	}
	return l, err
}

// where collects the conditions of base.
func (l *listing) where(v *View) {
	q := l.question
	v.limit(&l.base)
	if q.Domain != nil {
		l.base.add("links.domain = ?", *q.Domain)
	}
	if q.Owner != 0 {
		l.base.add("links.owner = ? AND links.owner <> 0", q.Owner)
	}
	switch q.Archived {
	case "", snip.ArchivedNo:
		l.base.add("links.archived_at IS NULL")
	case snip.ArchivedOnly:
		l.base.add("links.archived_at IS NOT NULL")
	}
	if q.Sort == snip.SortExpiry {
		l.base.add("links.expires_at IS NOT NULL")
	}
	if l.after != nil {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(l.after.Last)), ", ")
		l.base.add("("+l.order.key+") "+l.order.passed+" ("+marks+")", l.after.Last...)
	}
}

// read returns the links of a page, and one more if there are more.
func (l *listing) read(ctx context.Context, tx session) ([]snip.Link, error) {
	if len(l.words) == 0 && len(l.tags) == 0 {
		return l.ask(ctx, tx, "links", l.order.columns, l.base)
	}
	links, err := l.walk(ctx, tx)
	if err != nil || len(links) > l.question.Limit {
		return links, err
	}
	return l.search(ctx, tx)
}

// ask reads links from a table, or several, of which one is called links.
func (l *listing) ask(ctx context.Context, tx session, from, order string, w where) ([]snip.Link, error) {
	limit := w.arg(l.question.Limit + 1)
	rows, err := tx.QueryContext(ctx,
		`SELECT `+linkColumns+` FROM `+from+` WHERE `+w.text()+` ORDER BY `+order+` LIMIT `+limit, w.args...)
	if err != nil {
		return nil, err
	}
	return scanLinks(rows)
}

func scanLinks(rows *sql.Rows) ([]snip.Link, error) {
	defer rows.Close()
	var links []snip.Link
	for rows.Next() {
		l, err := scanLink(rows)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, rows.Err()
}
