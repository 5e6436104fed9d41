package store_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/store"
)

func TestAdminKeys(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	secret, err := s.CreateAdminKey(t.Context(), "laptop")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^snip_[A-Z2-7]{52}$`).MatchString(secret) {
		t.Errorf("secret of an unexpected form, %d bytes", len(secret))
	}
	got, err := s.CheckKey(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	want := snip.Key{ID: 1, Label: "laptop", Admin: true, CreatedAt: noon.UTC().Truncate(time.Microsecond)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other, err := s.CreateAdminKey(t.Context(), "laptop")
	if err != nil || other == secret {
		t.Errorf("the second key is the first one, or %v", err)
	}
	if k, err := s.CheckKey(t.Context(), other); err != nil || k.ID == got.ID {
		t.Errorf("CheckKey = %+v, %v, want another key", k, err)
	}
	for _, wrong := range []string{"", "snip_", secret[:len(secret)-1], secret + "A", strings.ToLower(secret), "x"} {
		_, err := s.CheckKey(t.Context(), wrong)
		wantCode(t, err, snip.Forbidden, "")
	}
	_, err = s.CreateAdminKey(t.Context(), "two\nlines")
	wantCode(t, err, snip.Invalid, "label")
}

func TestSecretsAreNotInTheFile(t *testing.T) {
	s := open(t, store.Config{})
	secret, err := s.CreateAdminKey(t.Context(), "")
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
	wantCode(t, err, snip.Forbidden, "")
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
				if _, err := stores[(i+1)%2].CheckKey(t.Context(), secret); err != nil {
					t.Errorf("CheckKey: %v", err)
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
	if _, err := s.CreateAdminKey(t.Context(), "by hand"); err != nil {
		t.Fatal(err)
	}
	if _, made, err := s.FirstAdminKey(t.Context()); err != nil || made {
		t.Errorf("FirstAdminKey made %v, %v, want none", made, err)
	}
}
