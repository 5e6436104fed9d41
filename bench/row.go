package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// row is one line of the results: what was measured, and beside what.
type row struct {
	what     string
	unit     string
	measured []float64 // One for each round, or each time that something happened.

	reference string    // Empty: there is none.
	against   []float64 // What the reference did in the same rounds.

	bar     bar
	command string // Measures it again.
}

// bar is what a row has to reach. The zero value is none.
type bar struct {
	limit float64
	most  bool               // It is a bound from above.
	of    func(*row) float64 // What is held against it.
	name  string             // Of that.
}

// ratioAtLeast and the next two are the kinds of bars there are.
func ratioAtLeast(limit float64) bar {
	return bar{limit: limit, of: (*row).ratio, name: "ratio"}
}

func ratioAtMost(limit float64) bar {
	return bar{limit: limit, most: true, of: (*row).ratio, name: "ratio"}
}

func medianAtMost(limit float64) bar {
	return bar{limit: limit, most: true, of: func(r *row) float64 { return median(r.measured) }, name: "median"}
}

// p99AtMost is for what happens many times, where the slowest count.
func p99AtMost(limit float64) bar {
	return bar{limit: limit, most: true, of: func(r *row) float64 { return quantile(r.measured, 0.99) }, name: "p99"}
}

func (r *row) ratio() float64 { return median(r.measured) / median(r.against) }

// met tells whether the bar is; without one, it is not asked.
func (r *row) met() bool {
	if r.bar.most {
		return r.bar.of(r) <= r.bar.limit
	}
	return r.bar.of(r) >= r.bar.limit
}

func (r *row) barText() string {
	switch {
	case r.bar.of == nil:
		return ""
	case r.bar.most:
		return fmt.Sprintf("%s ≤ %s", r.bar.name, figure(r.bar.limit))
	}
	return fmt.Sprintf("%s ≥ %s", r.bar.name, figure(r.bar.limit))
}

func (r *row) verdict() string {
	switch {
	case r.bar.of == nil:
		return ""
	case r.met():
		return "met"
	}
	return "**missed**"
}

// spread writes samples as their median and their ends, of many also p99.
func spread(x []float64, unit string) string {
	switch {
	case len(x) == 0:
		return ""
	case len(x) == 1:
		return figure(x[0]) + " " + unit
	}
	s := figure(median(x)) + " " + unit + " (" + figure(slices.Min(x)) + " to " + figure(slices.Max(x))
	if len(x) >= manySamples {
		s += ", p99 " + figure(quantile(x, 0.99))
	}
	return s + ")"
}

// manySamples is from how many on a p99 says something.
const manySamples = 50

// figure writes a number with three digits that count, and large ones whole.
func figure(x float64) string {
	switch {
	case x >= 100:
		return thousands(fmt.Sprintf("%.0f", x))
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.1 || x == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func median(x []float64) float64 { return quantile(x, 0.5) }

// quantile is of sorted samples the one that far from the first.
func quantile(x []float64, q float64) float64 {
	x = slices.SortedFunc(slices.Values(x), cmp.Compare)
	return x[min(int(float64(len(x))*q), len(x)-1)]
}

// text is the row for a terminal.
func (r *row) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-52s %s\n", r.what, spread(r.measured, r.unit))
	if r.reference == "" && r.bar.of == nil {
		return b.String()
	}
	if r.reference != "" {
		fmt.Fprintf(&b, "    %-48s %s\n    ratio %s", r.reference, spread(r.against, r.unit), figure(r.ratio()))
	} else {
		b.WriteString("   ")
	}
	if r.bar.of != nil {
		fmt.Fprintf(&b, "    bar: %s: %s", r.barText(), strings.Trim(r.verdict(), "*"))
	}
	return b.String() + "\n"
}
