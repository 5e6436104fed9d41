package wire

import (
	"time"

	"snip"
)

// Stats is what was counted for links.
type Stats struct {
	Domain *string  `json:"domain" doc:"Of the links on this one; null if none was named."`
	Codes  []string `json:"codes" doc:"Of these links; empty for all that fit."`
	Tag    string   `json:"tag" doc:"Of the links that have it now; empty for all."`
	Range
	Step string `json:"step" doc:"Of series: hour, day, week or month."`
	Counts
	Series        []Point              `json:"series" doc:"Every step of the range, oldest first. They add up to the total."`
	Dimensions    map[string]Breakdown `json:"dimensions" doc:"By the name of the dimension. Each adds up to the total."`
	Before        Period               `json:"before" doc:"As many days, right before."`
	Visitors      []Visitors           `json:"visitors" doc:"Of the UTC days that had some, oldest first."`
	VisitorsError float64              `json:"visitors_error" doc:"How far off visitors can be, as a part of them."`
	Freshness
}

// Range is days of a zone, both ends in it.
type Range struct {
	From string `json:"from" doc:"First day."`
	To   string `json:"to" doc:"Last day."`
	Zone string `json:"zone" doc:"IANA name of where the days begin and end."`
}

// Counts is a number of clicks.
type Counts struct {
	Clicks      int64 `json:"clicks" doc:"Of every class."`
	HumanClicks int64 `json:"human_clicks" doc:"Those of people."`
}

// Freshness is how far figures can be trusted.
type Freshness struct {
	Coarse      *time.Time `json:"coarse" doc:"End of the last day that is kept as a whole only and that an edge of the range cuts through; null if the figures are exact."`
	CountedUpTo *time.Time `json:"counted_up_to" doc:"Every click answered before it is in the figures, or was dropped; null if unknown."`
	Dropped     int64      `json:"dropped" doc:"Clicks of the whole instance that could not be kept, ever."`
}

// Point is one step of a series.
type Point struct {
	Start time.Time `json:"start"`
	Counts
}

// Period is the total of days.
type Period struct {
	From string `json:"from"`
	To   string `json:"to"`
	Counts
}

// Visitors is how many different people came on a UTC day.
type Visitors struct {
	Day      string `json:"day"`
	Visitors int64  `json:"visitors"`
}

// Breakdown is one dimension.
type Breakdown struct {
	Top   []ValueCount `json:"top" doc:"The values with the most clicks of people first."`
	More  Counts       `json:"more" doc:"Of values that are kept apart, but not in top."`
	Other Counts       `json:"other" doc:"Of values that are not kept apart."`
}

// ValueCount is one value of a dimension.
type ValueCount struct {
	Value string `json:"value" doc:"Empty if there was none."`
	Counts
}

// StatsOf writes statistics.
func StatsOf(s snip.Stats) Stats {
	out := Stats{
		Domain: s.Domain, Codes: list(s.Codes), Tag: s.Tag, Range: rangeOf(s.Range), Step: s.Step.String(), Counts: Counts(s.Counts),
		Series:     each(s.Series, func(p snip.Point) Point { return Point{p.Start, Counts(p.Counts)} }),
		Dimensions: make(map[string]Breakdown, snip.NumDimensions),
		Before:     Period{s.Before.From.String(), s.Before.To.String(), Counts(s.Before.Counts)},
		Visitors:   each(s.Visitors, func(v snip.Visitors) Visitors { return Visitors{v.Day.String(), v.Visitors} }),

		VisitorsError: snip.VisitorsError,
		Freshness:     freshnessOf(s.Coarse, s.CountedUpTo, s.Dropped),
	}
	for d := range snip.NumDimensions {
		b := s.Dimensions[d]
		out.Dimensions[d.String()] = Breakdown{
			Top:  each(b.Top, func(v snip.ValueCount) ValueCount { return ValueCount{v.Value, Counts(v.Counts)} }),
			More: Counts(b.More), Other: Counts(b.Other),
		}
	}
	return out
}

// Stats returns the statistics that were written. It fails if this machine does not
// know their zone, or if they were written by something else than a Snip.
func (s Stats) Stats() (snip.Stats, error) {
	var r reader
	out := snip.Stats{
		Domain: s.Domain, Codes: s.Codes, Tag: s.Tag, Range: r.days(s.Range), Step: r.step(s.Step), Counts: snip.Counts(s.Counts),
		Before:   snip.Period{From: r.date(s.Before.From), To: r.date(s.Before.To), Counts: snip.Counts(s.Before.Counts)},
		Visitors: each(s.Visitors, func(v Visitors) snip.Visitors { return snip.Visitors{Day: r.date(v.Day), Visitors: v.Visitors} }),
		Coarse:   instant(s.Coarse), CountedUpTo: instant(s.CountedUpTo), Dropped: s.Dropped,
	}
	out.Series = each(s.Series, func(p Point) snip.Point {
		return snip.Point{Start: p.Start.In(out.Range.Location()), Counts: snip.Counts(p.Counts)}
	})
	for d := range snip.NumDimensions {
		b := s.Dimensions[d.String()]
		out.Dimensions[d] = snip.Breakdown{
			Top: each(b.Top, func(v ValueCount) snip.ValueCount {
				return snip.ValueCount{Value: v.Value, Counts: snip.Counts(v.Counts)}
			}),
			More: snip.Counts(b.More), Other: snip.Counts(b.Other),
		}
	}
	return out, r.err
}

func rangeOf(r snip.Range) Range {
	return Range{r.From.String(), r.To.String(), r.Location().String()}
}

func freshnessOf(coarse, countedUpTo time.Time, dropped int64) Freshness {
	return Freshness{pointer(coarse.UTC()), pointer(countedUpTo.UTC()), dropped}
}

// each writes an empty list as [], never as null.
func each[A, B any](in []A, as func(A) B) []B {
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = as(a)
	}
	return out
}

// reader reads texts and keeps the first error.
type reader struct{ err error }

func (r *reader) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) date(s string) snip.Date {
	d, err := snip.ParseDate(s)
	r.keep(err)
	return d
}

func (r *reader) step(s string) snip.Step {
	step, err := snip.ParseStep(s)
	r.keep(err)
	return step
}

func (r *reader) days(in Range) snip.Range {
	zone, err := time.LoadLocation(in.Zone)
	r.keep(err)
	return snip.Range{From: r.date(in.From), To: r.date(in.To), Zone: zone}
}
