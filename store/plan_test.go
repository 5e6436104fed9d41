package store

import (
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
		var id, parent, unused int
		var plan string
		err := s.Read().QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+query, 1, 2, 3).Scan(&id, &parent, &unused, &plan)
		if err != nil || !strings.Contains(plan, "rollups_link (generation=? AND link_id=? AND slot>? AND slot<?)") {
			t.Errorf("%s\nis planned as %q, %v", query, plan, err)
		}
	}
}
