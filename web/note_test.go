package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/web"
)

// TestNoteKeepsWhatCame: what a visitor sends comes out of the note as it went in,
// cut at its limit between two characters.
func TestNoteKeepsWhatCame(t *testing.T) {
	long := strings.Repeat("ü", 4096) // 8 KiB of two bytes each.
	tests := []struct {
		name       string
		sent, want web.Note
	}{
		{"nothing", web.Note{}, web.Note{}},
		{
			"everything",
			web.Note{Address: "192.0.2.1:5678", UserAgent: "Mozilla/5.0", Referrer: "https://r.example/", Language: "de, en;q=0.5", Query: "a=b&c=%20", Purpose: "prefetch"},
			web.Note{Address: "192.0.2.1", UserAgent: "Mozilla/5.0", Referrer: "https://r.example/", Language: "de, en;q=0.5", Query: "a=b&c=%20", Purpose: "prefetch"},
		},
		{
			"too long",
			web.Note{Address: long, UserAgent: long, Referrer: long, Language: long, Query: long, Purpose: long},
			web.Note{
				UserAgent: long[:512], Referrer: long[:1024], Language: long[:128],
				Query: long[:1024], Purpose: long[:64],
			},
		},
		{
			"too long, a limit inside a character",
			web.Note{UserAgent: "x" + long, Referrer: "xx\U0001F600" + strings.Repeat("\U0001F600", 300)},
			web.Note{UserAgent: "x" + long[:510], Referrer: "xx" + strings.Repeat("\U0001F600", 255)},
		},
		{"NUL", web.Note{UserAgent: "a\x00b", Query: "\x00"}, web.Note{UserAgent: "a\x00b", Query: "\x00"}},
		{
			"not UTF-8",
			web.Note{UserAgent: strings.Repeat("\xff", 600), Referrer: strings.Repeat("\x80", 2000)},
			web.Note{UserAgent: strings.Repeat("\xff", 512), Referrer: strings.Repeat("\x80", 1024)},
		},
	}
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc"})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(t, "/abc")
			r.RemoteAddr, r.URL.RawQuery = test.sent.Address, test.sent.Query
			for name, value := range map[string]string{
				"User-Agent": test.sent.UserAgent, "Referer": test.sent.Referrer, "Accept-Language": test.sent.Language,
				"Sec-Purpose": test.sent.Purpose,
			} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			s.web.Handler().ServeHTTP(httptest.NewRecorder(), r)
			test.want.Link = l.ID
			if diff := cmp.Diff(test.want, s.notes.last(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNoteTakesTheOldPurpose: some clients still send it under its older name.
func TestNoteTakesTheOldPurpose(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	s.do(http.MethodGet, "/abc", "", "Purpose", "prefetch")
	if got := s.notes.last(t).Purpose; got != "prefetch" {
		t.Errorf("purpose %q, want prefetch", got)
	}
	s.do(http.MethodGet, "/abc", "", "Purpose", "old", "Sec-Purpose", "new")
	if got := s.notes.last(t).Purpose; got != "new" {
		t.Errorf("purpose %q, want new", got)
	}
}

func TestDecodeNoteRefuses(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":                 "",
		"another version":         "\x03\x02\x00\x00\x00\x00\x00\x00",
		"version 1 as version 2":  "\x02\x02\x00\x00\x00\x00\x00\x00",
		"version 2 as version 1":  "\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00",
		"only a version":          "\x01",
		"no end of the link":      "\x01\xff",
		"link over 64 bits":       "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"a string missing":        "\x01\x02\x00\x00\x00\x00\x00",
		"a string cut":            "\x01\x02\x00\x00\x00\x00\x00\x02a",
		"a length that overflows": "\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"more behind":             "\x01\x02\x00\x00\x00\x00\x00\x00\x00",
	} {
		if note, err := web.DecodeNote([]byte(b)); err == nil || note != (web.Note{}) {
			t.Errorf("%s: DecodeNote = %+v, %v, want an error", name, note, err)
		}
	}
}

// TestNoteTellsAliasAndArm: how a visitor came to a target, but not of one who asks for
// privacy what the arm would tell.
func TestNoteTellsAliasAndArm(t *testing.T) {
	long := strings.Repeat("ü", 50)
	for respect, arm := range map[bool]string{false: "swiss/b", true: ""} {
		s := openSite(t, web.Config{RespectPrivacy: respect})
		s.create(snip.NewLink{Code: "old", Settings: snip.Settings{Target: "https://example.com/", Rules: []snip.Rule{
			{
				Name: "swiss", When: snip.Conditions{Query: map[string][]string{"from": {"ch"}}},
				Split: []snip.Arm{{Name: "a", Target: "https://a.example/"}, {Name: "b", Target: "https://b.example/", Weight: 1}},
			},
			{
				Name: long, When: snip.Conditions{Query: map[string][]string{"from": {"long"}}},
				Split: []snip.Arm{{Name: long, Target: "https://a.example/", Weight: 1}},
			},
		}}})
		code := "new"
		if _, err := s.store.EditLink(t.Context(), snip.Ref{Code: "old"}, snip.LinkEdit{Code: &code, KeepCode: true}); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string][2]string{
			"/new": {}, "/old": {"old", ""}, "/old?from=ch": {"old", arm}, "/new?from=ch": {"", arm},
		} {
			s.do(http.MethodGet, path, "", "DNT", "1")
			if got := s.notes.last(t); got.Alias != want[0] || got.Arm != want[1] {
				t.Errorf("%s, privacy respected %t: alias %q and arm %q, want %q", path, respect, got.Alias, got.Arm, want)
			}
		}
		s.do(http.MethodGet, "/new?from=long", "")
		if got, want := s.notes.last(t).Arm, long+"/"+long; got != want {
			t.Errorf("arm %q, want %q", got, want)
		}
	}
}

// TestOldNotesAreRead: a spool may hold those of the program that was there before.
func TestOldNotesAreRead(t *testing.T) {
	for b, want := range map[string]web.Note{
		"\x01\x06\x09192.0.2.1\x01A\x02r:\x02de\x03a=b\x08prefetch": {
			Link: 3, Address: "192.0.2.1", UserAgent: "A", Referrer: "r:", Language: "de", Query: "a=b", Purpose: "prefetch",
		},
		"\x02\x06\x09192.0.2.1\x01A\x02r:\x02de\x03a=b\x08prefetch\x03old\x03r/a": {
			Link: 3, Address: "192.0.2.1", UserAgent: "A", Referrer: "r:", Language: "de", Query: "a=b", Purpose: "prefetch",
			Alias: "old", Arm: "r/a",
		},
	} {
		if got, err := web.DecodeNote([]byte(b)); err != nil || got != want {
			t.Errorf("DecodeNote(%q) = %+v, %v, want %+v", b, got, err, want)
		}
	}
}

func FuzzDecodeNote(f *testing.F) {
	for _, seed := range []string{
		"", "\x01", "\x01\x02\x00\x00\x00\x00\x00\x00", "\x02\x02\x00\x00\x00\x00\x00\x00",
		"\x02\x06\x01a\x01b\x01c\x01d\x01e\x01f\x01g\x03h/i",
		"\x01\x02\x0e192.0.2.1:5678\x0bMozilla/5.0\x00\x02de\x03a=b\x08prefetch",
		"\x01\x01\x04\xf0\x9f\x98\x80\x01\xff\x01\x00\x00\x00\x00",
		"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00",
		"\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		note, err := web.DecodeNote(b)
		if err != nil {
			if note != (web.Note{}) {
				t.Errorf("a note %+v beside the error %v", note, err)
			}
			return
		}
		// Nothing is made up, and nothing read twice.
		n := 0
		for _, s := range []string{note.Address, note.UserAgent, note.Referrer, note.Language, note.Query, note.Purpose, note.Alias, note.Arm} {
			n += len(s)
		}
		if n+8 > len(b) {
			t.Errorf("%d bytes of text out of %d", n, len(b))
		}
	})
}

// TestNotesAreCutBetweenCharacters for every length there is around a limit.
func TestNotesAreCutBetweenCharacters(t *testing.T) {
	s := openSite(t, web.Config{})
	s.create(snip.NewLink{Code: "abc"})
	for _, c := range []string{"a", "ü", "€", "\U0001F600"} {
		for n := range 8 {
			sent := strings.Repeat("x", 505+n) + strings.Repeat(c, 4)
			s.do(http.MethodGet, "/abc", "", "User-Agent", sent)
			got := s.notes.last(t).UserAgent
			if !utf8.ValidString(got) || !strings.HasPrefix(sent, got) || len(got) > 512 || len(got) < min(len(sent), 509) {
				t.Errorf("%d bytes of %d kept of %q…: %q", len(got), len(sent), c, got[500:])
			}
		}
	}
}
