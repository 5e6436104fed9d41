package web_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snip/event"
	"snip/queue"
	"snip/web"
)

// changed is a message of topic "links", made at a time.
func changed(t *testing.T, at time.Time, codes ...string) queue.Message {
	t.Helper()
	body, err := event.LinkChange{Link: 1, Change: event.Edited, Codes: codes}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return queue.Message{Type: event.LinkType, Time: at, Body: body}
}

// Whatever another process did to a code: it is asked for again at the next visit.
func TestChangesOfOthersAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		for _, code := range []string{"one", "two", "other"} {
			visit(t, w, "/"+code).wantRedirect(t, target(code))
		}
		o.answers(noCode)
		visit(t, w, "/none").want(t, http.StatusNotFound)
		w.LinkChanged(changed(t, time.Now(), "one", "two"))
		visit(t, w, "/one").want(t, http.StatusNotFound)
		visit(t, w, "/two").want(t, http.StatusNotFound)
		visit(t, w, "/other").wantRedirect(t, target("other")) // Nobody said that it changed.

		o.answers(everyCode)
		visit(t, w, "/none").want(t, http.StatusNotFound)
		w.LinkChanged(changed(t, time.Now(), "none"))
		visit(t, w, "/none").wantRedirect(t, target("none"))
		o.wantAsked(t, "other", 1)
	})
}

// What was seen goes on while the store is away, also if it was changed shortly before:
// a link's own creation is told of a moment after its first visitor came.
func TestChangedLinksGoOnWithTheStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		w.LinkChanged(changed(t, time.Now(), "abc"))
		o.answers(away)
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		o.answers(noCode)
		time.Sleep(time.Second)
		visit(t, w, "/abc").want(t, http.StatusNotFound)
	})
}

func TestOtherMessagesChangeNothing(t *testing.T) {
	w, o := openOracle(t, web.Config{})
	visit(t, w, "/abc").wantRedirect(t, target("abc"))
	w.LinkChanged(queue.Message{Type: "snip.other", Body: []byte("abc")})
	visit(t, w, "/abc").wantRedirect(t, target("abc"))
	o.wantAsked(t, "abc", 1)
}

// A change that cannot be understood may be of any link.
func TestDoubtIsOfAllLinks(t *testing.T) {
	for name, doubt := range map[string]func(*web.Server){
		"missed": func(w *web.Server) { w.ForgetLinks() },
		"of a newer program": func(w *web.Server) {
			w.LinkChanged(queue.Message{Type: event.LinkType, Body: []byte(`{"version":2,"domains":["x"]}`)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := openOracle(t, web.Config{})
				for _, code := range []string{"one", "two"} {
					visit(t, w, "/"+code).wantRedirect(t, target(code))
				}
				o.answers(noCode)
				visit(t, w, "/none").want(t, http.StatusNotFound)
				doubt(w)
				o.answers(away)
				// What was seen goes on while the store is away, and what was unknown may be
				// there by now.
				visit(t, w, "/one").wantRedirect(t, target("one"))
				visit(t, w, "/none").want(t, http.StatusServiceUnavailable)
				o.answers(noCode)
				visit(t, w, "/two").want(t, http.StatusNotFound)
				time.Sleep(time.Second)
				visit(t, w, "/one").want(t, http.StatusNotFound)
				o.answers(everyCode)
				doubt(w)
				visit(t, w, "/none").wantRedirect(t, target("none"))
			})
		})
	}
}

// An answer that was under way when changes were missed is not kept.
func TestDoubtIsOfAnswersUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		finish := visitMany(t, w, o, 1, "abc")
		w.ForgetLinks()
		o.answers(noCode)
		finish()
		visit(t, w, "/abc").want(t, http.StatusNotFound)
	})
}

// An answer that was under way when its link was changed is asked for again; but while
// the store is away, it is better than none.
func TestAnswersUnderWayGoOnWithTheStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := openOracle(t, web.Config{})
		finish := visitMany(t, w, o, 1, "abc")
		w.LinkChanged(changed(t, time.Now(), "abc"))
		o.answers(away)
		finish()
		visit(t, w, "/abc").wantRedirect(t, target("abc"))
		o.answers(noCode)
		time.Sleep(time.Second)
		visit(t, w, "/abc").want(t, http.StatusNotFound)
	})
}

func TestChangesAreCountedByAge(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := openSite(t, web.Config{Metrics: registry, Now: func() time.Time { return now }})
	for _, age := range []time.Duration{0, 300 * time.Millisecond, 3 * time.Second, -time.Second} { // Clocks differ.
		s.web.LinkChanged(changed(t, now.Add(-age), "abc"))
	}
	s.web.ForgetLinks()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range families {
		switch f.GetName() {
		case "snip_link_change_age_seconds":
			found++
			if h := f.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 4 || h.GetSampleSum() != 3.3 {
				t.Errorf("%d changes of %v s together, want 4 of 3.3 s", h.GetSampleCount(), h.GetSampleSum())
			}
		case "snip_cache_doubts_total":
			found++
			if n := f.GetMetric()[0].GetCounter().GetValue(); n != 1 {
				t.Errorf("%v doubts, want 1", n)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of the two metrics are there", found)
	}
}
