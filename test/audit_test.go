package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// auditLine is a line of snip audit --json.
type auditLine struct {
	Key      int64  `json:"key"`
	KeyLabel string `json:"key_label"`
	Action   string `json:"action"`
	Subject  struct {
		Code  string `json:"code"`
		Label string `json:"label"`
	} `json:"subject"`
}

// showAudit returns what snip audit writes.
func showAudit(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), snip, append([]string{"audit"}, args...)...)
	cmd.Env = environ(dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("snip audit %q: %v", args, err)
	}
	return out
}

func readAudit(t *testing.T, dir string) (lines []auditLine) {
	t.Helper()
	for in := bufio.NewScanner(bytes.NewReader(showAudit(t, dir, "--json"))); in.Scan(); {
		var l auditLine
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("snip audit wrote %q: %v", in.Text(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

// A web is killed before it could tell anybody what it did: the next one does, once.
func TestKilledWebsChangesAreAudited(t *testing.T) {
	w := startWebs(t, 1)
	doomed := w.all[0]
	w.change(doomed, http.MethodPost, "", `{"code":"before","url":"https://example.com/"}`)
	eventually(t, "the audit is told of the first link", func() bool { return len(readAudit(t, w.dir)) == 2 })

	unlock := lockDatabase(t, filepath.Join(w.dir, "log.db"), false)
	for i := range 3 {
		w.change(doomed, http.MethodPost, "", fmt.Sprintf(`{"code":"code-%d","url":"https://example.com/"}`, i))
	}
	w.change(doomed, http.MethodDelete, "/before", "")
	doomed.kill()
	unlock()

	next := start(t, "web", w.dir)
	eventually(t, "the audit is told of everything", func() bool { return len(readAudit(t, w.dir)) >= 6 })
	w.change(next, http.MethodDelete, "/code-0", "")
	var lines []auditLine
	eventually(t, "the audit is told of the last change", func() bool {
		lines = readAudit(t, w.dir)
		return slices.ContainsFunc(lines, func(l auditLine) bool { return l.Action == "link.deleted" && l.Subject.Code == "code-0" })
	})
	var got []string
	for _, l := range lines {
		got = append(got, l.Action+" "+l.Subject.Code+l.Subject.Label+" by "+l.KeyLabel)
	}
	want := []string{
		"key.created first by ", "link.created before by first",
		"link.created code-0 by first", "link.created code-1 by first", "link.created code-2 by first",
		"link.deleted before by first", "link.deleted code-0 by first",
	}
	if !slices.Equal(got, want) {
		t.Errorf("audited\n%q, want\n%q", got, want)
	}

	table := strings.Split(strings.TrimSpace(string(showAudit(t, w.dir, "--since", "24h"))), "\n")
	if len(table) != 1+len(want) || !strings.HasPrefix(table[0], "TIME") {
		t.Fatalf("snip audit wrote %q", table)
	}
	first, last := strings.Fields(table[1]), strings.Fields(table[len(want)])
	if !slices.Equal(first[2:], []string{"host", "key.created", "first", "label,", "scopes"}) {
		t.Errorf("the first change is shown as %q", first)
	}
	if !slices.Equal(last[2:5], []string{"first", "link.deleted", "code-0"}) {
		t.Errorf("the last change is shown as %q", last)
	}
	if none := showAudit(t, w.dir, "--since", "1ns"); len(none) > 0 {
		t.Errorf("snip audit of no time at all wrote %q", none)
	}
}
