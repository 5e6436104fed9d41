package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBar(t *testing.T) {
	for _, c := range []struct {
		n, solid, most int64
		want           string
	}{
		{0, 0, 0, ""},
		{0, 0, 10, ""},
		{10, 10, 10, strings.Repeat("█", 24)},
		{10, 0, 10, strings.Repeat("░", 24)},
		{5, 5, 10, strings.Repeat("█", 12)},
		{10, 5, 10, strings.Repeat("█", 12) + strings.Repeat("░", 12)},
		{1, 0, 1_000_000, "░"}, // What is there can be seen.
		{1, 1, 1_000_000, "█"},
		{math.MaxInt64, 1, math.MaxInt64, "█" + strings.Repeat("░", 23)},
		// No server of ours tells such figures.
		{-1, -1, 10, ""}, {5, 10, 10, strings.Repeat("█", 12)}, {20, 20, 10, strings.Repeat("█", 24)}, {1, 1, -1, ""},
	} {
		if got := bar(c.n, c.solid, c.most); got != c.want {
			t.Errorf("bar(%d, %d, %d) = %q, want %q", c.n, c.solid, c.most, got, c.want)
		}
	}
}

// FuzzPrintable: nothing that a terminal obeys gets through, and JSON means the same
// as before.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "example.com", "\x1b[31m", "\u009b2J", "\u202e", "\xff", `\`, `"`, "\U000e0041", "a\u00a0b"} {
		f.Add(s)
	}
	obeyed := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e })
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := printable(s); obeyed(got) || !utf8.ValidString(got) {
			t.Errorf("printable(%q) = %q", s, got)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		safe := printableJSON(string(text))
		if err := json.Unmarshal([]byte(safe), &got); err != nil || obeyed(safe) {
			t.Errorf("printableJSON(%s) = %q, %v", text, safe, err)
		}
		if err := json.Unmarshal(text, &want); err != nil || got != want {
			t.Errorf("printableJSON(%s) means %q, want %q; %v", text, got, want, err)
		}
	})
}
