package snip_test

import (
	"regexp"
	"strings"
	"testing"

	"snip"
)

func TestCheckCode(t *testing.T) {
	for _, code := range []string{
		"a", "7", "abc1234", "ABC", "a-b_c", "-a", "__", "--", "restful", "APIs", strings.Repeat("x", 64),
	} {
		if err := snip.CheckCode(code); err != nil {
			t.Errorf("CheckCode(%q) = %v, want nil", code, err)
		}
	}
	tests := []struct{ name, code, message string }{
		{"empty", "", "missing"},
		{"too long", strings.Repeat("x", 65), "at most 64"},
		{"L9 query", "abcd?env=prod", `holds '?'`},
		{"L9 the prefix of an API", "rest", "reserved"},
		{"our API", "api", "reserved"},
		{"our API in capitals", "API", "reserved"},
		{"shorten", "shorten", "reserved"},
		{"dashboard", "-", "reserved"},
		{"file of the web", "robots.txt", `holds '.'`},
		{"dot", ".", `holds '.'`},
		{"two dots", "..", `holds '.'`},
		{"emoji", "a🙂", `holds '🙂' at byte 1`},
		{"right-to-left mark", "abc\u200f", `holds '\u200f' at byte 3`},
		{"slash", "a/b", `holds '/'`},
		{"plus", "abc+", `holds '+'`},
		{"percent", "%61bc", `holds '%'`},
		{"space", "a b", `holds ' '`},
		{"line end", "abc\n", `holds '\n'`},
		{"not ASCII", "straße", `holds 'ß'`},
		{"another script", "аbc", `holds 'а' at byte 0`},
		{"invalid UTF-8", "a\xff", "holds"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantInvalid(t, snip.CheckCode(test.code), "code", test.message)
		})
	}
}

func TestRandomCode(t *testing.T) {
	const n = 20000
	seen := map[string]bool{}
	count := map[rune]int{}
	for range n {
		code := snip.RandomCode()
		if len(code) != 7 || strings.ContainsAny(code, "01IOilo") {
			t.Fatalf("RandomCode() = %q", code)
		}
		if err := snip.CheckCode(code); err != nil {
			t.Fatalf("RandomCode() = %q: %v", code, err)
		}
		if seen[code] {
			t.Errorf("RandomCode() = %q twice in %d", code, n)
		}
		seen[code] = true
		for _, c := range code {
			count[c]++
		}
	}
	if len(count) != 55 {
		t.Errorf("%d different characters, want 55", len(count))
	}
	// Each is expected 2545 times; ten standard deviations are 500.
	for c, got := range count {
		if got < 2045 || got > 3045 {
			t.Errorf("%q came %d times of %d", c, got, n*7)
		}
	}
}

func FuzzCheckCode(f *testing.F) {
	for _, s := range []string{"", "abc", "abcd?env=prod", "rest", "straße", "a\x00", strings.Repeat("a", 65)} {
		f.Add(s)
	}
	plain := regexp.MustCompile(`\A[A-Za-z0-9_-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, code string) {
		err := snip.CheckCode(code)
		if want := plain.MatchString(code) && !snip.Reserved(code); (err == nil) != want {
			t.Errorf("CheckCode(%q) = %v, want accepted %v", code, err, want)
		}
		if err != nil {
			wantInvalid(t, err, "code", "")
		}
	})
}
