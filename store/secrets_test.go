package store_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snip"
	"snip/store"
)

func TestCreateAdminKey(t *testing.T) {
	s := open(t, store.Config{})
	_, secret, err := s.CreateKey(t.Context(), snip.NewKey{Label: "laptop", Scopes: []snip.Scope{snip.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^snip_[A-Z2-7]{52}$`).MatchString(secret) {
		t.Errorf("secret of an unexpected form, %d bytes", len(secret))
	}
	got, err := s.CheckKey(t.Context(), secret)
	if err != nil || got.Label != "laptop" || !got.May(snip.ScopeAdmin) {
		t.Errorf("CheckKey() = %+v, %v, want the admin key", got, err)
	}
	_, other, err := s.CreateKey(t.Context(), snip.NewKey{Label: "laptop", Scopes: []snip.Scope{snip.ScopeAdmin}})
	if err != nil || other == secret {
		t.Errorf("the second key is the first one, or %v", err)
	}
	if k, err := s.CheckKey(t.Context(), other); err != nil || k.ID == got.ID {
		t.Errorf("CheckKey = %+v, %v, want another key", k, err)
	}
}

func TestSecretsAreNotInTheFile(t *testing.T) {
	s := open(t, store.Config{})
	_, secret, err := s.CreateKey(t.Context(), snip.NewKey{Label: "", Scopes: []snip.Scope{snip.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	var hash string
	if err := s.Read().QueryRowContext(t.Context(), `SELECT hash FROM keys`).Scan(&hash); err != nil {
		t.Fatal(err)
	}
	if len(hash) != 64 || strings.Contains(hash, secret[5:]) {
		t.Errorf("hash %q", hash)
	}
	_, err = s.CheckKey(t.Context(), hash)
	wantCode(t, err, snip.Unauthorized, "")
	for _, told := range rawAudits(t, s) {
		if strings.Contains(told, secret[5:]) || strings.Contains(told, hash) {
			t.Errorf("the audit is told a secret: %s", told)
		}
	}
}

func TestFirstAdminKeyIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	var n atomic.Int32
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			secret, made, err := stores[i%2].FirstAdminKey(t.Context())
			if err != nil {
				t.Errorf("FirstAdminKey: %v", err)
			}
			if made {
				n.Add(1)
				if k, err := stores[(i+1)%2].CheckKey(t.Context(), secret); err != nil || !k.May(snip.ScopeAdmin) {
					t.Errorf("CheckKey = %+v, %v, want an admin key", k, err)
				}
			} else if secret != "" {
				t.Error("a secret that was not made")
			}
		})
	}
	wg.Wait()
	if n.Load() != 1 {
		t.Errorf("made %d times, want once", n.Load())
	}
}

func TestFirstAdminKeyIsNotMadeBesideAnother(t *testing.T) {
	s := open(t, store.Config{})
	if _, _, err := s.CreateKey(t.Context(), snip.NewKey{Label: "by hand", Scopes: []snip.Scope{snip.ScopeAdmin}}); err != nil {
		t.Fatal(err)
	}
	if _, made, err := s.FirstAdminKey(t.Context()); err != nil || made {
		t.Errorf("FirstAdminKey made %v, %v, want none", made, err)
	}
}

// The last use of a key is written by nobody who uses it, and once in a minute.
func TestLastUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), store.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		k, secret := newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead}})
		use := func() {
			t.Helper()
			if _, err := s.CheckKey(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		lastUsed := func() time.Time {
			t.Helper()
			k, err := s.Key(t.Context(), k.ID)
			if err != nil {
				t.Fatal(err)
			}
			return k.LastUsed
		}
		first := time.Now().UTC()
		use()
		if at := lastUsed(); !at.IsZero() {
			t.Errorf("last used %s at once, want it to be written later", at)
		}
		time.Sleep(15 * time.Second)
		if at := lastUsed(); !at.Equal(first) {
			t.Errorf("last used %s after a while, want %s", at, first)
		}
		use()
		time.Sleep(15 * time.Second)
		if at := lastUsed(); !at.Equal(first) {
			t.Errorf("last used %s, want %s for a minute", at, first)
		}
		time.Sleep(time.Minute)
		second := time.Now().UTC()
		use()
		time.Sleep(15 * time.Second)
		if at := lastUsed(); !at.Equal(second) {
			t.Errorf("last used %s, want %s", at, second)
		}
	})
}

func TestLastUseIsWrittenAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	s := open(t, store.Config{Path: path, Now: fixedClock})
	k, secret := newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead}})
	if _, err := s.CheckKey(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, store.Config{Path: path}).Key(t.Context(), k.ID)
	if want := noon.UTC().Truncate(time.Microsecond); err != nil || !got.LastUsed.Equal(want) {
		t.Errorf("last used %s, %v, want %s", got.LastUsed, err, want)
	}
}

// Whoever uses a key gets it, whether its last use can be written or not.
func TestLastUseLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	s := open(t, store.Config{Path: path})
	_, secret := newKey(t, s, snip.NewKey{Scopes: []snip.Scope{snip.ScopeRead}})
	release := lock(t, path, `BEGIN IMMEDIATE`)
	defer release()
	if _, err := s.CheckKey(t.Context(), secret); err != nil {
		t.Errorf("CheckKey while nothing can be written: %v", err)
	}
}
