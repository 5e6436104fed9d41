package test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	domain "snip"
)

// What the API answers, as its users read it.
type (
	tally struct {
		Clicks      int64 `json:"clicks"`
		HumanClicks int64 `json:"human_clicks"`
	}
	statsView struct {
		Domain *string  `json:"domain"`
		Codes  []string `json:"codes"`
		Tag    string   `json:"tag"`
		rangeView
		Step string `json:"step"`
		tally
		Series        []pointView              `json:"series"`
		Dimensions    map[string]dimensionView `json:"dimensions"`
		Before        periodView               `json:"before"`
		Visitors      []visitorsView           `json:"visitors"`
		VisitorsError float64                  `json:"visitors_error"`
		freshnessView
	}
	rangeView struct {
		From string `json:"from"`
		To   string `json:"to"`
		Zone string `json:"zone"`
	}
	pointView struct {
		Start string `json:"start"`
		tally
	}
	dimensionView struct {
		Top   []valueView `json:"top"`
		More  tally       `json:"more"`
		Other tally       `json:"other"`
	}
	valueView struct {
		Value string `json:"value"`
		tally
	}
	periodView struct {
		From string `json:"from"`
		To   string `json:"to"`
		tally
	}
	visitorsView struct {
		Day      string `json:"day"`
		Visitors int64  `json:"visitors"`
	}
	freshnessView struct {
		Coarse      *string `json:"coarse"`
		CountedUpTo *string `json:"counted_up_to"`
		Dropped     int64   `json:"dropped"`
	}
)

func (t *tally) add(c *domain.Click) {
	t.Clicks++
	if c.Class == domain.Human {
		t.HumanClicks++
	}
}

func (t *tally) addAll(o tally) {
	t.Clicks += o.Clicks
	t.HumanClicks += o.HumanClicks
}

// question is what is asked of the API.
type question struct {
	codes    []string // None: everything that fits.
	domain   *string  // Nil: for codes where they are, else any.
	tag      string
	from, to string
	zone     *time.Location
	step     string
	top      int
}

func (q question) String() string {
	of := fmt.Sprint(q.codes)
	if q.domain != nil {
		of += " on " + *q.domain
	}
	if q.tag != "" {
		of += " with tag " + q.tag
	}
	return fmt.Sprintf("%s from %s to %s in %s by %s", of, q.from, q.to, q.zone, q.step)
}

// sums knows every click, and adds up those that a question is about from scratch. It
// shares nothing with how the product does it: what a click belongs to is what a clock
// on the wall shows, written out.
type sums struct {
	links  map[string]int64  // ID by code: no two are the same here. Clicks of other links belong to nothing.
	places map[string]placed // Of links that have more than a code.
	clicks []domain.Click
}

// placed says of a link what sets it is in.
type placed struct {
	domain string
	tags   []string
}

// codes returns the links that a question is about.
func (s sums) codes(q question) (codes []string) {
	if len(q.codes) > 0 {
		return q.codes
	}
	for code := range s.links {
		at := s.places[code]
		if (q.domain == nil || *q.domain == at.domain) && (q.tag == "" || slices.Contains(at.tags, q.tag)) {
			codes = append(codes, code)
		}
	}
	return codes
}

// of goes through the clicks of links. Those that lie days away from a range may be left
// out.
func (s sums) of(codes []string, from, to string) iter.Seq[*domain.Click] {
	wanted := map[int64]bool{}
	for _, code := range codes {
		wanted[s.links[code]] = true
	}
	first, last := mustDay(from).AddDate(0, 0, -2), mustDay(to).AddDate(0, 0, 3)
	return func(yield func(*domain.Click) bool) {
		for i := range s.clicks {
			c := &s.clicks[i]
			if wanted[c.Link] && !c.At.Before(first) && c.At.Before(last) && !yield(c) {
				return
			}
		}
	}
}

