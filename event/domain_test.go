package event_test

import (
	"testing"

	"snip/event"
)

func TestDomainChanges(t *testing.T) {
	// Topics keep messages for days: what was written must stay readable as it is.
	for text, want := range map[string]event.DomainChange{
		`{"version":1,"host":"go.example","change":"created"}`: {Host: "go.example", Change: event.Created},
		`{"version":1,"host":"","change":"edited"}`:            {Change: event.Edited},
	} {
		encoded, err := want.Encode()
		if err != nil || string(encoded) != text {
			t.Errorf("Encode(%+v) = %s, %v, want %s", want, encoded, err, text)
		}
		if got, err := event.DecodeDomainChange([]byte(text)); err != nil || got != want {
			t.Errorf("DecodeDomainChange(%s) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestDecodeDomainChangeRefuses(t *testing.T) {
	for _, text := range []string{
		"", "null", "{}", "[]",
		`{"version":2,"host":"a","change":"edited"}`,
		`{"version":1,"change":"edited"}`,
		`{"version":1,"host":null,"change":"edited"}`,
		`{"version":1,"host":"a","change":""}`,
		`{"version":1,"host":["a"],"change":"edited"}`,
		`{"version":1,"link":1,"change":"edited","codes":["a"]}`,
		`{"version":1,"host":"a","change":"edited"} x`,
	} {
		if c, err := event.DecodeDomainChange([]byte(text)); err == nil {
			t.Errorf("DecodeDomainChange(%q) = %+v, want an error", text, c)
		}
	}
	if b, err := (event.DomainChange{}).Encode(); err == nil {
		t.Errorf("Encode of nothing = %s, want an error", b)
	}
}

func FuzzDecodeDomainChange(f *testing.F) {
	f.Add([]byte(`{"version":1,"host":"go.example","change":"edited"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := event.DecodeDomainChange(b)
		if err != nil {
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := event.DecodeDomainChange(again); err != nil || got != c {
			t.Fatalf("%+v came back as %+v, %v", c, got, err)
		}
	})
}
