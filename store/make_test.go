package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"snip"
	"snip/store"
)

func TestReuse(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	domain(t, s, "go.example", true)
	settings := allSettings()
	first := create(t, s, snip.NewLink{Code: "First", Settings: settings})
	create(t, s, snip.NewLink{Settings: settings})
	ask := func(n snip.NewLink, want int64) {
		t.Helper()
		n.Reuse = true
		l, made, err := s.CreateLink(t.Context(), n)
		if err != nil || made != (want == 0) || want != 0 && l.ID != want {
			t.Errorf("CreateLink = link %d, made %v, %v; want link %d", l.ID, made, err, want)
		}
	}
	other := func(change func(*snip.Settings)) snip.NewLink {
		n := snip.NewLink{Settings: allSettings()}
		change(&n.Settings)
		return n
	}
	ask(snip.NewLink{Settings: settings}, first.ID)
	ask(snip.NewLink{Code: "First", Settings: settings}, first.ID)
	ask(other(func(s *snip.Settings) { s.Tags = []string{"a", "ü", "b <i>"} }), first.ID)
	ask(snip.NewLink{Code: "Second", Settings: settings}, 0)
	ask(snip.NewLink{Domain: "go.example", Code: "Third", Settings: settings}, 0)
	same(t, "the first", first, findLink(t, s, "First"))
	for _, change := range []func(*snip.Settings){
		func(s *snip.Settings) { s.Target += "x" }, func(s *snip.Settings) { s.Title = "" }, func(s *snip.Settings) { s.Note = "" },
		func(s *snip.Settings) { s.Tags = s.Tags[1:] }, func(s *snip.Settings) { s.StartsAt = time.Time{} },
		func(s *snip.Settings) { s.ExpiresAt = time.Time{} }, func(s *snip.Settings) { s.ClickLimit++ },
		func(s *snip.Settings) { s.Fallback = "" }, func(s *snip.Settings) { s.Status = 307 }, func(s *snip.Settings) { s.Query = snip.QueryAppend },
		func(s *snip.Settings) { s.ForwardPath = false }, func(s *snip.Settings) { s.Rules = s.Rules[1:] },
		func(s *snip.Settings) { s.Campaign.Term = "x" },
	} {
		ask(other(change), 0)
	}
	_, _, err := s.CreateLink(t.Context(), snip.NewLink{Code: "First", Reuse: true, Settings: leadsTo("https://other.example/")})
	wantCode(t, err, snip.Conflict, "code")

	// Some must not be used again.
	plain := snip.NewLink{Settings: leadsTo("https://example.com/plain")}
	create(t, s, snip.NewLink{Password: "x", Settings: plain.Settings})
	archived := create(t, s, snip.NewLink{Code: "archived", Settings: plain.Settings})
	yes := true
	if _, err := s.EditLink(t.Context(), at("archived"), snip.LinkEdit{Archived: &yes}); err != nil {
		t.Fatal(err)
	}
	ask(plain, 0)
	key := makeKey(t, s, snip.NewKey{Label: "own links", OwnLinks: true})
	plain.Reuse = true
	mine, made, err := s.As(key).CreateLink(t.Context(), plain)
	if err != nil || !made || mine.ID == archived.ID {
		t.Errorf("CreateLink = made %v, %v; want a link of its own for a key that sees no other", made, err)
	}
	limited := snip.NewLink{Settings: snip.Settings{Target: "https://example.com/limited", ClickLimit: 1, ExpiresAt: noon.Add(time.Hour)}}
	l := create(t, s, limited)
	ask(limited, l.ID)
	if taken, err := s.TakeClick(t.Context(), l.ID, 1); err != nil || !taken {
		t.Fatal(taken, err)
	}
	ask(limited, 0) // The first is used up.
}

func TestReuseAtOnce(t *testing.T) {
	s := open(t, store.Config{})
	ids := make(chan int64, 20)
	var wg sync.WaitGroup
	for range cap(ids) {
		wg.Go(func() {
			l, _, err := s.CreateLink(t.Context(), snip.NewLink{Reuse: true, Settings: leadsTo("https://example.com/")})
			if err != nil {
				t.Error(err)
			}
			ids <- l.ID
		})
	}
	wg.Wait()
	for range cap(ids) {
		if id := <-ids; id != 1 {
			t.Errorf("link %d, want the first one for all who ask at once", id)
		}
	}
}

