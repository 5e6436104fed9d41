package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"snip"
)

// statsText tells of statistics, and of which links are popular if there are any.
func statsText(st snip.Stats, popular snip.Popular) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s to %s, %s\n\n", ofWhat(st), st.Range.From, st.Range.To, st.Range.Location())
	writeTotals(&b, st)
	tables := []table{seriesTable(st)}
	if len(popular.Links) > 0 {
		tables = append(tables, popularTable(popular))
	}
	for d, breakdown := range st.Dimensions {
		tables = append(tables, breakdownTable(snip.Dimension(d), breakdown))
	}
	writeTables(&b, append(tables, visitorsTable(st)))
	writeTrust(&b, st)
	return b.String()
}

// ofWhat tells which links statistics are of.
func ofWhat(st snip.Stats) string {
	of := "all links"
	if len(st.Codes) > 0 {
		of = strings.Join(st.Codes, ", ")
	}
	if st.Domain != nil {
		of += " on " + cmp.Or(*st.Domain, "the server's own domain")
	}
	if st.Tag != "" {
		of += " with tag " + st.Tag
	}
	return printable(of)
}

// writeTotals writes the sums, each with its change in percent.
func writeTotals(b *strings.Builder, st snip.Stats) {
	period := "day"
	if days := st.Before.To.Sub(st.Before.From) + 1; days > 1 {
		period = fmt.Sprint(days, " days")
	}
	width := len(fmt.Sprint(st.Clicks))
	line := func(name string, now, before int64) {
		change := ""
		if before > 0 {
			change = fmt.Sprintf("  %+.0f %%", 100*float64(now-before)/float64(before))
		}
		fmt.Fprintf(b, "%s  %*d%s  (%d in the %s before)\n", name, width, now, change, before, period)
	}
	line("clicks", st.Clicks, st.Before.Clicks)
	line("people", st.HumanClicks, st.Before.HumanClicks)
}

func seriesTable(st snip.Stats) table {
	head := [...]string{"HOUR", "DAY", "WEEK FROM", "MONTH"}[st.Step]
	// The offset tells the two hours apart that a clock shows twice.
	layout := [...]string{"2006-01-02 15:04 -07:00", time.DateOnly, time.DateOnly, "2006-01"}[st.Step]
	t := table{heads: []string{head, "CLICKS", "PEOPLE"}}
	for _, p := range st.Series {
		t.add(p.Start.Format(layout), p.Counts)
	}
	return t
}

func popularTable(p snip.Popular) table {
	t := table{heads: []string{"LINK", "CLICKS", "PEOPLE"}}
	for _, l := range p.Links {
		t.add(printable(nameOf(snip.Ref{Domain: l.Link.Domain, Code: l.Link.Code})), l.Counts)
	}
	t.addRest("(all others)", p.More)
	return t
}

func breakdownTable(d snip.Dimension, b snip.Breakdown) table {
	t := table{heads: []string{strings.ToUpper(d.String()), "CLICKS", "PEOPLE"}}
	for _, v := range b.Top {
		t.add(cmp.Or(printable(v.Value), "(none)"), v.Counts)
	}
	t.addRest("(further ones)", b.More)
	t.addRest("(not kept apart)", b.Other)
	return t
}

func visitorsTable(st snip.Stats) table {
	t := table{heads: []string{"UTC DAY", "VISITORS"}}
	for _, v := range st.Visitors {
		t.rows = append(t.rows, row{v.Day.String(), []int64{v.Visitors}})
	}
	return t
}

// writeTrust says how far the figures can be trusted.
func writeTrust(b *strings.Builder, st snip.Stats) {
	if len(st.Visitors) > 0 {
		fmt.Fprintf(b, "many visitors are an estimate, within %.0f %%\n", 100*snip.VisitorsError)
	}
	if !st.Coarse.IsZero() {
		fmt.Fprintf(b, "not exact: up to %s whole days of another zone are kept, and a day or a step begins within one\n",
			st.Coarse.In(st.Range.Location()).Format(time.RFC3339))
	}
	if st.CountedUpTo.IsZero() {
		b.WriteString("up to when clicks are counted is unknown")
	} else {
		fmt.Fprintf(b, "counted up to %s", st.CountedUpTo.In(st.Range.Location()).Format(time.RFC3339))
	}
	fmt.Fprintf(b, "; dropped by this server, ever: %d\n", st.Dropped)
}
