package store_test

import (
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

// newKey makes a key on the host.
func newKey(t testing.TB, s *store.Store, n snip.NewKey) (snip.Key, string) {
	t.Helper()
	k, secret, err := s.CreateKey(t.Context(), n)
	if err != nil {
		t.Fatalf("CreateKey(%+v): %v", n, err)
	}
	return k, secret
}

func adminKey(t testing.TB, s *store.Store) snip.Key {
	t.Helper()
	k, _ := newKey(t, s, snip.NewKey{Label: "admin", Scopes: []snip.Scope{snip.ScopeAdmin}})
	return k
}

func TestCreateKey(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	own, at := "", noon.UTC().Truncate(time.Microsecond)
	got, secret := newKey(t, s, snip.NewKey{
		Label: "laptop", Scopes: []snip.Scope{snip.ScopeWrite, snip.ScopeRead}, Contact: "a@b.example", TimeZone: "Europe/Berlin",
		Domain: &own, OwnLinks: true, ExpiresAt: noon.Add(time.Hour),
	})
	want := snip.Key{
		ID: 1, Label: "laptop", Scopes: []snip.Scope{snip.ScopeRead, snip.ScopeWrite}, Contact: "a@b.example", TimeZone: "Europe/Berlin",
		Domain: &own, OwnLinks: true, ExpiresAt: at.Add(time.Hour), CreatedAt: at,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CreateKey: %s", diff)
	}
	for what, find := range map[string]func() (snip.Key, error){
		"CheckKey": func() (snip.Key, error) { return s.CheckKey(t.Context(), secret) },
		"Key":      func() (snip.Key, error) { return s.Key(t.Context(), 1) },
	} {
		found, err := find()
		if diff := cmp.Diff(want, found); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
	other := adminKey(t, s)
	keys, err := s.ListKeys(t.Context())
	if diff := cmp.Diff([]snip.Key{other, want}, keys); err != nil || diff != "" {
		t.Errorf("ListKeys: %v\n%s", err, diff)
	}
	_, err = s.Key(t.Context(), 99)
	wantCode(t, err, snip.NotFound, "")
}

func TestCreateKeyRefuses(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	read, missing, own := []snip.Scope{snip.ScopeRead}, "go.example", ""
	for field, n := range map[string]snip.NewKey{
		"label":      {Label: "two\nlines", Scopes: read},
		"scopes":     {},
		"scopes[0]":  {Scopes: []snip.Scope{"root"}},
		"contact":    {Scopes: read, Contact: strings.Repeat("x", 1000)},
		"time_zone":  {Scopes: read, TimeZone: "Local"},
		"domain":     {Scopes: read, Domain: &missing},
		"own_links":  {Scopes: []snip.Scope{snip.ScopeAdmin}, OwnLinks: true},
		"expires_at": {Scopes: read, ExpiresAt: noon},
	} {
		_, _, err := s.CreateKey(t.Context(), n)
		wantCode(t, err, snip.Invalid, field)
	}
	_, _, err := s.CreateKey(t.Context(), snip.NewKey{Scopes: []snip.Scope{snip.ScopeAdmin}, Domain: &own})
	wantCode(t, err, snip.Invalid, "domain")
	if keys, err := s.ListKeys(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("ListKeys() = %v, %v, want none", keys, err)
	}
}

func TestCheckKey(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	_, secret := newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead}, ExpiresAt: noon.Add(time.Hour)})
	revoked, dead := newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead}})
	if _, err := s.RevokeKey(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	refused := func(secret, says string) {
		t.Helper()
		_, err := s.CheckKey(t.Context(), secret)
		wantCode(t, err, snip.Unauthorized, "")
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("CheckKey() = %v, want an error that says %q", err, says)
		}
	}
	for _, wrong := range []string{"", "snip_", secret[:len(secret)-1], secret + "A", strings.ToLower(secret), "x"} {
		refused(wrong, "not known")
	}
	refused(dead, "revoked")
	now = noon.Add(time.Hour - time.Microsecond)
	if _, err := s.CheckKey(t.Context(), secret); err != nil {
		t.Errorf("CheckKey before its key expires: %v", err)
	}
	now = noon.Add(time.Hour)
	refused(secret, "expired")
}

