package store

import (
	"context"
	"fmt"
	"slices"

	"snip"
)

// pageLinks is how many links figures are read of at once.
const pageLinks = 512

// limited reports whether there may be links that the key does not see.
func (v *View) limited() bool { return v.key.Domain != nil || v.key.OwnLinks }

// eachPage calls do with the links that a question is about, each of them once and in
// the order of their IDs, a bounded number at a time; with allLinks alone for all that
// there are. Links are those of the moment that the transaction sees, and none is locked.
func (v *View) eachPage(ctx context.Context, tx session, q snip.StatsQuery, do func(links []int64) error) error {
	switch {
	case len(q.Codes) > 0:
		ids, err := v.linkIDs(ctx, tx, q)
		if err != nil {
			return err
		}
		return do(ids)
	case q.Domain == nil && q.Tag == "" && !v.limited():
		return do([]int64{allLinks})
	}
	set, err := v.setOf(ctx, tx, q)
	if err != nil {
		return err
	}
	for last := int64(0); ; {
		ids, err := set.page(ctx, tx, last)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := do(ids); err != nil {
			return err
		}
		last = ids[len(ids)-1]
	}
}

// linkIDs finds the links of codes, which may be aliases.
func (v *View) linkIDs(ctx context.Context, tx session, q snip.StatsQuery) ([]int64, error) {
	var domain string
	if q.Domain != nil {
		domain = asKept(*q.Domain)
	}
	ids := make([]int64, len(q.Codes))
	for i, code := range q.Codes {
		var err error
		if ids[i], err = v.findID(ctx, tx, snip.Ref{Domain: domain, Code: code}); err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// linkSet is links that are alike in something. The zero value of a field asks for
// nothing.
type linkSet struct {
	tag     string
	domains []string // On each of these.
	owner   int64
}

// setOf returns which links a question without codes is about.
func (v *View) setOf(ctx context.Context, tx session, q snip.StatsQuery) (linkSet, error) {
	set := linkSet{tag: q.Tag, owner: v.owner()}
	if q.Domain != nil {
		d, err := findDomain(ctx, tx, asKept(*q.Domain))
		if err != nil {
			return set, err
		}
		set.domains = append(set.domains, d.Host)
	}
	if v.key.Domain != nil {
		set.domains = append(set.domains, *v.key.Domain)
	}
	return set, nil
}

// conditions returns what is so of every link of the set, and adds the arguments that
// it names by their numbers.
func (l linkSet) conditions(args []any) (string, []any) {
	var text string
	for _, domain := range l.domains {
		args = append(args, domain)
		text += fmt.Sprintf(" AND links.domain = $%d", len(args))
	}
	if l.owner != 0 {
		args = append(args, l.owner)
		text += fmt.Sprintf(" AND links.owner = $%d AND links.owner <> 0", len(args)) // The index has those alone.
	}
	if l.tag != "" {
		args = append(args, l.tag)
		text += fmt.Sprintf(" AND link_tags.tag_id = (SELECT id FROM tags WHERE name = $%d)", len(args))
	}
	return text, args
}

// page returns the first links of the set after one of them. Links that nobody followed
// yet are left out: there is nothing to tell of them.
func (l linkSet) page(ctx context.Context, tx session, after int64) ([]int64, error) {
	from, id := "links", "links.id"
	if l.tag != "" {
		from, id = "link_tags JOIN links ON links.id = link_tags.link_id", "link_tags.link_id"
	}
	more, args := l.conditions([]any{after, pageLinks})
	rows, err := tx.QueryContext(ctx,
		`SELECT `+id+` FROM `+from+` WHERE `+id+` > $1 AND links.clicks > 0`+more+` ORDER BY `+id+` LIMIT $2`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