// stats answers a question. Unlike the API, it names every value there is.
func (s sums) stats(q question) statsView {
	v := statsView{
		Domain: q.domain, Tag: q.tag,
		Codes: append([]string{}, q.codes...), rangeView: rangeView{q.from, q.to, q.zone.String()}, Step: q.step,
		Dimensions: map[string]dimensionView{}, VisitorsError: 0.02,
	}
	if len(q.codes) == 1 && q.domain == nil {
		v.Domain = new(string) // One link is asked for where it is.
	}
	v.Before.From, v.Before.To = before(q.from, q.to)
	clicks := s.of(s.codes(q), v.Before.From, q.to)
	steps := walk(q)
	series := map[string]*tally{}
	var values [domain.NumDimensions]map[string]tally
	for d := range values {
		values[d] = map[string]tally{}
	}
	for c := range clicks {
		at := c.At.In(q.zone)
		day := at.Format(time.DateOnly)
		if v.Before.From <= day && day <= v.Before.To {
			v.Before.add(c)
		}
		if day < q.from || day > q.to {
			continue
		}
		v.add(c)
		name := stepOf(at, q.step)
		if series[name] == nil {
			series[name] = &tally{}
		}
		series[name].add(c)
		for d := range values {
			value := told(c, d)
			sum := values[d][value]
			sum.add(c)
			values[d][value] = sum
		}
	}
	for _, s := range steps {
		p := pointView{Start: s.start}
		if t := series[s.name]; t != nil {
			p.tally = *t
		}
		v.Series = append(v.Series, p)
	}
	for d, name := range dimensions {
		v.Dimensions[name] = dimensionView{Top: sorted(values[d])}
	}
	v.Visitors = people(clicks, steps)
	return v
}

// dimensions by their numbers.
var dimensions = [domain.NumDimensions]string{
	"class", "referrer", "medium", "browser", "os", "device", "language", "country", "region", "campaign", "alias", "arm",
}

// told returns what is told of a click in a dimension.
func told(c *domain.Click, d int) string {
	return [domain.NumDimensions]string{
		[...]string{"human", "bot", "preview", "prefetch", "unknown"}[c.Class], c.Referrer, c.Medium, c.Browser, c.OS,
		c.Device, c.Language, c.Country, c.Region, c.Campaign, c.Alias, c.Arm,
	}[d]
}

// sorted returns values, the one with the most clicks of people first.
func sorted(values map[string]tally) (list []valueView) {
	for value, t := range values {
		list = append(list, valueView{value, t})
	}
	slices.SortFunc(list, byPeople)
	return list
}

// wallStep is one step of a series.
type wallStep struct {
	name  string
	start string    // As the API writes it.
	at    time.Time // When it starts.
	end   time.Time
}

// walk returns the steps of a range by looking at the clock every quarter of an hour:
// that is where all of today's zones change theirs.
func walk(q question) (steps []wallStep) {
	at, end := mustDay(q.from).Add(-36*time.Hour), mustDay(q.to).Add(60*time.Hour)
	for ; at.Before(end); at = at.Add(15 * time.Minute) {
		wall := at.In(q.zone)
		if day := wall.Format(time.DateOnly); day < q.from || day > q.to {
			continue
		}
		name := stepOf(wall, q.step)
		if n := len(steps); n == 0 || steps[n-1].name != name {
			steps = append(steps, wallStep{name: name, start: wall.Format(time.RFC3339), at: at})
		}
		steps[len(steps)-1].end = at.Add(15 * time.Minute)
	}
	return steps
}

// stepOf names the step that a moment lies in.
func stepOf(wall time.Time, step string) string {
	switch step {
	case "hour":
		return wall.Format("2006-01-02 15 -0700")
	case "week":
		year, week := wall.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	case "month":
		return wall.Format("2006-01")
	}
	return wall.Format(time.DateOnly)
}

// before returns the first and the last day of as many, right before.
func before(from, to string) (first, last string) {
	days := mustDay(to).Sub(mustDay(from)) + 24*time.Hour
	return mustDay(from).Add(-days).Format(time.DateOnly), mustDay(from).Add(-24 * time.Hour).Format(time.DateOnly)
}

// people returns how many different people came on each day of UTC that a range touches.
func people(clicks iter.Seq[*domain.Click], steps []wallStep) (list []visitorsView) {
	first := steps[0].at.UTC().Format(time.DateOnly)
	last := steps[len(steps)-1].end.Add(-time.Nanosecond).UTC().Format(time.DateOnly)
	seen := map[string]map[uint64]bool{}
	for c := range clicks {
		day := c.At.UTC().Format(time.DateOnly)
		if c.Class != domain.Human || c.Visitor == 0 || day < first || day > last {
			continue
		}
		if seen[day] == nil {
			seen[day] = map[uint64]bool{}
		}
		seen[day][c.Visitor] = true
	}
	for _, day := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, visitorsView{day, int64(len(seen[day]))})
	}
	return list
}

func mustDay(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}
