package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneLinkIsReadByItself: a question about a link must not take longer because of
// the others.
func TestOneLinkIsReadByItself(t *testing.T) {
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "snip.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, query := range []string{linkRollups, linkTotals} {
		query = "EXPLAIN QUERY PLAN " + fmt.Sprintf(fmt.Sprintf(query, byLink(session{kind: onSQLite}), 1, 2), "($1), ($2)")
		var plan []string
		rows, err := s.Read().QueryContext(t.Context(), query, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
		}
		if err := rows.Err(); err != nil || !strings.Contains(strings.Join(plan, "\n"), "rollups_link (generation=? AND link_id=? AND slot>? AND slot<?)") {
			t.Errorf("%s\nis planned as %q, %v", query, plan, err)
		}
	}
}
