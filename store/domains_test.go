package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/store"
)

func newDomain(t testing.TB, s *store.Store, n snip.NewDomain) snip.Domain {
	t.Helper()
	d, err := s.CreateDomain(t.Context(), n)
	if err != nil {
		t.Fatalf("CreateDomain(%+v): %v", n, err)
	}
	return d
}

func TestDomains(t *testing.T) {
	now := noon
	s := open(t, store.Config{Now: func() time.Time { return now }})
	at := noon.UTC().Truncate(time.Microsecond)
	got := newDomain(t, s, snip.NewDomain{
		Host: "Tübingen.example.", IgnoreCase: true, Root: "https://example.com/", NotFound: "https://example.com/404", NotFoundText: "Nothing\nhere.",
	})
	want := snip.Domain{
		ID: got.ID, Host: "xn--tbingen-n2a.example", IgnoreCase: true, Root: "https://example.com/", NotFound: "https://example.com/404",
		NotFoundText: "Nothing\nhere.", Version: 1, CreatedAt: at, UpdatedAt: at,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.ID == 0 {
		t.Errorf("CreateDomain: %s", diff)
	}
	newDomain(t, s, snip.NewDomain{Host: "a-b.example"})
	newDomain(t, s, snip.NewDomain{Host: "a.example"})

	now = noon.Add(time.Minute)
	want.IgnoreCase, want.Root, want.NotFound, want.NotFoundText = false, "", "https://example.org/", "x"
	want.Version, want.UpdatedAt = 2, at.Add(time.Minute)
	got, err := s.EditDomain(t.Context(), "TÜBINGEN.example", snip.DomainEdit{
		Version: 1, IgnoreCase: &want.IgnoreCase, Root: &want.Root, NotFound: &want.NotFound, NotFoundText: &want.NotFoundText,
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("EditDomain: %v\n%s", err, diff)
	}
	got, err = s.EditDomain(t.Context(), want.Host, snip.DomainEdit{Root: &want.Root}) // Changes nothing.
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("EditDomain of nothing: %v\n%s", err, diff)
	}
	got, err = s.Domain(t.Context(), "tübingen.example")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Domain: %v\n%s", err, diff)
	}
	if own, err := s.Domain(t.Context(), ""); err != nil || own.Host != "" || own.Version != 1 {
		t.Errorf("Domain of the instance's own = %+v, %v", own, err)
	}
	all, err := s.As(snip.Key{}).ListDomains(t.Context())
	var hosts []string
	for _, d := range all {
		hosts = append(hosts, d.Host)
	}
	if diff := cmp.Diff([]string{"", "a-b.example", "a.example", want.Host}, hosts); err != nil || diff != "" {
		t.Errorf("ListDomains: %v\n%s", err, diff)
	}

	wantCode(t, s.DeleteDomain(t.Context(), want.Host, 1), snip.Changed, "")
	if err := s.DeleteDomain(t.Context(), want.Host, 2); err != nil {
		t.Errorf("DeleteDomain: %v", err)
	}
	_, err = s.Domain(t.Context(), want.Host)
	wantCode(t, err, snip.NotFound, "")
	wantCode(t, s.DeleteDomain(t.Context(), want.Host, 0), snip.NotFound, "")
	wantCode(t, s.DeleteDomain(t.Context(), "", 0), snip.Conflict, "")
}

