package store

import (
	"context"
	"database/sql"
	"slices"

	"snip"
)

// A code is in links or in aliases of its domain, once over both, though no index spans
// the two. It holds because a code becomes an alias only while the same transaction takes
// it from the link that has it: who wants to give it to another link at that moment waits
// for the row of links. So whoever gives a link a code looks for it in aliases afterwards,
// in a statement of its own, which sees what was committed while the first one waited.

// noAlias refuses a code that is an alias already, at the end of the transaction.
func noAlias(ctx context.Context, tx session, domain, code string, folded sql.NullString) error {
	return tx.later().refuse(ctx, conflict(code), `
		SELECT 1 FROM aliases WHERE domain = $1 AND code = $2
		UNION ALL SELECT 1 FROM aliases WHERE domain = $1 AND folded = $3 LIMIT 1`, domain, code, folded)
}

// addAliases adds the aliases of after that the link did not have. Its code was changed
// before.
func addAliases(ctx context.Context, tx session, before, after snip.Link, folded bool) error {
	for _, code := range after.Aliases {
		if slices.Contains(before.Aliases, code) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO aliases (domain, code, folded, link_id, created_at) VALUES ($1, $2, $3, $4, $5)`,
			after.Domain, code, foldedColumn(code, folded), after.ID, after.UpdatedAt.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

// dropAliases removes the aliases of a link that are not those of after.
func dropAliases(ctx context.Context, tx session, before, after snip.Link) error {
	for _, code := range before.Aliases {
		if slices.Contains(after.Aliases, code) {
			continue
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM aliases WHERE domain = $1 AND code = $2`, before.Domain, code); err != nil {
			return err
		}
	}
	return nil
}
