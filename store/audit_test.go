package store_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/engine/sqlite"
	"snip/queue/outbox"
	"snip/store"
)

// audited returns what the audit is told, oldest first.
func audited(t testing.TB, s *store.Store) (audits []event.Audit) {
	t.Helper()
	for _, m := range inOutbox(t, s, event.AuditTopic) {
		a, err := event.DecodeAudit(m.Body)
		if err != nil || m.Type != event.AuditType || !m.Time.Equal(a.At) {
			t.Fatalf("message %+v: %v", m, err)
		}
		audits = append(audits, a)
	}
	return audits
}

func rawAudits(t testing.TB, s *store.Store) (texts []string) {
	t.Helper()
	for _, m := range inOutbox(t, s, event.AuditTopic) {
		texts = append(texts, string(m.Body))
	}
	return texts
}

// act is who did what to what, and which fields it changed.
type act struct {
	Key     int64
	Action  string
	Subject event.Subject
	Fields  string
}

func acts(t testing.TB, s *store.Store) (acts []act) {
	t.Helper()
	for _, a := range audited(t, s) {
		var fields []string
		for _, c := range a.Changes {
			fields = append(fields, c.Field)
		}
		acts = append(acts, act{a.Key, a.Action, a.Subject, strings.Join(fields, " ")})
	}
	return acts
}

func TestAuditOfKeys(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	admin := adminKey(t, s)
	v := s.As(admin)
	k, secret, err := v.CreateKey(t.Context(), snip.NewKey{Label: "CI", Scopes: []snip.Scope{snip.ScopeRead}, OwnLinks: true})
	if err != nil {
		t.Fatal(err)
	}
	label, zone := "tests", "UTC"
	for range 2 { // The second time they change nothing.
		if _, err := v.EditKey(t.Context(), k.ID, snip.KeyEdit{Label: &label, TimeZone: &zone}); err != nil {
			t.Fatal(err)
		}
		if _, err := v.RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
	}
	// None of these changes anything.
	_, _, err = v.CreateKey(t.Context(), snip.NewKey{})
	wantCode(t, err, snip.Invalid, "scopes")
	_, err = v.RevokeKey(t.Context(), admin.ID)
	wantCode(t, err, snip.Conflict, "")
	_, err = s.As(k).RevokeKey(t.Context(), k.ID)
	wantCode(t, err, snip.Forbidden, "")

	subject := func(label string) event.Subject { return event.Subject{Kind: event.KeySubject, ID: k.ID, Label: label} }
	want := []act{
		{0, "key.created", event.Subject{Kind: event.KeySubject, ID: admin.ID, Label: "admin"}, "label scopes"},
		{admin.ID, "key.created", subject("CI"), "label own_links scopes"},
		{admin.ID, "key.edited", subject("tests"), "label time_zone"},
		{admin.ID, "key.revoked", subject("tests"), "revoked_at"},
	}
	if diff := cmp.Diff(want, acts(t, s)); diff != "" {
		t.Errorf("audited (-want +got):\n%s", diff)
	}
	for _, text := range rawAudits(t, s) {
		if strings.Contains(text, secret[5:]) {
			t.Errorf("the audit is told a secret: %s", text)
		}
	}
}