func TestIdempotency(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	key := makeKey(t, s, snip.NewKey{Label: "a"})
	n := snip.NewLink{IdempotencyKey: "once", Password: "open sesame", Settings: snip.Settings{Target: "https://example.com/", ExpiresAt: noon.Add(time.Hour)}}
	first := create(t, s, n)
	now = noon.Add(2 * time.Hour) // It could not be made any more.
	title := "Edited"
	first, err := s.EditLink(t.Context(), at(first.Code), snip.LinkEdit{Title: &title})
	if err != nil {
		t.Fatal(err)
	}
	again, made, err := s.CreateLink(t.Context(), n)
	if err != nil || !made {
		t.Errorf("CreateLink = made %v, %v; want as it was answered first", made, err)
	}
	same(t, "the link", first, again)
	for _, change := range []func(*snip.NewLink){
		func(n *snip.NewLink) { n.Password = "open" }, func(n *snip.NewLink) { n.Code = "code" },
		func(n *snip.NewLink) { n.Target += "x" }, func(n *snip.NewLink) { n.Tags = []string{"a"} }, func(n *snip.NewLink) { n.Reuse = true },
	} {
		other := n
		change(&other)
		_, _, err := s.CreateLink(t.Context(), other)
		wantCode(t, err, snip.Reused, "Idempotency-Key")
	}
	mine := n
	mine.ExpiresAt = now.Add(time.Hour)
	l, made, err := s.As(key).CreateLink(t.Context(), mine)
	if err != nil || !made || l.ID == first.ID || l.Owner != key.ID {
		t.Errorf("CreateLink of another key = link %d of %d, made %v, %v; want a link of its own", l.ID, l.Owner, made, err)
	}
	var secrets int
	err = s.Read().QueryRowContext(t.Context(), `
		SELECT COUNT(*) FROM idempotency WHERE name LIKE '%once%' OR request LIKE '%open sesame%' OR LENGTH(name) <> 64 OR LENGTH(request) <> 64`).Scan(&secrets)
	if err != nil || secrets > 0 {
		t.Errorf("%d requests are kept as they came, %v", secrets, err)
	}

	if err := s.DeleteLink(t.Context(), at(first.Code), 0); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.CreateLink(t.Context(), n)
	wantCode(t, err, snip.Conflict, "Idempotency-Key")
	now = noon.Add(24 * time.Hour) // A day later it stands for nothing.
	n.ExpiresAt = time.Time{}
	if next := create(t, s, n); next.ID == first.ID {
		t.Error("a deleted link came back")
	}

	// A request that fails is not remembered.
	bad := snip.NewLink{IdempotencyKey: "bad", Code: "taken", Settings: leadsTo("https://example.com/")}
	create(t, s, snip.NewLink{Code: "taken"})
	_, _, err = s.CreateLink(t.Context(), bad)
	wantCode(t, err, snip.Conflict, "code")
	if err := s.DeleteLink(t.Context(), at("taken"), 0); err != nil {
		t.Fatal(err)
	}
	create(t, s, bad)
}

func TestIdempotencyAtOnce(t *testing.T) {
	path := t.TempDir() + "/snip.db"
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	ids := make(chan int64, 20)
	var wg sync.WaitGroup
	for i := range cap(ids) {
		wg.Go(func() {
			l, made, err := stores[i%2].CreateLink(t.Context(), snip.NewLink{IdempotencyKey: "once", Settings: leadsTo("https://example.com/")})
			if err != nil || !made {
				t.Errorf("CreateLink = made %v, %v", made, err)
			}
			ids <- l.ID
		})
	}
	wg.Wait()
	first := <-ids
	for range cap(ids) - 1 {
		if id := <-ids; id != first {
			t.Errorf("link %d, want %d as all others", id, first)
		}
	}
	if n := len(list(t, stores[0], snip.LinkQuery{Limit: 100})); n != 1 {
		t.Errorf("%d links, want 1", n)
	}
}

// TestRequestsAreForgotten: what is remembered of requests does not pile up.
func TestRequestsAreForgotten(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		var rows []string
		for i := range 100 {
			rows = append(rows, fmt.Sprintf("(0, 'old-%d', '', 1, 0)", i))
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO idempotency (owner, name, request, link_id, created_at) VALUES `+strings.Join(rows, ", "))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		create(t, s, snip.NewLink{IdempotencyKey: fmt.Sprint("new-", i)})
	}
	var n int
	if err := s.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM idempotency`).Scan(&n); err != nil || n != 12 {
		t.Errorf("%d requests are remembered, %v, want the 12 new ones", n, err)
	}
}
