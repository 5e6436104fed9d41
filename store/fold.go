package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"snip"
)

// maxFolded is how many codes a domain may have when it begins or ceases to ignore case:
// all of them are written in one transaction, and nobody else writes links meanwhile.
const maxFolded = 100_000

// foldCodes gives all codes of a domain their form in lower case, or takes it from them,
// as the domain now says.
func foldCodes(ctx context.Context, tx session, d snip.Domain) error {
	var codes int
	err := tx.QueryRowContext(ctx, `
		SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM links WHERE domain = $1 LIMIT $2) AS l)
			+ (SELECT COUNT(*) FROM (SELECT 1 FROM aliases WHERE domain = $1 LIMIT $2) AS a)`, d.Host, maxFolded+1).Scan(&codes)
	if err != nil {
		return err
	}
	if codes > maxFolded {
		return &snip.Error{
			Code: snip.Conflict, Field: "ignore_case",
			Message: fmt.Sprintf("The domain has more than %d codes. Whether case matters can only be changed while it has fewer.", maxFolded),
		}
	}
	folded := "NULL"
	if d.IgnoreCase {
		folded = lowerCode(tx)
		if err := codesCollide(ctx, tx, d, folded); err != nil {
			return err
		}
	}
	// Whoever counts locks links in this order, too.
	if tx.kind == onPostgres {
		if _, err := tx.ExecContext(ctx, `SELECT id FROM links WHERE domain = $1 ORDER BY id FOR UPDATE`, d.Host); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE links SET folded = `+folded+` WHERE domain = $1`, d.Host); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE aliases SET folded = `+folded+` WHERE domain = $1`, d.Host)
	return err
}

// lowerCode is what fold does, in SQL. A server in Turkish has an idea of its own about I.
func lowerCode(tx session) string {
	if tx.kind == onPostgres {
		return `LOWER(code COLLATE "C")`
	}
	return `LOWER(code)`
}

// codesCollide names two codes that are one where case does not matter.
func codesCollide(ctx context.Context, tx session, d snip.Domain, folded string) error {
	var one, other string
	err := tx.QueryRowContext(ctx, `
		SELECT MIN(code), MAX(code) FROM (
			SELECT code FROM links WHERE domain = $1 UNION ALL SELECT code FROM aliases WHERE domain = $1
		) AS codes
		GROUP BY `+folded+` HAVING COUNT(*) > 1 ORDER BY 1 LIMIT 1`, d.Host).Scan(&one, &other)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &snip.Error{
		Code: snip.Conflict, Field: "ignore_case",
		Message: fmt.Sprintf("The codes %q and %q would be one. Change or delete one of them first.", one, other),
	}
}
