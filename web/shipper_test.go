package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"snip"
	"snip/event"
	"snip/queue"
	"snip/queue/spool"
	"snip/web"
)

func TestClickMessage(t *testing.T) {
	s := openSite(t, web.Config{})
	l := s.create(snip.NewLink{Code: "abc"})
	clicks, err := event.NewClicks()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 29, 12, 0, 0, 123456000, time.UTC)
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
		"NUL":                {"utm_campaign=%00", "\x00"},
		"not UTF-8":          {"utm_campaign=a%ff%feb", "a\uFFFDb"},
		"100 characters":     {"utm_campaign=" + long, long},
		"101 characters":     {"utm_campaign=" + long + "x", long},
		"cut by the note":    {"utm_campaign=" + strings.Repeat("%C3%BC", 500), strings.Repeat("ü", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, "/abc")
			r.URL.RawQuery = test.query
			r.Header.Set("User-Agent", "Mozilla/5.0")
			s.web.Handler().ServeHTTP(discard{}, r)
			all := s.notes.all()
			m := s.web.ClickMessage(spool.Record{At: at, Payload: []byte(all[len(all)-1])})
			if m.Type != event.ClickType || !m.Time.Equal(at) {
				t.Errorf("message of type %q, time %v", m.Type, m.Time)
			}
			got, err := clicks.Decode(m.Body)
			if err != nil {
				t.Fatal(err)
			}
			want := snip.Click{Link: l.ID, At: at, Class: snip.Human, Campaign: test.campaign}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			// What tells who it was stays behind.
			for _, secret := range []string{r.RemoteAddr, "Mozilla"} {
				if strings.Contains(string(m.Body), secret) {
					t.Errorf("the event holds %q", secret)
				}
			}
		})
	}
}

// TestUnreadableNote: it keeps its number, so that no other is skipped or doubled.
func TestUnreadableNote(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := openSite(t, web.Config{Metrics: registry})
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for n, payload := range []string{"", "\x00", "\x01\x02"} {
		m := s.web.ClickMessage(spool.Record{Number: uint64(n), At: at, Payload: []byte(payload)})
		if diff := cmp.Diff(queue.Message{Type: queue.TypeLost, Time: at}, m); diff != "" {
			t.Errorf("%q: %s", payload, diff)
		}
	}
	if got := metric(t, registry, "snip_notes_unreadable_total"); got != 3 {
		t.Errorf("%v notes reported as unreadable, want 3", got)
	}
}

// discard is an answer that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