func TestAuditOfDomains(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	admin := adminKey(t, s)
	v := s.As(admin)
	d, err := v.CreateDomain(t.Context(), snip.NewDomain{Host: "go.example", IgnoreCase: true})
	if err != nil {
		t.Fatal(err)
	}
	text, none := strings.Repeat("ä", snip.MaxNote), ""
	for _, to := range []*string{&text, &text, &none} {
		if _, err := v.EditDomain(t.Context(), "go.example", snip.DomainEdit{NotFoundText: to}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = v.CreateDomain(t.Context(), snip.NewDomain{Host: "go.example"})
	wantCode(t, err, snip.Conflict, "host")
	if err := s.DeleteDomain(t.Context(), "go.example", 0); err != nil {
		t.Fatal(err)
	}
	subject := event.Subject{Kind: event.DomainSubject, ID: d.ID, Host: "go.example"}
	want := []act{
		{admin.ID, "domain.created", subject, "host ignore_case"},
		{admin.ID, "domain.edited", subject, "not_found_text"},
		{admin.ID, "domain.edited", subject, "not_found_text"},
		{0, "domain.deleted", subject, "host ignore_case"},
	}
	if diff := cmp.Diff(want, acts(t, s)[1:]); diff != "" {
		t.Errorf("audited (-want +got):\n%s", diff)
	}
	edit := audited(t, s)[2].Changes[0]
	if edit.Before != nil || len(edit.After) > 3000 || !strings.HasPrefix(string(edit.After), `"ää`) || !strings.HasSuffix(string(edit.After), `ä…"`) {
		t.Errorf("a long text is told as %.40s… to %.40s…, %d bytes, want its beginning", edit.Before, edit.After, len(edit.After))
	}
}

func TestAuditOfLinks(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	key, _ := newKey(t, s, snip.NewKey{Label: "CI", Scopes: []snip.Scope{snip.ScopeWrite}})
	v := s.As(key)
	l, _, err := v.CreateLink(t.Context(), snip.NewLink{Code: "a", Password: "open sesame", Settings: snip.Settings{Target: "https://example.com/"}})
	if err != nil {
		t.Fatal(err)
	}
	ref := snip.Ref{Code: "a"}
	title, password := "Title", "another sesame"
	for range 2 { // The second changes nothing.
		if _, err := v.EditLink(t.Context(), ref, snip.LinkEdit{Title: &title}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.EditLink(t.Context(), ref, snip.LinkEdit{Password: &password}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := v.ChangeLinks(t.Context(), snip.Bulk{Action: snip.BulkArchive, Links: []snip.Ref{ref, {Code: "none"}}}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = v.CreateLink(t.Context(), snip.NewLink{Code: "a", Settings: snip.Settings{Target: "https://example.com/"}})
	wantCode(t, err, snip.Conflict, "code")
	if err := v.DeleteLink(t.Context(), ref, 0); err != nil {
		t.Fatal(err)
	}
	got := acts(t, s)[1:]
	var actions []string
	for _, a := range got {
		actions = append(actions, a.Action)
		if want := (event.Subject{Kind: event.LinkSubject, ID: l.ID, Code: "a"}); a.Key != key.ID || a.Subject != want {
			t.Errorf("%s by key %d of %+v, want by %d of %+v", a.Action, a.Key, a.Subject, key.ID, want)
		}
	}
	if len(got) != 5 || !strings.HasSuffix(actions[0], "created") || !strings.HasSuffix(actions[4], "deleted") {
		t.Errorf("audited %q, want one of each that changed something", actions)
	} else if got[1].Fields != "title" || got[2].Fields != event.PasswordField || !strings.Contains(got[3].Fields, "archived_at") {
		t.Errorf("fields of the edits: %q, %q, %q", got[1].Fields, got[2].Fields, got[3].Fields)
	}
	for _, text := range rawAudits(t, s) {
		if strings.Contains(text, "sesame") || strings.Contains(text, "argon2") {
			t.Errorf("the audit is told a password: %s", text)
		}
	}
}

// A change and what is told of it are one: there is no room for the second message of it.
func TestFullOutboxRefusesChangesOfKeys(t *testing.T) {
	s := open(t, store.Config{OutboxRows: 3})
	admin := adminKey(t, s)
	if _, err := s.CreateDomain(t.Context(), snip.NewDomain{Host: "go.example"}); err != nil {
		t.Fatal(err)
	}
	label := "new"
	_, err := s.EditKey(t.Context(), admin.ID, snip.KeyEdit{Label: &label})
	wantCode(t, err, snip.Unavailable, "")
	_, err = s.CreateDomain(t.Context(), snip.NewDomain{Host: "other.example"})
	wantCode(t, err, snip.Unavailable, "")
	if k, err := s.Key(t.Context(), admin.ID); err != nil || k.Label == label {
		t.Errorf("Key() = %+v, %v, want it as it was", k, err)
	}
	if n := len(audited(t, s)); n != 2 {
		t.Errorf("%d audits, want those of what was done", n)
	}
}

// A web that dies between a change and its way to the topic loses nothing: another one
// sends it.
func TestAuditIsSent(t *testing.T) {
	s := open(t, store.Config{})
	adminKey(t, s)
	e, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	f, err := outbox.NewForwarder(outbox.ForwarderConfig{Outbox: s.AuditOutbox(), Store: s, Engine: e, Topic: store.AuditTopic()})
	if err != nil {
		t.Fatal(err)
	}
	var task sync.WaitGroup
	task.Go(func() { _ = f.Run(t.Context()) }) // Always nil.
	t.Cleanup(task.Wait)
	adminKey(t, s)
	var actions []string
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); len(actions) < 2; <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("the topic holds %q", actions)
		}
		entries, err := e.Read(t.Context(), event.AuditTopic, 0, queue.Position{}, 10)
		if err != nil {
			continue // Not declared yet.
		}
		actions = nil
		for _, entry := range entries {
			for _, m := range entry.Messages {
				a, err := event.DecodeAudit(m.Body)
				if err != nil {
					t.Fatal(err)
				}
				actions = append(actions, a.Action)
			}
		}
	}
	if diff := cmp.Diff([]string{"key.created", "key.created"}, actions); diff != "" {
		t.Error(diff)
	}
}