func TestDomainsRefuse(t *testing.T) {
	s := open(t, store.Config{Rules: snip.Rules{Own: []string{"sni.example", "localhost:8080"}}})
	newDomain(t, s, snip.NewDomain{Host: "go.example"})
	for host, code := range map[string]snip.Code{
		"": snip.Invalid, "http://x.example": snip.Invalid, "x.example:80": snip.Invalid, "x y": snip.Invalid,
		"sni.example": snip.Conflict, "LOCALHOST": snip.Conflict, "Go.Example": snip.Conflict,
	} {
		_, err := s.CreateDomain(t.Context(), snip.NewDomain{Host: host})
		wantCode(t, err, code, "host")
	}
	bad, itself := "javascript:1", "https://go.example/start"
	long := strings.Repeat("x", snip.MaxNote+1)
	for field, e := range map[string]snip.DomainEdit{
		"root_url": {Root: &bad}, "not_found_url": {NotFound: &itself}, "not_found_text": {NotFoundText: &long},
	} {
		_, err := s.EditDomain(t.Context(), "go.example", e)
		wantCode(t, err, snip.Invalid, field)
	}
	text := "text"
	_, err := s.EditDomain(t.Context(), "go.example", snip.DomainEdit{Version: 7, NotFoundText: &text})
	wantCode(t, err, snip.Changed, "")
	_, err = s.EditDomain(t.Context(), "none.example", snip.DomainEdit{NotFoundText: &text})
	wantCode(t, err, snip.NotFound, "")
	if d, err := s.Domain(t.Context(), "go.example"); err != nil || d.Version != 1 {
		t.Errorf("Domain() = %+v, %v, want it as it was", d, err)
	}
}

func TestDomainWithLinksStays(t *testing.T) {
	s := open(t, store.Config{})
	newDomain(t, s, snip.NewDomain{Host: "go.example"})
	for i := range 3 {
		create(t, s, snip.NewLink{Domain: "go.example", Code: fmt.Sprint("code-", i)})
	}
	err := s.DeleteDomain(t.Context(), "go.example", 0)
	wantCode(t, err, snip.Conflict, "")
	if err == nil || !strings.Contains(err.Error(), "3") {
		t.Errorf("DeleteDomain() = %v, want an error that says how many links", err)
	}
}

// A domain that goes away while links are made on it has none afterwards.
func TestDomainDeletedWhileLinksAreMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snip.db")
	stores := []*store.Store{open(t, store.Config{Path: path}), open(t, store.Config{Path: path})}
	for i := range 10 {
		host := fmt.Sprintf("go%d.example", i)
		newDomain(t, stores[0], snip.NewDomain{Host: host})
		var made, deleted atomic.Bool
		var tasks sync.WaitGroup
		tasks.Go(func() {
			_, _, err := stores[0].CreateLink(t.Context(), snip.NewLink{Domain: host, Settings: snip.Settings{Target: "https://example.com/"}})
			made.Store(err == nil)
		})
		tasks.Go(func() { deleted.Store(stores[1].DeleteDomain(t.Context(), host, 0) == nil) })
		tasks.Wait()
		if made.Load() == deleted.Load() {
			t.Errorf("%s: the link was made: %v, and the domain deleted: %v; want one of the two", host, made.Load(), deleted.Load())
		}
	}
}

func TestIgnoreCase(t *testing.T) {
	s := open(t, store.Config{})
	newDomain(t, s, snip.NewDomain{Host: "go.example"})
	on := func(domain, code string) snip.Link {
		return create(t, s, snip.NewLink{Domain: domain, Code: code})
	}
	first, second := on("go.example", "INFO"), on("go.example", "info")
	on("", "INFO")
	on("", "info")
	ignore, heed := true, false
	_, err := s.EditDomain(t.Context(), "go.example", snip.DomainEdit{IgnoreCase: &ignore})
	wantCode(t, err, snip.Conflict, "ignore_case")
	if err == nil || !strings.Contains(err.Error(), `"INFO"`) || !strings.Contains(err.Error(), `"info"`) {
		t.Errorf("EditDomain() = %v, want an error that names both codes", err)
	}
	code := "Other"
	edit := snip.LinkEdit{Code: &code, KeepCode: true}
	if _, err := s.EditLink(t.Context(), snip.Ref{Domain: "go.example", Code: "info"}, edit); err != nil {
		t.Fatal(err)
	}
	_, err = s.EditDomain(t.Context(), "go.example", snip.DomainEdit{IgnoreCase: &ignore})
	wantCode(t, err, snip.Conflict, "ignore_case") // An alias is a code, too.
	edit = snip.LinkEdit{Aliases: &[]string{}}
	if _, err := s.EditLink(t.Context(), snip.Ref{Domain: "go.example", Code: "Other"}, edit); err != nil {
		t.Fatal(err)
	}
	if _, err := s.EditDomain(t.Context(), "go.example", snip.DomainEdit{IgnoreCase: &ignore}); err != nil {
		t.Fatalf("EditDomain: %v", err)
	}
	found := func(code string, want int64) {
		t.Helper()
		l, err := s.Link(t.Context(), snip.Ref{Domain: "go.example", Code: code})
		if want == 0 && snip.CodeOf(err) == snip.NotFound {
			return
		}
		if err != nil || l.ID != want {
			t.Errorf("Link(%q) = link %d, %v, want %d", code, l.ID, err, want)
		}
	}
	found("info", first.ID)
	found("Info", first.ID)
	found("oTHER", second.ID)
	if _, err := s.EditDomain(t.Context(), "go.example", snip.DomainEdit{IgnoreCase: &heed}); err != nil {
		t.Fatalf("EditDomain: %v", err)
	}
	found("INFO", first.ID)
	found("info", 0)
	found("other", 0)
}

