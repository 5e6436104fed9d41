package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/spool"
	"snip/visitor"
	"snip/web"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"

// openShipper has the salts of the day on which everything here happens.
func openShipper(t testing.TB, metrics prometheus.Registerer) *web.Shipper {
	t.Helper()
	visitors, err := visitor.New(visitor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.NewShipper(web.ShipperConfig{Visitors: visitors, Salts: salts, Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func salts(context.Context) (map[int64][]byte, error) {
	today := snip.Day(noon)
	return map[int64][]byte{today: []byte("today's salt"), today + 1: []byte("tomorrow's salt")}, nil
}

var noon = time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC)

func decodeClick(t *testing.T, m queue.Message) snip.Click {
	t.Helper()
	clicks, err := event.NewClicks()
	if err != nil {
		t.Fatal(err)
	}
	c, err := clicks.Decode(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShipperTellsCampaigns(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc"})
	shipper := openShipper(t, nil)
	long := strings.Repeat("ü", 100)
	for name, test := range map[string]struct{ query, campaign string }{
		"no query":           {"", ""},
		"no campaign":        {"a=b&utm_source=x", ""},
		"another name":       {"xutm_campaign=a&utm_campaigns=b&UTM_CAMPAIGN=c", ""},
		"first":              {"utm_campaign=spring&a=b", "spring"},
		"last":               {"a=b&utm_campaign=spring", "spring"},
		"twice":              {"utm_campaign=spring&utm_campaign=autumn", "spring"},
		"empty":              {"utm_campaign=", ""},
		"plus":               {"utm_campaign=spring+sale", "spring sale"},
		"encoded":            {"utm_campaign=fr%C3%BChling%26%3d", "frühling&="},
		"equals sign":        {"utm_campaign=a=b", "a=b"},
		"broken escape":      {"utm_campaign=100%", "100%"},
		"broken pair before": {"%zz=%&&=&utm_campaign=spring", "spring"},
		"semicolon":          {"utm_campaign=a;b", "a;b"},
		"NUL":                {"utm_campaign=a%00b", "ab"},
		"not UTF-8":          {"utm_campaign=a%ff%feb", "a\uFFFD\uFFFDb"},
		"100 characters":     {"utm_campaign=" + long, long},
		"101 characters":     {"utm_campaign=" + long + "x", long},
		"cut by the note":    {"utm_campaign=" + strings.Repeat("%C3%BC", 500), strings.Repeat("ü", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, "/abc")
			r.URL.RawQuery = test.query
			r.Header.Set("User-Agent", firefox)
			s.web.Handler().ServeHTTP(discard{}, r)
			all := s.notes.all()
			m := shipper.Message(spool.Record{At: noon, Payload: []byte(all[len(all)-1])})
			if m.Type != event.ClickType || !m.Time.Equal(noon) {
				t.Errorf("message of type %q, time %v", m.Type, m.Time)
			}
			got := decodeClick(t, m)
			if got.Link != l.ID || !got.At.Equal(noon) || got.Class != snip.Human || got.Browser != "Firefox" || got.Campaign != test.campaign {
				t.Errorf("click = %+v, want link %d at %v by a human with Firefox, campaign %q", got, l.ID, noon, test.campaign)
			}
			// What tells who it was stays behind.
			for _, secret := range []string{"192.0.2.1", "Mozilla"} {
				if strings.Contains(string(m.Body), secret) {
					t.Errorf("the event holds %q", secret)
				}
			}
		})
	}
}

// TestShipperTellsAliasAndArm, and of a note of the version before neither.
func TestShipperTellsAliasAndArm(t *testing.T) {
	shipper := openShipper(t, nil)
	for note, want := range map[string][2]string{
		"\x02\x06\x00\x00\x00\x00\x00\x00\x03old\x03r/a":   {"old", "r/a"},
		"\x02\x06\x00\x00\x00\x00\x00\x00\x00\x08fallback": {"", "fallback"},
		"\x01\x06\x00\x00\x00\x00\x00\x00":                 {},
	} {
		got := decodeClick(t, shipper.Message(spool.Record{At: noon, Payload: []byte(note)}))
		if got.Link != 3 || got.Alias != want[0] || got.Arm != want[1] {
			t.Errorf("click of %q = %+v, want alias and arm %q", note, got, want)
		}
	}
}

// TestUnreadableNote: it keeps its number, so that no other is skipped or doubled.
func TestUnreadableNote(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	shipper := openShipper(t, registry)
	for n, payload := range []string{"", "\x00", "\x01\x02"} {
		m := shipper.Message(spool.Record{Number: uint64(n), At: noon, Payload: []byte(payload)})
		if diff := cmp.Diff(queue.Message{Type: queue.TypeLost, Time: noon}, m); diff != "" {
			t.Errorf("%q: %s", payload, diff)
		}
	}
	if got := metric(t, registry, "snip_notes_unreadable_total"); got != 3 {
		t.Errorf("%v notes reported as unreadable, want 3", got)
	}
}

// TestVisitorsAreToldApart: by address and user agent, on one day, and not by
// anything that is in the event.
func TestVisitorsAreToldApart(t *testing.T) {
	s := openSite(t, web.Config{Proxies: proxies(t, "10.0.0.0/8")})
	s.create(snip.NewLink{Code: "abc"})
	shipper := openShipper(t, nil)
	click := func(at time.Time, remote, forwarded, agent string) uint64 {
		r := newRequest(t, "/abc")
		r.RemoteAddr = remote
		r.Header.Set("User-Agent", agent)
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		s.web.Handler().ServeHTTP(discard{}, r)
		all := s.notes.all()
		return decodeClick(t, shipper.Message(spool.Record{At: at, Payload: []byte(all[len(all)-1])})).Visitor
	}
	one := click(noon, "192.0.2.7:4000", "", firefox)
	if one == 0 {
		t.Fatal("a visitor with an address is not told apart")
	}
	for name, same := range map[string]uint64{
		"another connection":  click(noon, "192.0.2.7:4001", "", firefox),
		"later that day":      click(noon.Add(11*time.Hour), "192.0.2.7:4000", "", firefox),
		"behind a proxy":      click(noon, "10.0.0.1:80", "192.0.2.7", firefox),
		"with a forged entry": click(noon, "10.0.0.1:80", "8.8.8.8, 192.0.2.7", firefox),
	} {
		if same != one {
			t.Errorf("%s: another visitor", name)
		}
	}
	for name, other := range map[string]uint64{
		"another address": click(noon, "192.0.2.8:4000", "", firefox),
		"another browser": click(noon, "192.0.2.7:4000", "", firefox+"x"),
		"the next day":    click(noon.Add(12*time.Hour), "192.0.2.7:4000", "", firefox),
	} {
		if other == one || other == 0 {
			t.Errorf("%s: the same visitor, or nobody", name)
		}
	}
	if got := click(noon.Add(-48*time.Hour), "192.0.2.7:4000", "", firefox); got != 0 {
		t.Errorf("visitor %d of a day whose salt is erased, want nobody", got)
	}
}

// TestPrivacyIsRespected: whoever asks for it leaves nothing but a user agent.
func TestPrivacyIsRespected(t *testing.T) {
	for _, header := range []string{"DNT", "Sec-GPC"} {
		for respect, want := range map[bool]web.Note{
			true:  {UserAgent: firefox},
			false: {UserAgent: firefox, Address: "192.0.2.1", Referrer: "https://r.example/", Language: "de", Query: "a=b"},
		} {
			s := openSite(t, web.Config{RespectPrivacy: respect})
			l := s.create(snip.NewLink{Code: "abc"})
			r := newRequest(t, "/abc?a=b")
			r.Header.Set("User-Agent", firefox)
			r.Header.Set("Referer", "https://r.example/")
			r.Header.Set("Accept-Language", "de")
			r.Header.Set(header, "1")
			s.web.Handler().ServeHTTP(discard{}, r)
			got, err := web.DecodeNote([]byte(s.notes.all()[0]))
			want.Link = l.ID
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s, respected %v: %v\n%s", header, respect, err, diff)
			}
		}
	}
}

// TestSaltsAreRefreshed, and an outage of the store is waited out.
func TestSaltsAreRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visitors, err := visitor.New(visitor.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var asked, failing atomic.Int64
		shipper, err := web.NewShipper(web.ShipperConfig{Visitors: visitors, Salts: func(ctx context.Context) (map[int64][]byte, error) {
			asked.Add(1)
			if failing.Load() > 0 {
				return nil, errors.New("away")
			}
			return salts(ctx)
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- shipper.Run(ctx) }()
		time.Sleep(61 * time.Minute)
		if n := asked.Load(); n != 6 {
			t.Errorf("asked %d times in an hour, want 6", n)
		}
		failing.Store(1)
		time.Sleep(11 * time.Minute)
		if n := asked.Load(); n < 10 {
			t.Errorf("asked %d times while the store was away", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
}

// discard is an answer that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
