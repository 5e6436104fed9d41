package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"snip"
)

// ChangeLinks does one thing to many links, each of them in a state that it had at one
// moment. A link that is named twice, also by an alias, is one. The changes are told to
// topic "links", one by one.
func (v *View) ChangeLinks(ctx context.Context, b snip.Bulk) (snip.BulkResult, error) {
	if err := b.Check(); err != nil {
		return snip.BulkResult{}, err
	}
	b.Tags = snip.CleanTags(b.Tags)
	var refs []snip.Ref
	for _, ref := range b.Links {
		ref.Domain = asKept(ref.Domain)
		refs = append(refs, ref)
	}
	var result snip.BulkResult
	err := v.store.change(ctx, func(ctx context.Context, tx session) error {
		var err error
		result, err = v.changeLinks(ctx, tx, b, refs)
		return err
	})
	if err != nil {
		return snip.BulkResult{}, v.store.failed("change links", err)
	}
	return result, nil
}

func (v *View) changeLinks(ctx context.Context, tx session, b snip.Bulk, refs []snip.Ref) (r snip.BulkResult, err error) {
	links, err := v.lockLinks(ctx, tx, refs)
	if err != nil {
		return r, err
	}
	now := v.store.now()
	var changed []change
	seen := map[int64]bool{}
	for i, ref := range refs {
		l, there := links[ref]
		if !there {
			if !slices.Contains(refs[:i], ref) {
				r.Failed = append(r.Failed, snip.BulkFailure{Ref: ref, Err: notFound(ref)})
			}
			continue
		}
		if seen[l.ID] {
			continue
		}
		seen[l.ID] = true
		after := changedBy(b, l, now)
		if len(after.Tags) > snip.MaxTags {
			r.Failed = append(r.Failed, snip.BulkFailure{Ref: ref, Err: &snip.Error{Code: snip.Invalid, Field: "tags",
				Message: fmt.Sprintf("The link would have %d tags; at most %d are accepted.", len(after.Tags), snip.MaxTags)}})
			continue
		}
		r.Done++
		if b.Action == snip.BulkDelete {
			err = v.removeLink(ctx, tx, l, now)
		} else if !slices.Equal(l.Tags, after.Tags) || !l.ArchivedAt.Equal(after.ArchivedAt) {
			after.Version++
			after.UpdatedAt = now
			changed = append(changed, change{l, after})
		}
		if err != nil {
			return r, err
		}
	}
	return r, v.saveLinks(ctx, tx, b, changed)
}

// change is a link before and after.
type change struct{ before, after snip.Link }

// changedBy returns what becomes of a link, but for its version.
func changedBy(b snip.Bulk, l snip.Link, now time.Time) snip.Link {
	switch b.Action {
	case snip.BulkTag:
		l.Tags = snip.CleanTags(slices.Concat(l.Tags, b.Tags))
	case snip.BulkUntag:
		l.Tags = without(l.Tags, b.Tags)
	case snip.BulkArchive:
		if l.ArchivedAt.IsZero() {
			l.ArchivedAt = now
		}
	case snip.BulkRestore:
		l.ArchivedAt = time.Time{}
	}
	return l
}

// saveLinks writes and tells what became of links, but for those that are gone.
func (v *View) saveLinks(ctx context.Context, tx session, b snip.Bulk, changed []change) error {
	var ids []int64
	var rows [][]any
	for _, c := range changed {
		ids = append(ids, c.after.ID)
		rows = append(rows, []any{c.after.ID, timeColumn(c.after.ArchivedAt), c.after.UpdatedAt.UnixMicro()})
	}
	err := chunked(ctx, tx, `
		UPDATE links SET archived_at = v.column2, version = version + 1, updated_at = v.column3
		FROM (VALUES %s) AS v WHERE links.id = v.column1`, "CAST($%d AS BIGINT)", rows, nil)
	if err != nil {
		return err
	}
	switch b.Action {
	case snip.BulkTag:
		err = addTags(ctx, tx, ids, b.Tags)
	case snip.BulkUntag:
		err = removeTags(ctx, tx, ids, b.Tags)
	}
	if err != nil {
		return err
	}
	for _, c := range changed {
		if err := v.tellEdited(ctx, tx, c.before, c.after, false); err != nil {
			return err
		}
	}
	return nil
}