func TestChangesOfDomainsAreTold(t *testing.T) {
	s := open(t, store.Config{})
	newDomain(t, s, snip.NewDomain{Host: "go.example"})
	text := "text"
	for range 2 { // The second changes nothing.
		if _, err := s.EditDomain(t.Context(), "", snip.DomainEdit{NotFoundText: &text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteDomain(t.Context(), "go.example", 0); err != nil {
		t.Fatal(err)
	}
	want := []event.DomainChange{
		{Host: "go.example", Change: event.Created}, {Change: event.Edited}, {Host: "go.example", Change: event.Deleted},
	}
	var got []event.DomainChange
	for _, m := range inOutbox(t, s, event.Links) {
		c, err := event.DecodeDomainChange(m.Body)
		if err != nil || m.Type != event.DomainType {
			t.Fatalf("message %+v: %v", m, err)
		}
		got = append(got, c)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// inOutbox returns the messages that wait for a topic, oldest first.
func inOutbox(t testing.TB, s *store.Store, topic string) (messages []queue.Message) {
	t.Helper()
	rows, err := s.Read().QueryContext(t.Context(), "SELECT message FROM outbox WHERE topic = $1 ORDER BY id", topic)
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
		messages = append(messages, m[0])
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return messages
}

func TestMaxDomains(t *testing.T) {
	s := open(t, store.Config{})
	fill(t, s, `
		WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO domains (host, created_at, updated_at) SELECT 'host-' || CAST(i AS TEXT) || '.example', 0, 0 FROM n`, snip.MaxDomains-1)
	newDomain(t, s, snip.NewDomain{Host: "last.example"})
	_, err := s.CreateDomain(t.Context(), snip.NewDomain{Host: "more.example"})
	wantCode(t, err, snip.Conflict, "")
}

// Whether case matters is changed in one transaction, so there is a bound to it.
func TestIgnoreCaseOfTooManyLinks(t *testing.T) {
	s := open(t, store.Config{})
	newDomain(t, s, snip.NewDomain{Host: "go.example"})
	const most = 100_000
	fill(t, s, `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO links (domain, code, url, title, created_at, updated_at)
		SELECT 'go.example', 'Code-' || CAST(i AS TEXT), 'https://example.com/', '', 0, 0 FROM n`, most)
	ignore := true
	if _, err := s.EditDomain(t.Context(), "go.example", snip.DomainEdit{IgnoreCase: &ignore}); err != nil {
		t.Fatalf("EditDomain with %d links: %v", most, err)
	}
	create(t, s, snip.NewLink{Domain: "go.example", Code: "one-more"})
	ignore = false
	_, err := s.EditDomain(t.Context(), "go.example", snip.DomainEdit{IgnoreCase: &ignore})
	wantCode(t, err, snip.Conflict, "ignore_case")
}

// fill makes more rows than a test has time to ask for one by one.
func fill(t *testing.T, s *store.Store, statement string, rows int) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
