package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"snip"
)

// addTags gives tags, in the order of their bytes, to links that may have some of them.
func addTags(ctx context.Context, tx session, links []int64, tags []string) error {
	if len(tags) == 0 || len(links) == 0 {
		return nil
	}
	ids, err := makeTags(ctx, tx, tags)
	if err != nil {
		return err
	}
	return insertChunks(ctx, tx, `INSERT INTO link_tags (tag_id, link_id) VALUES %s ON CONFLICT DO NOTHING`, tagRows(ids, links))
}

// makeTags returns the IDs of tags, which are made if they are not there. All who make
// several do so in one order.
func makeTags(ctx context.Context, tx session, tags []string) ([]int64, error) {
	ids, err := tagIDs(ctx, tx, tags)
	if err != nil || len(ids) == len(tags) {
		return ids, err
	}
	var rows [][]any
	for _, tag := range slices.Sorted(slices.Values(tags)) {
		rows = append(rows, []any{tag})
	}
	if err := insertChunks(ctx, tx, `INSERT INTO tags (name) VALUES %s ON CONFLICT (name) DO NOTHING`, rows); err != nil {
		return nil, err
	}
	return tagIDs(ctx, tx, tags)
}

// tagIDs returns the IDs of those tags that are there.
func tagIDs(ctx context.Context, tx session, tags []string) (ids []int64, err error) {
	var rows [][]any
	for _, tag := range tags {
		rows = append(rows, []any{tag})
	}
	err = chunked(ctx, tx, `SELECT id FROM tags WHERE name IN (SELECT column1 FROM (VALUES %s) AS v)`, "$%d", rows, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// removeTags takes tags from links.
func removeTags(ctx context.Context, tx session, links []int64, tags []string) error {
	if len(tags) == 0 || len(links) == 0 {
		return nil
	}
	ids, err := tagIDs(ctx, tx, tags)
	if err != nil {
		return err
	}
	return inChunks(ctx, tx, `DELETE FROM link_tags WHERE (tag_id, link_id) IN (VALUES %s)`, tagRows(ids, links), nil)
}

// tagRows returns a row of link_tags for each tag of each link.
func tagRows(tags, links []int64) (rows [][]any) {
	for _, tag := range tags {
		for _, link := range links {
			rows = append(rows, []any{tag, link})
		}
	}
	return rows
}

// changeTags gives a link the tags of after.
func changeTags(ctx context.Context, tx session, before, after snip.Link) error {
	links := []int64{after.ID}
	if err := removeTags(ctx, tx, links, without(before.Tags, after.Tags)); err != nil {
		return err
	}
	return addTags(ctx, tx, links, without(after.Tags, before.Tags))
}

// without returns those texts that are not among others.
func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(others, text) })
}

// Tags returns the tags of all links that the key sees, in the order of their bytes.
func (v *View) Tags(ctx context.Context) ([]snip.TagCount, error) {
	tags, err := v.countTags(ctx)
	return tags, v.store.failed("list tags", err)
}

func (v *View) countTags(ctx context.Context) ([]snip.TagCount, error) {
	query, args := `SELECT tag_id, COUNT(*) AS links FROM link_tags GROUP BY tag_id`, []any(nil)
	if v.limited() {
		var w where
		v.limit(&w)
		query = `SELECT tag_id, COUNT(*) AS links FROM link_tags JOIN links ON links.id = link_id WHERE ` + w.text() + ` GROUP BY tag_id`
		args = w.args
	}
	rows, err := v.store.Read().QueryContext(ctx, `SELECT name, links FROM tags JOIN (`+query+`) AS counted ON id = tag_id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tags []snip.TagCount
	for rows.Next() {
		var t snip.TagCount
		if err := rows.Scan(&t.Tag, &t.Links); err != nil {
			return nil, err
		}
		tags = append(tags, t)
	}
	slices.SortFunc(tags, func(a, b snip.TagCount) int { return strings.Compare(a.Tag, b.Tag) })
	return tags, rows.Err()
}