func TestKeysTakeScopeAdmin(t *testing.T) {
	s := open(t, store.Config{})
	k, _ := newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead, snip.ScopeWrite}})
	label := "mine"
	for who, key := range map[string]snip.Key{"write": k, "nobody": {}} {
		v := s.As(key)
		for what, do := range map[string]func() error{
			"CreateKey": func() error {
				_, _, err := v.CreateKey(t.Context(), snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead}})
				return err
			},
			"ListKeys":     func() error { _, err := v.ListKeys(t.Context()); return err },
			"Key":          func() error { _, err := v.Key(t.Context(), k.ID); return err },
			"EditKey":      func() error { _, err := v.EditKey(t.Context(), k.ID, snip.KeyEdit{Label: &label}); return err },
			"RevokeKey":    func() error { _, err := v.RevokeKey(t.Context(), k.ID); return err },
			"CreateDomain": func() error { _, err := v.CreateDomain(t.Context(), snip.NewDomain{Host: "go.example"}); return err },
			"EditDomain":   func() error { _, err := v.EditDomain(t.Context(), "", snip.DomainEdit{}); return err },
			"DeleteDomain": func() error { return v.DeleteDomain(t.Context(), "go.example", 0) },
		} {
			if err := do(); snip.CodeOf(err) != snip.Forbidden {
				t.Errorf("%s by a key with scope %s: %v, want snip.Forbidden", what, who, err)
			}
		}
	}
	if got, err := s.As(k).CurrentKey(t.Context()); err != nil || got.ID != k.ID {
		t.Errorf("CurrentKey() = %+v, %v, want key %d", got, err, k.ID)
	}
	_, err := s.CurrentKey(t.Context())
	wantCode(t, err, snip.NotFound, "")
}

func TestEditKey(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	want, _ := newKey(t, s, snip.NewKey{Label: "old", Scopes: []snip.Scope{snip.ScopeRead}})
	edit := func(e snip.KeyEdit) {
		t.Helper()
		got, err := s.EditKey(t.Context(), want.ID, e)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("EditKey: %v\n%s", err, diff)
		}
		found, err := s.Key(t.Context(), want.ID)
		if diff := cmp.Diff(want, found); err != nil || diff != "" {
			t.Errorf("Key: %v\n%s", err, diff)
		}
	}
	edit(snip.KeyEdit{})
	want.Label, want.Contact, want.TimeZone = "new", "x", "UTC"
	edit(snip.KeyEdit{Label: &want.Label, Contact: &want.Contact, TimeZone: &want.TimeZone})
	want.ExpiresAt = noon.Add(time.Hour).UTC().Truncate(time.Microsecond)
	edit(snip.KeyEdit{ExpiresAt: &want.ExpiresAt})
	want.ExpiresAt = time.Time{}
	edit(snip.KeyEdit{ExpiresAt: &want.ExpiresAt})

	wrong := "Nowhere/Else"
	_, err := s.EditKey(t.Context(), want.ID, snip.KeyEdit{Label: &wrong, TimeZone: &wrong})
	wantCode(t, err, snip.Invalid, "time_zone")
	_, err = s.EditKey(t.Context(), 99, snip.KeyEdit{Label: &wrong})
	wantCode(t, err, snip.NotFound, "")
	edit(snip.KeyEdit{})
}

func TestLastAdminKeyStays(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead, snip.ScopeWrite}})
	admin := adminKey(t, s)
	newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeAdmin}, ExpiresAt: noon.Add(time.Hour)}) // It makes up for none.
	v := s.As(admin)
	soon, label := noon.Add(time.Minute), "label"
	if _, err := v.EditKey(t.Context(), admin.ID, snip.KeyEdit{Label: &label}); err != nil {
		t.Errorf("EditKey of its label: %v", err)
	}
	_, err := v.RevokeKey(t.Context(), admin.ID)
	wantCode(t, err, snip.Conflict, "")
	_, err = v.EditKey(t.Context(), admin.ID, snip.KeyEdit{ExpiresAt: &soon})
	wantCode(t, err, snip.Conflict, "")

	second := adminKey(t, s)
	if k, err := v.RevokeKey(t.Context(), admin.ID); err != nil || k.RevokedAt.IsZero() {
		t.Errorf("RevokeKey beside another one = %+v, %v", k, err)
	}
	if k, err := v.RevokeKey(t.Context(), admin.ID); err != nil || k.RevokedAt.IsZero() {
		t.Errorf("RevokeKey again = %+v, %v", k, err)
	}
	_, err = s.As(second).RevokeKey(t.Context(), second.ID)
	wantCode(t, err, snip.Conflict, "")
	if _, err := s.RevokeKey(t.Context(), second.ID); err != nil {
		t.Errorf("RevokeKey of the last one on the host: %v", err)
	}
}

func TestAdminKeysRevokedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	const keys = 6
	admins := make([]snip.Key, keys)
	for i := range admins {
		admins[i] = adminKey(t, stores[0])
	}
	var revoked atomic.Int32
	var tasks sync.WaitGroup
	for i, k := range admins {
		tasks.Go(func() {
			_, err := stores[i%2].As(k).RevokeKey(t.Context(), k.ID)
			if err == nil {
				revoked.Add(1)
				return
			}
			wantCode(t, err, snip.Conflict, "")
		})
	}
	tasks.Wait()
	if n := revoked.Load(); n != keys-1 {
		t.Errorf("%d of %d admin keys revoked each other, want all but one", n, keys)
	}
}
