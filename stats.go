package snip

import (
	"context"
	"time"
)

// Slot is the step in which clicks are counted over time: 15 minutes, the largest
// that divides the offset of every time zone in use.
const Slot = 15 * time.Minute

// Statistics is how one gets at what was counted, in a store or, through the
// client, on a server. Errors are of type *Error where a person can do something
// about them.
type Statistics interface {
	// Stats returns what was counted for links, all of it as of one moment.
	Stats(ctx context.Context, q StatsQuery) (Stats, error)
	// Popular returns the links that people followed most, limit of them at most.
	Popular(ctx context.Context, r Range, limit int) (Popular, error)
	// UnknownCodes returns the codes without a link that were asked for most, limit
	// of them at most.
	UnknownCodes(ctx context.Context, r Range, limit int) (UnknownCodes, error)
}

// Bounds of what one question may ask for.
const (
	MaxStatsLinks = 100  // Links of one set.
	MaxTop        = 1000 // Values of one dimension, links, or unknown codes.
)

// MaxValues is how many values of one dimension are kept apart per link and UTC
// day. The clicks of all further ones are Other.
const MaxValues = 1000

// StatsQuery says of what, when and how finely.
type StatsQuery struct {
	// Of what: the links with these codes on Domain, at most MaxStatsLinks; else all links
	// on Domain, with Tag, or both, as they are now; else all there are.
	Domain *string  // Nil: for codes the instance's own, else any.
	Codes  []string // Or aliases.
	Tag    string

	Range Range
	Step  Step // Of Series.
	Top   int  // How many values of each dimension: 0 to MaxTop.
}

// Check returns an *Error that names the field which cannot be answered.
func (q StatsQuery) Check() error {
	if len(q.Codes) > MaxStatsLinks {
		return invalid("code", "A set has at most %d links; these are %d.", MaxStatsLinks, len(q.Codes))
	}
	if q.Tag != "" {
		if len(q.Codes) > 0 {
			return invalid("tag", "Ask for codes or for a tag, not for both.")
		}
		if err := CheckTag("tag", q.Tag); err != nil {
			return err
		}
	}
	if err := checkDomain("domain", q.Domain); err != nil {
		return err
	}
	if q.Step > StepMonth {
		return invalid("step", "Must be hour, day, week or month.")
	}
	if q.Top < 0 || q.Top > MaxTop {
		return invalid("top", "Must be a whole number from 0 to %d.", MaxTop)
	}
	return q.Range.Check(q.Step)
}

// Counts is a number of clicks.
type Counts struct {
	Clicks      int64 // Of every class.
	HumanClicks int64 // Those of people among them.
}

// Add adds up.
func (c *Counts) Add(d Counts) {
	c.Clicks += d.Clicks
	c.HumanClicks += d.HumanClicks
}

// Stats is what was counted in a range. Its Counts are the sum of Series, and of
// every one of Dimensions.
type Stats struct {
	Domain *string // As asked, as the next two.
	Codes  []string
	Tag    string
	Range  Range
	Step   Step

	Counts
	Series     []Point                  // Every step of the range, oldest first. The first and the last may be cut short by it.
	Dimensions [NumDimensions]Breakdown // By Dimension.
	Before     Period                   // As many days, right before.
	Visitors   []Visitors               // Of the UTC days that the range touches and that had some, oldest first.

	// Coarse is the end of the last day that is kept as a whole only and that the
	// range, the one before or a step cuts through. Such a day counts where its middle
	// lies. Zero: the figures are exact.
	Coarse time.Time

	CountedUpTo time.Time // Every click answered before it is in the figures, or was dropped. Zero: unknown.
	Dropped     int64     // Clicks of the whole instance that could not be kept, ever.
}

// Point is one step of a series.
type Point struct {
	Start time.Time // In the zone of the range.
	Counts
}

// Period is the total of a range.
type Period struct {
	From, To Date // Both inclusive.
	Counts
}

// Visitors is how many different people followed a link, or any of several, on one
// UTC day: visitors are told apart by a salt that lives as long. It is exact for a
// few dozen, and an estimate within VisitorsError for more.
type Visitors struct {
	Day      Date
	Visitors int64
}

// VisitorsError is the relative error that an estimate of visitors keeps to, in all
// but one of some thousand cases.
const VisitorsError = 0.02

// Breakdown is one dimension. What it counts adds up to the total.
type Breakdown struct {
	Top   []ValueCount // Those with the most clicks of people first.
	More  Counts       // Of values that are kept apart, but not in Top.
	Other Counts       // Of values that are not kept apart: see MaxValues.
}

// ValueCount is one value of a dimension. An empty value means that there was none.
type ValueCount struct {
	Value string
	Counts
}

// Popular is which links were followed in a range. Counts is the sum of Links and
// More.
type Popular struct {
	Range Range
	Counts
	Links []LinkCount // The one with the most clicks of people first.
	More  Counts      // Of all other links.

	Coarse      time.Time // See Stats.
	CountedUpTo time.Time
	Dropped     int64
}

// LinkCount is what was counted for one link in a range.
type LinkCount struct {
	Link Link
	Counts
}

// UnknownCodes is which codes without a link were asked for in a range. It is a
// report for whoever looks for a mistake: a process that is killed takes what it saw
// in its last seconds with it, unlike clicks.
type UnknownCodes struct {
	Range Range
	Hits  int64      // The sum of Codes, More and Other.
	Codes []CodeHits // The one with the most hits first.
	More  int64      // Hits of codes that are kept apart, but not in Codes.
	Other int64      // Hits of codes that are not kept apart: see MaxValues.
}

// CodeHits is how often a code was asked for.
type CodeHits struct {
	Code string
	Hits int64
}
