package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"

	"snip"
)

// searchVersion is the migration that makes links searchable. It is not in SQL: what is
// a word is decided by wordsOf.
const searchVersion = 7

// filledAtOnce is how many links are made searchable in one step of the migration.
const filledAtOnce = 1000

// makeSearchable returns the migration for a kind of database.
func makeSearchable(k kind) *goose.Migration {
	text, index := "schema/search/file.sql", ""
	if k == onPostgres {
		// It is made when all is there, which is faster. What was added last waits in a list
		// that each search reads: it is kept short.
		text, index = "schema/search/server.sql", `
			CREATE INDEX link_words_search ON link_words USING gin (CAST(`+grouped+` AS tsvector)) WITH (gin_pending_list_limit = 512)`
	}
	return goose.NewGoMigration(searchVersion, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		tables, err := schema.ReadFile(text)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(tables)); err != nil {
			return fmt.Errorf("make tables for words: %w", err)
		}
		if err := fillWords(ctx, session{Tx: tx, kind: k}); err != nil {
			return fmt.Errorf("collect the words of links: %w", err)
		}
		_, err = tx.ExecContext(ctx, index)
		return err
	}}, nil)
}

// fillWords makes the links searchable that are there already.
func fillWords(ctx context.Context, tx session) error {
	for last := int64(0); ; {
		rows, err := tx.QueryContext(ctx, `SELECT id, code, title, note, url FROM links WHERE id > $1 ORDER BY id LIMIT $2`, last, filledAtOnce)
		if err != nil {
			return err
		}
		words, err := scanWords(rows)
		if err != nil || len(words) == 0 {
			return err
		}
		if err := insertWords(ctx, tx, words); err != nil {
			return err
		}
		last = words[len(words)-1][0].(int64)
	}
}

// scanWords returns rows of link_words.
func scanWords(rows *sql.Rows) (words [][]any, err error) {
	defer rows.Close()
	for rows.Next() {
		var l snip.Link
		if err := rows.Scan(&l.ID, &l.Code, &l.Title, &l.Note, &l.Target); err != nil {
			return nil, err
		}
		words = append(words, []any{l.ID, wordsOfLink(l)})
	}
	return words, rows.Err()
}
