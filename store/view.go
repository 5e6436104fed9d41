package store

import (
	"context"
	"database/sql"
	"errors"

	"snip"
)

// View is a store as one key sees it. What the key may not see is not there for it: a
// link of another domain or, for a key of its own links only, of another key. It is safe
// for concurrent use, and costs nothing to make.
//
// Whether the key may read or write at all is for the caller to check, who knows the
// key's scopes; only domains and keys are refused here as well.
type View struct {
	store *Store
	key   snip.Key
}

// As returns the store as a key sees it. What is done through it is told to be done by
// the key, and links that are made are its own.
func (s *Store) As(key snip.Key) *View { return &View{s, key} }

// operator is who uses a store without a key: whoever is on its host may do everything.
func operator() snip.Key { return snip.Key{Scopes: []snip.Scope{snip.ScopeAdmin}} }

// administers returns an error unless the key may change domains and keys.
func (v *View) administers() error {
	if v.key.May(snip.ScopeAdmin) {
		return nil
	}
	return &snip.Error{Code: snip.Forbidden, Message: "This takes a key with the scope admin."}
}

// owner returns the only key whose links are seen, or 0.
func (v *View) owner() int64 {
	if v.key.OwnLinks {
		return v.key.ID
	}
	return 0
}

// seesDomain reports whether links of a domain are seen.
func (v *View) seesDomain(domain string) bool { return v.key.Domain == nil || *v.key.Domain == domain }

// queryer is a pool of connections or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// named selects the link that a code leads to, and the alias if the code is one. $1 is
// the domain, $2 the code and $3 the code in lower case. Only on a domain that ignores
// case links have folded codes.
const named = `(
	SELECT id AS link_id, '' AS alias FROM links WHERE domain = $1 AND code = $2
	UNION ALL SELECT link_id, code FROM aliases WHERE domain = $1 AND code = $2
	UNION ALL SELECT id, '' FROM links WHERE domain = $1 AND folded = $3
	UNION ALL SELECT link_id, code FROM aliases WHERE domain = $1 AND folded = $3
	LIMIT 1) AS named`

// findID finds a link that the key sees, by its code or an alias.
func (v *View) findID(ctx context.Context, r queryer, ref snip.Ref) (int64, error) {
	if !v.seesDomain(ref.Domain) {
		return 0, notFound(ref)
	}
	var id int64
	err := r.QueryRowContext(ctx, `
		SELECT id FROM links JOIN `+named+` ON id = link_id WHERE ($4 = 0 OR owner = $4)`,
		ref.Domain, ref.Code, fold(ref.Code), v.owner()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, notFound(ref)
	}
	return id, err
}

// limit adds the conditions by which the key sees links.
func (v *View) limit(w *where) {
	if v.key.Domain != nil {
		w.add("links.domain = ?", *v.key.Domain)
	}
	if v.key.OwnLinks {
		// The second condition is what the index asks for.
		w.add("links.owner = ? AND links.owner <> 0", v.key.ID)
	}
}
