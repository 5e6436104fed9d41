package store_test

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"snip"
	"snip/store"
)

func TestSalts(t *testing.T) {
	now := time.Date(2026, 11, 29, 23, 59, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "snip.db")
	open := func() *store.Store {
		s, err := store.Open(t.Context(), store.Config{Path: path, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	salts := func(s *store.Store) map[int64][]byte {
		m, err := s.Salts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, b := open(), open()
	today := snip.Day(now)

	// Made a day ahead, the same for all who ask at once.
	var wg sync.WaitGroup
	got := make([]map[int64][]byte, 8)
	for i := range got {
		wg.Go(func() { got[i] = salts([]*store.Store{a, b}[i%2]) })
	}
	wg.Wait()
	for i, m := range got {
		if len(m) != 2 || len(m[today]) != 32 || !bytes.Equal(m[today], got[0][today]) || !bytes.Equal(m[today+1], got[0][today+1]) {
			t.Errorf("salts of the %dth who asked differ: %x, want %x", i, m, got[0])
		}
	}
	if bytes.Equal(got[0][today], got[0][today+1]) {
		t.Error("two days have one salt")
	}

	// The next day is ready, and yesterday's is still there for clicks that come late.
	now = now.Add(2 * time.Minute)
	next := salts(a)
	if !bytes.Equal(next[today+1], got[0][today+1]) || !bytes.Equal(next[today], got[0][today]) || len(next) != 3 {
		t.Errorf("salts of the next day = %x", next)
	}

	// Two days later it is erased, for good.
	now = now.Add(24 * time.Hour)
	if m := salts(b); m[today] != nil || len(m) != 3 {
		t.Errorf("salts two days later = %x, want three without that of day %d", m, today)
	}
	var n int
	if err := a.Read().QueryRow("SELECT COUNT(*) FROM salts WHERE day <= $1", today).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d old salts are kept, %v", n, err)
	}
}
