package store_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
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

// told returns the changes of links in the outbox, oldest first.
func told(t *testing.T, s *store.Store) (changes []event.LinkChange) {
	t.Helper()
	rows, err := s.Read().QueryContext(t.Context(), "SELECT message FROM outbox WHERE topic = 'links' ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var framed []byte
		if err := rows.Scan(&framed); err != nil {
			t.Fatal(err)
		}
		m, err := queue.DecodeFrames(framed, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m[0].Type == event.DomainType {
			continue
		}
		c, err := event.DecodeLinkChange(m[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		if m[0].Type != event.LinkType || m[0].Key != strconv.FormatInt(c.Link, 10) || !m[0].Time.Equal(noon.Truncate(time.Microsecond)) {
			t.Errorf("message %+v, want type %s, the link's key, and the time of the change", m[0], event.LinkType)
		}
		changes = append(changes, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestEveryChangeIsTold(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock, NewCode: func() string { return "made-up" }})
	edit := func(code string, e snip.LinkEdit) {
		t.Helper()
		if _, err := s.EditLink(t.Context(), at(code), e); err != nil {
			t.Fatal(err)
		}
	}
	a, b := create(t, s, snip.NewLink{Code: "a"}), create(t, s, snip.NewLink{})
	next, same, target, soon := "next", "next", "https://example.com/other", noon.Add(time.Hour)
	edit("a", snip.LinkEdit{Code: &next})
	edit("next", snip.LinkEdit{Code: &same})
	edit("next", snip.LinkEdit{Target: &target})
	edit("made-up", snip.LinkEdit{ExpiresAt: &soon})
	edit("made-up", snip.LinkEdit{}) // Changes nothing.
	if err := s.DeleteLink(t.Context(), at("next"), 0); err != nil {
		t.Fatal(err)
	}
	// None of these does anything.
	for _, err := range []error{
		third(s.CreateLink(t.Context(), snip.NewLink{Code: "made-up", Settings: leadsTo(target)})),
		third(s.CreateLink(t.Context(), snip.NewLink{Code: "bad", Settings: leadsTo("javascript:1")})),
		second(s.EditLink(t.Context(), at("none"), snip.LinkEdit{Target: &target})),
		s.DeleteLink(t.Context(), at("none"), 0),
	} {
		if err == nil {
			t.Error("a change that must fail did not")
		}
	}
	want := []event.LinkChange{
		{Link: a.ID, Change: event.Created, Codes: []string{"a"}},
		{Link: b.ID, Change: event.Created, Codes: []string{"made-up"}},
		{Link: a.ID, Change: event.Edited, Codes: []string{"next", "a"}},
		{Link: a.ID, Change: event.Edited, Codes: []string{"next"}},
		{Link: b.ID, Change: event.Edited, Codes: []string{"made-up"}},
		{Link: a.ID, Change: event.Deleted, Codes: []string{"next"}},
	}
	if diff := cmp.Diff(want, told(t, s)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func second(_ snip.Link, err error) error        { return err }
func third(_ snip.Link, _ bool, err error) error { return err }

func TestConflictingEditIsNotTold(t *testing.T) {
	s := open(t, store.Config{Now: fixedClock})
	create(t, s, snip.NewLink{Code: "a"})
	create(t, s, snip.NewLink{Code: "b"})
	taken := "b"
	_, err := s.EditLink(t.Context(), at("a"), snip.LinkEdit{Code: &taken})
	wantCode(t, err, snip.Conflict, "code")
	if got := told(t, s); len(got) != 2 {
		t.Errorf("told %v, want the two creations alone", got)
	}
}

// At the bound of the outbox a change is refused and nothing of it is kept; what is not
// a change of a link goes on.
func TestFullOutboxRefusesChanges(t *testing.T) {
	s := open(t, store.Config{OutboxRows: 6, Now: fixedClock})
	for i := range 3 {
		create(t, s, snip.NewLink{Code: fmt.Sprint("code-", i)})
	}
	title := "other"
	for what, err := range map[string]error{
		"create": third(s.CreateLink(t.Context(), snip.NewLink{Code: "one-more", Settings: leadsTo("https://example.com")})),
		"edit":   second(s.EditLink(t.Context(), at("code-0"), snip.LinkEdit{Title: &title})),
		"delete": s.DeleteLink(t.Context(), at("code-1"), 0),
	} {
		if snip.CodeOf(err) != snip.Unavailable {
			t.Errorf("%s with a full outbox: %v, want snip.Unavailable", what, err)
		}
	}
	page, err := s.ListLinks(t.Context(), snip.LinkQuery{Limit: 10})
	if err != nil || len(page.Links) != 3 {
		t.Fatalf("%d links, %v, want the 3 that were there", len(page.Links), err)
	}
	for _, l := range page.Links {
		if l.Title != "" {
			t.Errorf("%s has the title %q of an edit that was refused", l.Code, l.Title)
		}
	}
	if got := told(t, s); len(got) != 3 {
		t.Errorf("%d changes in the outbox, want 3", len(got))
	}
	count(t, s, someClicks(10, page.Links...)...)

	forwardChanges(t, s)
	eventuallyCreated(t, s, "one-more")
}

// forwardChanges runs the forwarders until the end of the test, and returns the engine
// they send to.
func forwardChanges(t *testing.T, s *store.Store) *sqlite.Engine {
	t.Helper()
	e, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	var tasks sync.WaitGroup
	for _, cfg := range []outbox.ForwarderConfig{
		{Outbox: s.Outbox(), Topic: store.LinksTopic()}, {Outbox: s.AuditOutbox(), Topic: store.AuditTopic()},
	} {
		cfg.Store, cfg.Engine = s, e
		f, err := outbox.NewForwarder(cfg)
		if err != nil {
			t.Fatal(err)
		}
		tasks.Go(func() { _ = f.Run(t.Context()) }) // Always nil.
	}
	t.Cleanup(tasks.Wait)
	return e
}

func eventuallyCreated(t *testing.T, s *store.Store, code string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); ; <-tick.C {
		_, _, err := s.CreateLink(t.Context(), snip.NewLink{Code: code, Settings: leadsTo("https://example.com")})
		if err == nil {
			return
		}
		if time.Now().After(limit) || snip.CodeOf(err) != snip.Unavailable {
			t.Fatalf("CreateLink after the outbox was emptied: %v", err)
		}
	}
}

// Changes of one link are told in the order in which they were made, also where several
// are made at once: the last one that is told is a state that stays.
func TestChangesOfALinkAreToldInOrder(t *testing.T) {
	s := open(t, store.Config{})
	l := create(t, s, snip.NewLink{Code: "link"})
	e := forwardChanges(t, s)
	const writers, edits = 4, 15
	var code atomic.Pointer[string] // Of the link, as far as any writer knows.
	code.Store(&l.Code)
	var tasks sync.WaitGroup
	for w := range writers {
		tasks.Go(func() {
			for i := 0; i < edits; {
				next := fmt.Sprintf("w%d-%d", w, i)
				if _, err := s.EditLink(t.Context(), at(*code.Load()), snip.LinkEdit{Code: &next}); err == nil {
					code.Store(&next)
					i++
				} else if snip.CodeOf(err) != snip.NotFound { // Somebody else was faster.
					t.Error(err)
					return
				}
			}
		})
	}
	tasks.Wait()
	before, n := "link", 0
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); n < 1+writers*edits; <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("%d changes were sent, want %d", n, 1+writers*edits)
		}
		before, n = "", 0
		entries, err := e.Read(t.Context(), event.Links, 0, queue.Position{}, 1000)
		if err != nil {
			continue // The topic is not there yet.
		}
		for _, entry := range entries {
			for _, m := range entry.Messages {
				c, err := event.DecodeLinkChange(m.Body)
				if err != nil {
					t.Fatal(err)
				}
				if n > 0 && (len(c.Codes) != 2 || c.Codes[1] != before) {
					t.Fatalf("change %d is %v, want one of the code %q", n, c.Codes, before)
				}
				before = c.Codes[0]
				n++
			}
		}
	}
	if _, err := s.Link(t.Context(), at(before)); err != nil {
		t.Errorf("the last code that was told: %v", err)
	}
}
