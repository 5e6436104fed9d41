package test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"snip/internal/postgrestest"
)

// ask asks for statistics: of one link by its own address, else of a set.
func (s *instance) ask(q question) (v statsView) {
	s.t.Helper()
	query := url.Values{
		"from": {q.from}, "to": {q.to}, "zone": {q.zone.String()}, "step": {q.step}, "top": {strconv.Itoa(q.top)},
	}
	if q.domain != nil {
		query.Set("domain", *q.domain)
	}
	if q.tag != "" {
		query.Set("tag", q.tag)
	}
	path := "/api/v1/stats"
	if len(q.codes) == 1 {
		path = "/api/v1/links/" + q.codes[0] + "/stats"
	} else if len(q.codes) > 0 {
		query["code"] = q.codes
	}
	s.get(path, query, &v)
	return v
}

// mustAgree compares an answer with the sums.
func (s *instance) mustAgree(q question) {
	s.t.Helper()
	got := s.ask(q)
	wrong := compare(got, s.stats(q), q.top)
	if got.CountedUpTo == nil {
		wrong = append(wrong, "counted_up_to is unknown")
	}
	if len(wrong) > 0 {
		s.t.Errorf("%s: %d faults:\n%s", q, len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"))
	}
}

// popularView is which links are popular.
type popularView struct {
	rangeView
	tally
	Links []struct {
		Link linkView `json:"link"`
		tally
	} `json:"links"`
	More tally `json:"more"`
	freshnessView
}

// mustAgreeOnPopular compares the list of popular links with the sums.
func (s *instance) mustAgreeOnPopular(from, to string, zone *time.Location, limit int) {
	s.t.Helper()
	var got popularView
	s.get("/api/v1/stats/links", url.Values{
		"from": {from}, "to": {to}, "zone": {zone.String()}, "limit": {strconv.Itoa(limit)},
	}, &got)
	// A list of links is like one of a dimension's values.
	q := question{from: from, to: to, zone: zone, step: "month"}
	links := map[string]tally{}
	for code := range s.links {
		q.codes = []string{code}
		if sum := s.stats(q).tally; sum != (tally{}) {
			links[code] = sum
		}
	}
	var list dimensionView
	list.More = got.More
	for _, l := range got.Links {
		list.Top = append(list.Top, valueView{l.Link.Code, l.tally})
		if l.Link.ID != s.links[l.Link.Code] || l.Link.tally != s.link(l.Link.Code).tally {
			s.t.Errorf("a popular link is %+v, want as it is when asked for alone", l.Link)
		}
	}
	q.codes = nil
	total := s.stats(q).tally
	wrong := compareDimension(list, dimensionView{Top: sorted(links)}, limit)
	if got.tally != total || got.rangeView != (rangeView{from, to, zone.String()}) || got.Coarse != nil || got.Dropped != 0 {
		wrong = append(wrong, "total, range, coarse or dropped")
	}
	if len(wrong) > 0 {
		s.t.Errorf("%d popular links from %s to %s in %s: %+v is wrong: %q", limit, from, to, zone, got, wrong)
	}
}

// ranges on which something is special somewhere.
var deepRanges = []struct{ from, to, step string }{
	{"2025-01-01", "2026-12-31", "month"},
	{"2025-01-01", "2026-12-31", "week"},
	{"2025-12-25", "2026-01-05", "week"}, // Two years share a week.
	{"2026-01-15", "2026-11-10", "day"},
	{"2026-03-01", "2026-04-30", "hour"}, // Most clocks change in these,
	{"2026-10-20", "2026-11-05", "hour"}, // and in these.
	{"2026-03-29", "2026-03-29", "hour"},
	{"2026-06-10", "2026-06-10", "day"}, // A crowd came.
	{"2026-02-28", "2026-03-01", "month"},
}

// TestStatisticsAddUp compares every view of the API with sums that were made without
// the product, to the click.
func TestStatisticsAddUp(t *testing.T) {
	slow(t)
	s := newInstanceOn(t, "", inSets())
	s.fill()
	s.resume()
	t.Run("links", func(t *testing.T) {
		s.in(t).mustAgreeDeeply([]string{"hot"}, []string{"cold"}, []string{"never"})
	})
	t.Run("sets", func(t *testing.T) {
		s.in(t).mustAgreeDeeply([]string{"hot", "warm"}, []string{"never", "cold", "gone"}, []string{"cold", "never", "gone", "warm", "hot"})
	})
	t.Run("everything", func(t *testing.T) { s.in(t).mustAgreeDeeply(nil) })
	t.Run("tags and domains", func(t *testing.T) { s.in(t).mustAgreeOn(setQuestions()...) })
	t.Run("top", func(t *testing.T) { s.in(t).mustAgreeOnTops() })
	t.Run("every zone", func(t *testing.T) { s.in(t).mustAgreeInEveryZone() })
	t.Run("deleted", func(t *testing.T) { s.in(t).mustAgreeAfterDeletion() })
}

// TestStatisticsAddUpOnServer is the same on PostgreSQL, with fewer zones.
func TestStatisticsAddUpOnServer(t *testing.T) {
	slow(t)
	s := newInstanceOn(t, postgrestest.Start(t), inSets())
	s.fill()
	s.resume()
	s.mustAgreeDeeply([]string{"hot"}, []string{"never", "cold", "gone"}, nil)
	s.mustAgreeOn(setQuestions()...)
	s.mustAgreeOnPopular("2026-03-08", "2026-06-10", mustZone(t, "Asia/Kolkata"), 3)
}

// inSets are links of which some have tags, and one is on a domain of its own.
func inSets() map[string]placed {
	return map[string]placed{
		"hot": {tags: []string{"red", "blue"}}, "warm": {tags: []string{"red"}}, "cold": {},
		"gone": {tags: []string{"gone"}}, "never": {tags: []string{"blue"}}, "there": {domain: "go.example", tags: []string{"red"}},
	}
}

// setQuestions are about each set that the links of inSets make.
func setQuestions() (all []question) {
	own, other := "", "go.example"
	for _, domain := range []*string{nil, &own, &other} {
		for _, tag := range []string{"", "red", "blue", "gone", "nobody has it"} {
			all = append(all, question{domain: domain, tag: tag})
		}
	}
	return all
}

// mustAgreeOn asks questions of ranges in which something is special somewhere.
func (s *instance) mustAgreeOn(questions ...question) {
	s.t.Helper()
	for i, q := range questions {
		for j, r := range deepRanges {
			q.from, q.to, q.step, q.top = r.from, r.to, r.step, 1000
			q.zone = mustZone(s.t, deepZones[(i+j)%len(deepZones)])
			s.mustAgree(q)
		}
	}
}

// fill makes clicks of all links but the one that nobody follows, and some of a link
// that is not there.
func (s *instance) fill() {
	s.t.Helper()
	g := newGenerator(s.rnd, everyZone(s.t), []int64{
		s.links["hot"], s.links["warm"], s.links["gone"], 1 << 40, s.links["there"], s.links["cold"],
	})
	clicks := append(g.clicks(15_000), g.crowd(crowdDay, s.links["hot"], s.links["warm"], 6000)...)
	s.feed(clicks, nil)
}

// in returns the instance for a test within the test.
func (s *instance) in(t *testing.T) *instance {
	in := *s
	in.t = t
	return &in
}

func (s *instance) mustAgreeDeeply(sets ...[]string) {
	s.t.Helper()
	for _, name := range deepZones {
		zone := mustZone(s.t, name)
		for _, r := range deepRanges {
			for _, codes := range sets {
				s.mustAgree(question{codes: codes, from: r.from, to: r.to, zone: zone, step: r.step, top: 1000})
			}
		}
	}
}

func (s *instance) mustAgreeOnTops() {
	s.t.Helper()
	zone := mustZone(s.t, "Asia/Kolkata")
	for _, top := range []int{0, 1, 3, 10, 200} {
		for _, codes := range [][]string{{"warm"}, {"hot", "cold"}, nil} {
			s.mustAgree(question{codes: codes, from: "2026-03-01", to: "2026-07-31", zone: zone, step: "week", top: top})
		}
	}
	for _, name := range deepZones {
		for _, limit := range []int{1, 3, 4, 1000} {
			s.mustAgreeOnPopular("2026-03-08", "2026-06-10", mustZone(s.t, name), limit)
			s.mustAgreeOnPopular("2026-10-25", "2026-10-25", mustZone(s.t, name), limit)
		}
	}
}

func (s *instance) mustAgreeInEveryZone() {
	s.t.Helper()
	for _, zone := range everyZone(s.t) {
		s.mustAgree(question{from: "2026-02-27", to: "2026-04-30", zone: zone, step: "day"})
		s.mustAgree(question{codes: []string{"hot", "gone"}, from: "2026-09-25", to: "2026-11-03", zone: zone, step: "day"})
		if s.t.Failed() {
			return // One zone tells as much as all of them.
		}
	}
}

// mustAgreeAfterDeletion: everything is what is left. Who came cannot be told apart by
// link, so visitors stay.
func (s *instance) mustAgreeAfterDeletion() {
	s.t.Helper()
	all := question{from: "2025-01-01", to: "2026-12-31", zone: time.UTC, step: "month", top: 1000}
	visitors := s.ask(all).Visitors
	if status, body := s.request(http.MethodDelete, "/api/v1/links/gone", nil); status != http.StatusNoContent {
		s.t.Fatalf("delete: status %d: %s", status, body)
	}
	left := *s
	left.links = maps.Clone(s.links)
	delete(left.links, "gone")
	if status, body := s.request(http.MethodGet, "/api/v1/links/gone/stats", nil); status != http.StatusNotFound {
		s.t.Errorf("statistics of a link that was deleted: status %d: %s", status, body)
	}
	if got := s.ask(all).Visitors; !slices.Equal(got, visitors) {
		s.t.Errorf("visitors of %d days changed when a link was deleted, want none to", len(got))
	}
	for _, r := range deepRanges {
		for _, name := range deepZones {
			q := question{from: r.from, to: r.to, zone: mustZone(s.t, name), step: r.step, top: 1000}
			got, want := left.ask(q), left.stats(q)
			want.Visitors = got.Visitors
			if wrong := compare(got, want, q.top); len(wrong) > 0 {
				s.t.Errorf("%s: %d faults:\n%s", q, len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"))
			}
		}
	}
	for _, limit := range []int{2, 1000} {
		left.mustAgreeOnPopular("2025-01-01", "2026-12-31", time.UTC, limit)
	}
	left.mustAgree(question{codes: []string{"hot", "warm", "cold", "never"}, from: "2026-01-01", to: "2026-12-31", zone: time.UTC, step: "day", top: 1000})
}
