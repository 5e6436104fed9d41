package test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// compare returns what is wrong in an answer of the API, in which a dimension names at
// most top values. What is wanted names all of them.
func compare(got, want statsView, top int) (wrong []string) {
	report := func(what string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s: %+v, want %+v", what, got, want))
		}
	}
	report("domain", show(got.Domain), show(want.Domain))
	report("tag", got.Tag, want.Tag)
	report("codes", fmt.Sprintf("%q", got.Codes), fmt.Sprintf("%q", want.Codes))
	report("range", got.rangeView, want.rangeView)
	report("step", got.Step, want.Step)
	report("total", got.tally, want.tally)
	report("before", got.Before, want.Before)
	report("visitors_error", got.VisitorsError, want.VisitorsError)
	report("dropped", got.Dropped, int64(0))
	if got.Coarse != nil {
		report("coarse", *got.Coarse, nil)
	}
	report("number of steps", len(got.Series), len(want.Series))
	for i := range min(len(got.Series), len(want.Series)) {
		report(fmt.Sprintf("step %d", i), got.Series[i], want.Series[i])
	}
	report("number of dimensions", len(got.Dimensions), len(want.Dimensions))
	for name, w := range want.Dimensions {
		for _, fault := range compareDimension(got.Dimensions[name], w, top) {
			wrong = append(wrong, name+": "+fault)
		}
	}
	wrong = append(wrong, compareVisitors(got.Visitors, want.Visitors)...)
	return append(wrong, addsUp(got)...)
}

// show writes a text that may be missing.
func show(text *string) string {
	if text == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *text)
}

// compareDimension: which of several values with as many clicks of people are among
// the top is open; how many clicks they have is not.
func compareDimension(got, want dimensionView, top int) (wrong []string) {
	all := map[string]tally{}
	for _, v := range want.Top {
		all[v.Value] = v.tally
		want.More.addAll(v.tally)
	}
	if n := min(top, len(all)); len(got.Top) != n {
		wrong = append(wrong, fmt.Sprintf("%d values of %d, want %d", len(got.Top), len(all), n))
	}
	for i, v := range got.Top {
		t, ok := all[v.Value]
		if !ok || t != v.tally {
			wrong = append(wrong, fmt.Sprintf("%q has %+v, want %+v", v.Value, v.tally, t))
		}
		delete(all, v.Value) // A second time it is wrong.
		if i < len(want.Top) && v.HumanClicks != want.Top[i].HumanClicks {
			wrong = append(wrong, fmt.Sprintf("value %d, %q, has %d clicks of people, want %d there",
				i, v.Value, v.HumanClicks, want.Top[i].HumanClicks))
		}
		want.More.Clicks -= v.Clicks
		want.More.HumanClicks -= v.HumanClicks
	}
	if got.More != want.More || got.Other != want.Other {
		wrong = append(wrong, fmt.Sprintf("more %+v and other %+v, want %+v and %+v", got.More, got.Other, want.More, want.Other))
	}
	return wrong
}

// compareVisitors: a few dozen people are exact, many may be 2 % off.
func compareVisitors(got, want []visitorsView) (wrong []string) {
	counted := map[string]int64{}
	for _, v := range got {
		counted[v.Day] = v.Visitors
	}
	for _, w := range want {
		if off := counted[w.Day] - w.Visitors; max(off, -off)*50 > w.Visitors {
			wrong = append(wrong, fmt.Sprintf("visitors of %s: %d, want %d", w.Day, counted[w.Day], w.Visitors))
		}
		delete(counted, w.Day)
	}
	if len(counted) > 0 || len(got) != len(want) {
		wrong = append(wrong, fmt.Sprintf("visitors of %d days, want %d; nobody came on those of %v", len(got), len(want), counted))
	}
	if !slices.IsSortedFunc(got, func(x, y visitorsView) int { return strings.Compare(x.Day, y.Day) }) {
		wrong = append(wrong, "the days of visitors are not in order")
	}
	return wrong
}

// addsUp returns what does not add up to the total, whatever that is.
func addsUp(v statsView) (wrong []string) {
	var series tally
	for _, p := range v.Series {
		series.addAll(p.tally)
	}
	if series != v.tally {
		wrong = append(wrong, fmt.Sprintf("the series adds up to %+v, the total is %+v", series, v.tally))
	}
	for name, d := range v.Dimensions {
		sum := d.More
		sum.addAll(d.Other)
		for _, value := range d.Top {
			sum.addAll(value.tally)
		}
		if sum != v.tally {
			wrong = append(wrong, fmt.Sprintf("%s adds up to %+v, the total is %+v", name, sum, v.tally))
		}
	}
	return wrong
}

// byPeople orders those with more clicks of people first.
func byPeople(a, b valueView) int {
	return cmp.Or(cmp.Compare(b.HumanClicks, a.HumanClicks), cmp.Compare(b.Clicks, a.Clicks), strings.Compare(a.Value, b.Value))
}
