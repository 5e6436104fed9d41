package snip_test

import (
	"strings"
	"testing"

	"snip"
)

func TestCleanHost(t *testing.T) {
	for typed, want := range map[string]string{
		"go.example":      "go.example",
		"GO.Example.":     "go.example",
		"kürzer.example":  "xn--krzer-kva.example",
		"KÜRZER.example":  "xn--krzer-kva.example",
		"XN--KRZER-KVA.x": "xn--krzer-kva.x",
		"ｅxample。com":     "example.com",
		"go":              "go",
		"a_b.example":     "a_b.example",
		"4.example":       "4.example",
		"192.0.2.1":       "192.0.2.1",
		"[2001:DB8::0:1]": "[2001:db8::1]",
		"2001:db8::1":     "[2001:db8::1]",
	} {
		got, err := snip.CleanHost(typed)
		if err != nil || got != want {
			t.Errorf("CleanHost(%q) = %q, %v, want %q", typed, got, err, want)
			continue
		}
		if again, err := snip.CleanHost(got); err != nil || again != got {
			t.Errorf("CleanHost(%q) = %q, %v: not the same twice", got, again, err)
		}
	}
	for typed, message := range map[string]string{
		"":                        "missing",
		"https://go.example":      "without http",
		"//go.example":            "holds '/'",
		"go.example/":             "holds '/'",
		"go.example:8080":         "without a port",
		"go.example:":             "without a port",
		"[::1]:80":                "without a port",
		"[::1":                    "not an IPv6 address",
		"[fe80::1%25eth0]":        "not an IPv6 address",
		"fe80::1%eth0":            "port",
		"u@go.example":            "holds '@'",
		"go example":              "holds ' '",
		" go.example":             "holds ' '",
		"go..example":             "between two dots",
		".":                       "between two dots",
		"127.1":                   "read it as 127.0.0.1",
		"0x7f.0.0.1":              "read it as 127.0.0.1",
		"0x7f":                    "read it as",
		"1.2.3.256":               "cannot read",
		"a\u202Eb.example":        "U+202E",
		"xn--a.example":           "internationalised",
		"0\xaa.example":           "UTF-8",
		"xn--":                    "cannot read",
		"*.example":               "holds '*'",
		strings.Repeat("a", 64):   "63",
		strings.Repeat("a.", 2e5): "too long",
	} {
		_, err := snip.CleanHost(typed)
		wantInvalid(t, err, "host", message)
	}
}

func FuzzCleanHost(f *testing.F) {
	for _, s := range []string{"go.example", "KÜRZER.example.", "192.0.2.1", "[::1]", "::ffff:1.2.3.4", "a:80", "xn--a", "0x1", "＠"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		host, err := snip.CleanHost(typed)
		if err != nil {
			wantInvalid(t, err, "host", "")
			return
		}
		if again, err := snip.CleanHost(host); err != nil || again != host {
			t.Errorf("CleanHost(%q) = %q, and of that %q, %v", typed, host, again, err)
		}
		// A domain must be one that links can lead to.
		if err := snip.CheckTarget("https://"+host+"/", nil); err != nil {
			t.Errorf("CleanHost(%q) = %q, and no address has it: %v", typed, host, err)
		}
	})
}
