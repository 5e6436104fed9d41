package snip

import "time"

// Step is how finely a series is told.
type Step uint8

const (
	StepHour Step = iota
	StepDay
	StepWeek // From Monday on.
	StepMonth
)

// String returns its name in the API.
func (s Step) String() string {
	return [...]string{"hour", "day", "week", "month", "?"}[min(s, StepMonth+1)]
}

// ParseStep reads the name of a step.
func ParseStep(name string) (Step, error) {
	for s := StepHour; s <= StepMonth; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, invalid("step", "%q is no step. Name hour, day, week or month.", name)
}

// Range is days of one zone, the first and the last included.
type Range struct {
	From, To Date
	Zone     *time.Location // nil: UTC.
}

// MaxSteps is how many steps a range may have.
const MaxSteps = 10_000

// Check returns an *Error that names what no answer can be given for.
func (r Range) Check(s Step) error {
	for field, d := range map[string]Date{"from": r.From, "to": r.To} {
		if d.Year < 1970 || d.Year > 9999 {
			return invalid(field, "The year must lie between 1970 and 9999, not be %d.", d.Year)
		}
	}
	days := r.Days()
	if days < 1 {
		return invalid("from", "The range ends before it starts: from is %s and to is %s.", r.From, r.To)
	}
	// A day has up to 25 hours; a month 28 days or more.
	steps := [...]int{25 * days, days, days/7 + 2, days/28 + 2}[s]
	if steps > MaxSteps {
		return invalid("from", "From %s to %s is more than %d steps of one %s. Ask for fewer days or a longer step.",
			r.From, r.To, MaxSteps, s)
	}
	return nil
}

// Days returns how many days it has.
func (r Range) Days() int { return r.To.Sub(r.From) + 1 }

// Location returns the zone.
func (r Range) Location() *time.Location {
	if r.Zone == nil {
		return time.UTC
	}
	return r.Zone
}

// Bounds returns the first moment of the range and the first after it.
func (r Range) Bounds() (start, end time.Time) {
	return r.From.Start(r.Location()), r.To.AddDays(1).Start(r.Location())
}

// Before returns as many days, right before.
func (r Range) Before() Range {
	return Range{From: r.From.AddDays(-r.Days()), To: r.From.AddDays(-1), Zone: r.Zone}
}

// Steps returns when each step starts, and at last the end of the range. The first
// and the last step are cut to the range. A day that the zone left out is no step.
func (r Range) Steps(s Step) []time.Time {
	start, end := r.Bounds()
	var steps []time.Time
	d := r.From
	for t := start; t.Before(end); {
		if n := len(steps); n == 0 || steps[n-1].Before(t) {
			steps = append(steps, t)
		}
		if s == StepHour {
			t = nextHour(t)
			continue
		}
		switch s {
		case StepWeek:
			// Days since Monday.
			past := (int(d.utc().Weekday()) + 6) % 7
			d = d.AddDays(7 - past)
		case StepMonth:
			d = Date{d.Year, d.Month, 1}
			d = DateOf(d.utc().AddDate(0, 1, 0))
		default:
			d = d.AddDays(1)
		}
		t = d.Start(r.Location())
	}
	return append(steps, end)
}

// nextHour returns when the clock on the wall shows the next full hour, or is put
// before that.
func nextHour(t time.Time) time.Time {
	past := time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
	next := t.Add(time.Hour - past)
	if _, until := t.ZoneBounds(); !until.IsZero() && until.Before(next) {
		return until.In(t.Location())
	}
	return next
}
