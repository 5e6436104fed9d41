package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// table is one that Copy copies. Its key comes first in the columns.
type table struct {
	name    string
	key     int // How many of the columns are the key.
	columns []string
	counter bool // The first column is made up by the database, and never twice.
}

// tables are all there are. Of those with generations what is shown is copied: a
// rebuild begins anew.
func tables() []table {
	return []table{
		{"links", 1, []string{
			"id", "domain", "code", "folded", "owner", "version", "clicks", "human_clicks",
			"url", "title", "note", "starts_at", "expires_at", "click_limit", "fallback", "status", "query", "forward_path",
			"rules", "campaign", "password_hash", "archived_at", "created_at", "updated_at",
		}, true},
		{"aliases", 1, []string{"id", "domain", "code", "folded", "link_id", "created_at"}, true},
		{"tags", 1, []string{"id", "name"}, true},
		{"link_tags", 2, []string{"tag_id", "link_id"}, false},
		{"link_words", 1, []string{"link_id", "words"}, false},
		{"click_limits", 1, []string{"link_id", "used"}, false},
		{"idempotency", 2, []string{"owner", "name", "request", "link_id", "created_at"}, false},
		{"domains", 1, []string{"id", "host", "ignore_case", "root", "not_found", "not_found_text", "version", "created_at", "updated_at"}, true},
		{"keys", 1, []string{
			"id", "hash", "label", "scopes", "contact", "time_zone", "domain", "own_links", "expires_at", "revoked_at", "last_used", "created_at",
		}, true},
		{"done", 1, []string{"name", "at"}, false},
		{"instance", 1, []string{"id", "building", "compacted_until", "clicks", "human_clicks"}, false},
		{"rollups", 4, []string{"generation", "slot", "link_id", "seconds", "clicks", "human_clicks", "facts"}, false},
		{"days", 3, []string{"generation", "day", "link_id", "texts", "visitors"}, false},
		{"salts", 1, []string{"day", "salt"}, false},
		{"unknown_codes", 1, []string{"id", "day", "code"}, true},
		{"unknown_hits", 2, []string{"slot", "code_id", "hits"}, false},
		{"inbox_positions", 4, []string{"consumer", "generation", "topic", "partition", "position", "moved_at"}, false},
		{"inbox_segments", 3, []string{"consumer", "generation", "segment", "next", "seen_at"}, false},
		{"outbox", 1, []string{"id", "topic", "partition", "segment", "number", "message"}, true},
		{"outbox_leases", 1, []string{"topic", "holder", "beats"}, false},
	}
}

// pageRows is how many rows are on their way at once.
const pageRows = 500

// Copy copies all that a store keeps into another one, on whichever kind of database
// each is, and compares the two afterwards, row by row. Nobody else may write to either
// meanwhile. It can be called again after it was broken off. Copied is told how many
// rows of a table are there.
func Copy(ctx context.Context, to, from *Store, copied func(table string, rows int64)) error {
	for _, t := range tables() {
		want, err := from.each(ctx, t, func(rows [][]any) error {
			return to.write(ctx, func(ctx context.Context, tx session) error { return t.insert(ctx, tx, rows) })
		})
		if err != nil {
			return fmt.Errorf("store: copy %s: %w", t.name, err)
		}
		if t.counter {
			if err := t.copyCounter(ctx, to, from); err != nil {
				return fmt.Errorf("store: copy %s: %w", t.name, err)
			}
		}
		got, err := to.each(ctx, t, func([][]any) error { return nil })
		if err != nil {
			return fmt.Errorf("store: compare %s: %w", t.name, err)
		}
		if got != want {
			return fmt.Errorf("store: compare %s: %d rows were copied and %d are there, with other contents: copy to an empty database",
				t.name, want.rows, got.rows)
		}
		copied(t.name, got.rows)
	}
	return nil
}

// digest tells tables with other rows apart, whatever the order they come in.
type digest struct {
	rows int64
	sum  uint64
}

func (d *digest) add(row []any) {
	h := fnv.New64a()
	for _, value := range row {
		if b, ok := value.([]byte); ok {
			value = string(b)
		}
		fmt.Fprintf(h, "%v\x00", value)
	}
	d.rows++
	d.sum += h.Sum64()
}

// each reads a table by its key, in pages.
func (s *Store) each(ctx context.Context, t table, do func(rows [][]any) error) (d digest, err error) {
	for last := []any(nil); ; {
		page, err := t.page(ctx, s.Read(), last)
		if err != nil || len(page) == 0 {
			return d, err
		}
		for _, row := range page {
			d.add(row)
		}
		if err := do(page); err != nil {
			return d, err
		}
		last = page[len(page)-1][:t.key]
	}
}

// page reads the rows after a key, or the first ones.
func (t table) page(ctx context.Context, db *sql.DB, after []any) ([][]any, error) {
	key := strings.Join(t.columns[:t.key], ", ")
	var where []string
	if slices.Contains(t.columns, "generation") {
		where = append(where, "generation = 0")
	}
	if after != nil {
		where = append(where, "("+key+") > "+placeholders(1, t.key, "$%d"))
	}
	text := "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	rows, err := db.QueryContext(ctx, text+fmt.Sprintf(" ORDER BY %s LIMIT %d", key, pageRows), after...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page [][]any
	for rows.Next() {
		row, into := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, name := range t.columns {
			row[i] = likeOnServer(name, row[i])
		}
		page = append(page, row)
	}
	return page, rows.Err()
}

// likeOnServer returns a value as the column of a server has it. SQLite keeps the type
// that each value came with.
func likeOnServer(column string, value any) any {
	switch column {
	case "facts", "texts", "visitors":
		if text, ok := value.(string); ok {
			return []byte(text)
		}
	case "forward_path", "ignore_case", "own_links":
		if n, ok := value.(int64); ok {
			return n != 0
		}
	}
	return value
}

func (t table) insert(ctx context.Context, tx session, rows [][]any) error {
	var set []string
	for _, name := range t.columns[t.key:] {
		set = append(set, name+" = excluded."+name)
	}
	then := "NOTHING"
	if len(set) > 0 {
		then = "UPDATE SET " + strings.Join(set, ", ")
	}
	err := insertChunks(ctx, tx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES %s ON CONFLICT ("+
		strings.Join(t.columns[:t.key], ", ")+") DO "+then, rows)
	if err == nil && t.name == "link_words" {
		err = indexWords(ctx, tx, rows)
	}
	return err
}

// copyCounter sees to it that no number is given out again that ever was.
func (t table) copyCounter(ctx context.Context, to, from *Store) error {
	var last sql.NullInt64
	query := `SELECT MAX(seq) FROM sqlite_sequence WHERE name = '` + t.name + `'`
	if from.db.kind() == onPostgres {
		query = `SELECT CASE WHEN is_called THEN last_value END FROM ` + t.name + `_id_seq`
	}
	if err := from.Read().QueryRowContext(ctx, query).Scan(&last); err != nil || !last.Valid {
		return err
	}
	return to.write(ctx, func(ctx context.Context, tx session) error {
		var err error
		if tx.kind == onPostgres {
			_, err = tx.ExecContext(ctx, `SELECT setval('`+t.name+`_id_seq', $1)`, last.Int64)
			return err
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = '`+t.name+`'`); err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ('`+t.name+`', $1)`, last.Int64)
		}
		return err
	})
}
