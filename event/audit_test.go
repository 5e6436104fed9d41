package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip/event"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestAudits(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC)
	// Topics keep messages for days: what was written must stay readable as it is.
	for text, want := range map[string]event.Audit{
		`{"version":1,"at":"2026-11-29T12:00:00.123456Z","key":3,"action":"link.edited","subject":{"kind":"link","id":17,"domain":"go.example","code":"abc"},` +
			`"changes":[{"field":"title","before":"A","after":"B"},{"field":"tags","after":["x"]},{"field":"note","before":"n"},{"field":"password"}]}`: {
			At: at, Key: 3, Action: "link.edited",
			Subject: event.Subject{Kind: event.LinkSubject, ID: 17, Domain: "go.example", Code: "abc"},
			Changes: []event.FieldChange{
				{Field: "title", Before: raw(`"A"`), After: raw(`"B"`)}, {Field: "tags", After: raw(`["x"]`)},
				{Field: "note", Before: raw(`"n"`)}, {Field: event.PasswordField},
			},
		},
		`{"version":1,"at":"2026-11-29T12:00:00.123456Z","key":0,"action":"key.revoked","subject":{"kind":"key","id":9007199254740993,"label":"CI"}}`: {
			At: at, Action: "key.revoked", Subject: event.Subject{Kind: event.KeySubject, ID: 1<<53 + 1, Label: "CI"},
		},
		`{"version":1,"at":"2026-11-29T12:00:00.123456Z","key":1,"action":"domain.created","subject":{"kind":"domain","id":2,"host":"go.example"}}`: {
			At: at, Key: 1, Action: "domain.created", Subject: event.Subject{Kind: event.DomainSubject, ID: 2, Host: "go.example"},
		},
	} {
		encoded, err := want.Encode()
		if err != nil || string(encoded) != text {
			t.Errorf("Encode(%+v) = %s, %v, want %s", want, encoded, err, text)
		}
		got, err := event.DecodeAudit([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("DecodeAudit(%s): %v\n%s", text, err, diff)
		}
	}
}

func TestAuditRefuses(t *testing.T) {
	good := func() event.Audit {
		return event.Audit{At: time.UnixMicro(1), Action: "link.edited", Subject: event.Subject{Kind: event.LinkSubject, ID: 1}}
	}
	if _, err := good().Encode(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*event.Audit){
		"no time":               func(a *event.Audit) { a.At = time.Time{} },
		"a key below 0":         func(a *event.Audit) { a.Key = -1 },
		"no action":             func(a *event.Audit) { a.Action = "" },
		"no kind":               func(a *event.Audit) { a.Subject.Kind = "" },
		"no ID":                 func(a *event.Audit) { a.Subject.ID = 0 },
		"no field":              func(a *event.Audit) { a.Changes = []event.FieldChange{{After: raw("1")}} },
		"a password":            func(a *event.Audit) { a.Changes = []event.FieldChange{{Field: "password", After: raw(`"x"`)}} },
		"a password before":     func(a *event.Audit) { a.Changes = []event.FieldChange{{Field: "password", Before: raw(`""`)}} },
		"what is not any JSON":  func(a *event.Audit) { a.Changes = []event.FieldChange{{Field: "note", After: raw("{")}} },
		"a year without a name": func(a *event.Audit) { a.At = a.At.AddDate(10000, 0, 0) },
	} {
		a := good()
		change(&a)
		if b, err := a.Encode(); err == nil {
			t.Errorf("%s: Encode() = %s, want an error", name, b)
		}
	}
	for _, text := range []string{
		"", "null", "{}", "[]",
		`{"version":2,"at":"2026-11-29T12:00:00Z","key":0,"action":"a.b","subject":{"kind":"link","id":1}}`,
		`{"version":1,"key":0,"action":"a.b","subject":{"kind":"link","id":1}}`,
		`{"version":1,"at":"2026-11-29T12:00:00Z","key":0,"action":"a.b","subject":{"kind":"link","id":1},"changes":[{"field":"password","after":"x"}]}`,
	} {
		if a, err := event.DecodeAudit([]byte(text)); err == nil {
			t.Errorf("DecodeAudit(%q) = %+v, want an error", text, a)
		}
	}
}

func FuzzDecodeAudit(f *testing.F) {
	f.Add([]byte(`{"version":1,"at":"2026-11-29T12:00:00Z","key":3,"action":"link.edited","subject":{"kind":"link","id":17,"code":"abc"},"changes":[{"field":"title","before":"A","after":"B"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := event.DecodeAudit(b)
		if err != nil {
			return
		}
		once, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := event.DecodeAudit(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := again.Encode(); err != nil || string(twice) != string(once) {
			t.Fatalf("%s came back as %s, %v", once, twice, err)
		}
	})
}
