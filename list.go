package snip

import "slices"

// Check returns an *Error that names the first field that cannot be answered.
func (q LinkQuery) Check() error {
	if err := checkLine("search", "search", q.Search, MaxSearch); err != nil {
		return err
	}
	if err := checkDomain("domain", q.Domain); err != nil {
		return err
	}
	if len(q.Tags) > MaxTags {
		return invalid("tag", "These are %d tags; at most %d are accepted.", len(q.Tags), MaxTags)
	}
	for _, tag := range q.Tags {
		if err := CheckTag("tag", tag); err != nil {
			return err
		}
	}
	switch {
	case q.Owner < 0:
		return invalid("owner", "Must be the number of a key.")
	case !slices.Contains([]string{"", ArchivedNo, ArchivedOnly, ArchivedAll}, q.Archived):
		return invalid("archived", "Must be no, only or all.")
	case !slices.Contains([]Sort{"", SortNewest, SortOldest, SortUpdated, SortCode, SortExpiry}, q.Sort):
		return invalid("sort", "Must be newest, oldest, updated, code or expiry.")
	case q.Limit < 1 || q.Limit > MaxPage:
		return invalid("limit", "Must be a whole number from 1 to %d.", MaxPage)
	case len(q.Cursor) > MaxCursor:
		return invalid("cursor", "This is no cursor. Leave it out for the first page.")
	}
	return nil
}

// Check returns an *Error that names the first field by which nothing can be done. A
// link that there cannot be is not one: it fails by itself.
func (b Bulk) Check() error {
	tagging := b.Action == BulkTag || b.Action == BulkUntag
	switch {
	case !slices.Contains([]BulkAction{BulkTag, BulkUntag, BulkArchive, BulkRestore, BulkDelete}, b.Action):
		return invalid("action", "Must be tag, untag, archive, restore or delete.")
	case len(b.Links) == 0:
		return invalid("links", "No link is named.")
	case len(b.Links) > MaxBulk:
		return invalid("links", "These are %d links; at most %d are accepted.", len(b.Links), MaxBulk)
	case tagging && len(b.Tags) == 0:
		return invalid("tags", "No tag is named.")
	case !tagging && len(b.Tags) > 0:
		return invalid("tags", "Tags are for tag and untag only. Leave them out.")
	}
	return checkTags(b.Tags)
}