// lockLinks finds the links that the key sees among those that are named, and keeps
// others from changing them until the end of the transaction.
func (v *View) lockLinks(ctx context.Context, tx session, refs []snip.Ref) (map[snip.Ref]snip.Link, error) {
	ids, err := v.findIDs(ctx, tx, refs)
	if err != nil {
		return nil, err
	}
	if tx.kind == onPostgres {
		var rows [][]any
		for _, id := range ids {
			rows = append(rows, []any{id})
		}
		slices.SortFunc(rows, func(a, b []any) int { return int(a[0].(int64) - b[0].(int64)) })
		if err := lockInOrder(ctx, tx, rows); err != nil {
			return nil, err
		}
		// A code may have been given to another link before this one was locked: then that
		// one is not touched.
		again, err := v.findIDs(ctx, tx, refs)
		if err != nil {
			return nil, err
		}
		for ref, id := range ids {
			if again[ref] != id {
				delete(ids, ref)
			}
		}
	}
	return readLinks(ctx, tx, ids)
}

// findIDs does what findID does for many.
func (v *View) findIDs(ctx context.Context, tx session, refs []snip.Ref) (map[snip.Ref]int64, error) {
	var rows [][]any
	for _, ref := range distinct(refs) {
		if v.seesDomain(ref.Domain) {
			rows = append(rows, []any{ref.Domain, ref.Code, fold(ref.Code)})
		}
	}
	ids := map[snip.Ref]int64{}
	err := chunked(ctx, tx, fmt.Sprintf(`
		WITH asked AS (SELECT column1 AS domain, column2 AS code, column3 AS folded FROM (VALUES %%s) AS v), found AS (
			SELECT asked.domain, asked.code, links.id FROM asked JOIN links ON links.domain = asked.domain AND links.code = asked.code
			UNION ALL SELECT asked.domain, asked.code, link_id FROM asked JOIN aliases ON aliases.domain = asked.domain AND aliases.code = asked.code
			UNION ALL SELECT asked.domain, asked.code, links.id FROM asked JOIN links ON links.domain = asked.domain AND links.folded = asked.folded
			UNION ALL SELECT asked.domain, asked.code, link_id FROM asked JOIN aliases ON aliases.domain = asked.domain AND aliases.folded = asked.folded
		)
		SELECT found.domain, found.code, links.id FROM found JOIN links ON links.id = found.id WHERE (%[1]d = 0 OR links.owner = %[1]d)`, v.owner()),
		"CAST($%d AS TEXT)", rows, func(r *sql.Rows) error {
			var ref snip.Ref
			var id int64
			err := r.Scan(&ref.Domain, &ref.Code, &id)
			ids[ref] = id
			return err
		})
	return ids, err
}

// readLinks reads links, by what they were named.
func readLinks(ctx context.Context, tx session, ids map[snip.Ref]int64) (map[snip.Ref]snip.Link, error) {
	var rows [][]any
	for _, id := range ids {
		rows = append(rows, []any{id})
	}
	links := map[int64]snip.Link{}
	err := inChunks(ctx, tx, `SELECT `+linkColumns+` FROM links WHERE links.id IN (SELECT column1 FROM (VALUES %s) AS v)`, rows, func(r *sql.Rows) error {
		l, err := scanLink(r)
		links[l.ID] = l
		return err
	})
	named := map[snip.Ref]snip.Link{}
	for ref, id := range ids {
		if l, there := links[id]; there {
			named[ref] = l
		}
	}
	return named, err
}
