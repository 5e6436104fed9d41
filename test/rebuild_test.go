package test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"testing"
	"time"

	domain "snip"
)

// TestRebuildGivesTheSame counts everything anew while somebody looks all the time: the
// figures are the same before, meanwhile and afterwards, and go on from there.
func TestRebuildGivesTheSame(t *testing.T) {
	slow(t)
	s := newInstance(t, "hot", "warm", "cold", "gone", "never")
	g := newGenerator(s.rnd, everyZone(t), []int64{s.links["hot"], s.links["warm"], s.links["gone"], 1 << 40, s.links["cold"]})
	clicks := append(g.clicks(15_000), g.crowd(crowdDay, s.links["hot"], s.links["warm"], 3000)...)
	s.feed(clicks, keptByTopic)
	s.resume()
	before := s.everyView()
	s.rebuild()
	for name, view := range s.everyView() {
		if view != before[name] {
			t.Errorf("%s is another after the rebuild:\n%.2000s\nbefore:\n%.2000s", name, view, before[name])
		}
	}

	// What was deleted does not come back, though its clicks are counted anew; and now
	// nobody remembers who followed it.
	if status, body := s.request(http.MethodDelete, "/api/v1/links/gone", nil); status != http.StatusNoContent {
		t.Fatalf("delete: status %d: %s", status, body)
	}
	s.links = maps.Clone(s.links)
	delete(s.links, "gone")
	s.rebuild()
	s.mustAgreeDeeply(nil, []string{"warm", "cold"})
	s.web.stop()

	s.feed(g.clicks(2000), keptByTopic)
	s.resume()
	s.mustAgreeDeeply([]string{"hot"}, nil)
}

// keptByTopic: a topic forgets what happened days ago, and then it cannot be counted
// anew.
func keptByTopic(domain.Click) time.Time { return time.Now() }

// rebuild runs the command, and asks for everything, and for a link, until it has ended.
func (s *instance) rebuild() {
	t := s.t
	t.Helper()
	cmd := exec.CommandContext(t.Context(), snip, "rebuild")
	cmd.Env = environ(s.dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	all := question{from: "2025-01-01", to: "2026-12-31", zone: time.UTC, step: "month", top: 1000}
	hot := all
	hot.codes = []string{"hot"}
	wantAll, wantHot := s.stats(all), s.stats(hot)
	for asked := 0; ; asked++ {
		select {
		case err := <-ended:
			t.Logf("asked %d times while it ran: %s", asked, out.String())
			if err != nil || asked == 0 {
				t.Fatalf("snip rebuild, during which everything was asked for %d times: %v\n%s", asked, err, out.String())
			}
			return
		default:
		}
		gotAll, gotHot := s.ask(all), s.ask(hot)
		// Those who only followed a link that was deleted go at the moment of the switch.
		wantAll.Visitors = gotAll.Visitors
		for _, wrong := range append(compare(gotAll, wantAll, 1000), compare(gotHot, wantHot, 1000)...) {
			t.Errorf("during the rebuild: %s", wrong)
		}
		s.mustHaveCounted("hot")
		if t.Failed() {
			t.FailNow()
		}
	}
}

// everyView returns answers of every kind, by what was asked. How fresh they are is
// left out.
func (s *instance) everyView() map[string]string {
	s.t.Helper()
	views := map[string]string{}
	keep := func(path string, query url.Values) {
		var answer map[string]any
		s.get(path, query, &answer)
		delete(answer, "counted_up_to")
		text, err := json.Marshal(answer)
		if err != nil {
			s.t.Fatal(err)
		}
		views[path+"?"+query.Encode()] = string(text)
	}
	for _, r := range deepRanges {
		for _, zone := range deepZones {
			query := url.Values{"from": {r.from}, "to": {r.to}, "zone": {zone}}
			keep("/api/v1/stats/links", query)
			query["step"], query["top"] = []string{r.step}, []string{"1000"}
			keep("/api/v1/stats", query)
			keep("/api/v1/links/warm/stats", query)
		}
	}
	for code := range s.links {
		keep("/api/v1/links/"+code, nil)
	}
	return views
}
