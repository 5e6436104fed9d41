package store_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"snip"
	"snip/store"
)

// L18: of all that come at once, through several stores, as many are let through as the
// limit says, and no other link's are taken.
func TestTakeClickAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	links := []snip.Link{create(t, stores[0], snip.NewLink{}), create(t, stores[0], snip.NewLink{})}
	const visitors = 60
	for i, limit := range []int64{1, 17} {
		l := links[i]
		var taken atomic.Int64
		var tasks sync.WaitGroup
		for i := range visitors {
			tasks.Go(func() {
				s := stores[i%len(stores)]
				if _, err := s.ClickLeft(t.Context(), l.ID, limit); err != nil {
					t.Errorf("ClickLeft: %v", err)
				}
				ok, err := s.TakeClick(t.Context(), l.ID, limit)
				if err != nil {
					t.Errorf("TakeClick: %v", err)
				}
				if ok {
					taken.Add(1)
				}
			})
		}
		tasks.Wait()
		if n := taken.Load(); n != limit {
			t.Errorf("%d of %d were let through, want %d", n, visitors, limit)
		}
		if left, err := stores[1].ClickLeft(t.Context(), l.ID, limit); err != nil || left {
			t.Errorf("ClickLeft() = %v, %v, want none left", left, err)
		}
		if ok, err := stores[1].TakeClick(t.Context(), l.ID, limit+1); err != nil || !ok {
			t.Errorf("TakeClick() = %v, %v, want one more of a larger limit", ok, err)
		}
	}
}

func TestClickLeftTakesNone(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{})
	for range 3 {
		if left, err := s.ClickLeft(t.Context(), l.ID, 1); err != nil || !left {
			t.Errorf("ClickLeft() = %v, %v, want one left", left, err)
		}
	}
	if ok, err := s.TakeClick(t.Context(), l.ID, 1); err != nil || !ok {
		t.Errorf("TakeClick() = %v, %v, want one", ok, err)
	}
}

// Whoever follows a link does not wait for those who count its clicks.
func TestTakeClickBesideCount(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{})
	counting := `SELECT id FROM links WHERE id = $1`
	if onPostgres() {
		counting += ` FOR UPDATE`
	}
	tx, err := s.Read().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), counting, l.ID); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.TakeClick(t.Context(), l.ID, 1); err != nil || !ok {
		t.Errorf("TakeClick() = %v, %v, want one", ok, err)
	}
}

func TestLimitOfDeletedLink(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "gone"})
	if ok, err := s.TakeClick(t.Context(), l.ID, 5); err != nil || !ok {
		t.Fatalf("TakeClick() = %v, %v, want one", ok, err)
	}
	if err := s.DeleteLink(t.Context(), snip.Ref{Code: "gone"}, 0); err != nil {
		t.Fatal(err)
	}
	// It may be in a cache for a while.
	if ok, err := s.TakeClick(t.Context(), l.ID, 5); err != nil || ok {
		t.Errorf("TakeClick() = %v, %v, want none of a link that is gone", ok, err)
	}
	var rows int
	if err := s.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM click_limits`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d limits are left, %v", rows, err)
	}
}

func TestTakeClickWhileClosed(t *testing.T) {
	s := open(t, store.Config{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.TakeClick(t.Context(), 1, 5)
	wantCode(t, err, snip.Unavailable, "")
	_, err = s.ClickLeft(t.Context(), 1, 5)
	wantCode(t, err, snip.Unavailable, "")
}
