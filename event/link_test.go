package event_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"snip/event"
)

func TestLinkChanges(t *testing.T) {
	// Topics keep messages for days: what was written must stay readable as it is.
	for text, want := range map[string]event.LinkChange{
		`{"version":1,"link":17,"change":"created","codes":["abc"]}`:                        {Link: 17, Change: event.Created, Codes: []string{"abc"}},
		`{"version":1,"link":9007199254740993,"change":"edited","codes":["New-1","old_1"]}`: {Link: 1<<53 + 1, Change: event.Edited, Codes: []string{"New-1", "old_1"}},
		`{"version":1,"link":1,"change":"deleted","codes":["-"]}`:                           {Link: 1, Change: event.Deleted, Codes: []string{"-"}},
		`{"version":1,"link":2,"change":"edited","domain":"go.example","codes":["a"]}`:      {Link: 2, Change: event.Edited, Domain: "go.example", Codes: []string{"a"}},
	} {
		encoded, err := want.Encode()
		if err != nil || string(encoded) != text {
			t.Errorf("Encode(%+v) = %s, %v, want %s", want, encoded, err, text)
		}
		got, err := event.DecodeLinkChange([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("DecodeLinkChange(%s): %v\n%s", text, err, diff)
		}
	}
	// A newer program may say more, and may speak of what this one does not know.
	got, err := event.DecodeLinkChange([]byte(`{"version":1,"link":1,"change":"archived","codes":["a"],"by":"me"}`))
	if want := (event.LinkChange{Link: 1, Change: "archived", Codes: []string{"a"}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("a change of a newer program: %+v, %v, want %+v", got, err, want)
	}
}

func TestDecodeLinkChangeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "null", "{}", "[]", "\x00\x00\x00\x00\x01",
		`{"version":2,"link":1,"change":"edited","codes":["a"]}`,
		`{"version":1,"link":0,"change":"edited","codes":["a"]}`,
		`{"version":1,"link":1,"change":"","codes":["a"]}`,
		`{"version":1,"link":1,"change":"edited","codes":[]}`,
		`{"version":1,"link":1,"change":"edited","codes":["a",""]}`,
		`{"version":1,"link":1,"change":"edited","codes":"a"}`,
		`{"version":1,"link":1,"change":"edited","codes":["a"]} ` + "x",
	} {
		if c, err := event.DecodeLinkChange([]byte(text)); err == nil {
			t.Errorf("DecodeLinkChange(%q) = %+v, want an error", text, c)
		}
	}
	if b, err := (event.LinkChange{}).Encode(); err == nil {
		t.Errorf("Encode of nothing = %s, want an error", b)
	}
}

func FuzzDecodeLinkChange(f *testing.F) {
	f.Add([]byte(`{"version":1,"link":17,"change":"edited","codes":["abc","d"]}`))
	f.Add([]byte(`{"version":1,"link":17,"change":"edited","domain":"go.example","codes":["abc"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := event.DecodeLinkChange(b)
		if err != nil {
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := event.DecodeLinkChange(again); err != nil || !cmp.Equal(got, c) {
			t.Fatalf("%+v came back as %+v, %v", c, got, err)
		}
	})
}
