// Command bench measures Snip beside what it is compared with, in the same run and
// in turns, since a shared machine is never twice as fast as it was. It prints the
// median of each, their ends, and their ratio. All that is not Snip it starts itself,
// privately; scripts/setup-bench installs it.
//
//	go run . all        # all that follows but weigh and bloat, as in RESULTS.md
//	go run . -quick all # the same in little time, to see that it works
//	go run . redirect   # redirects beside nginx, a bare handler, and those that count first
//	go run . profile    # processor time of one redirect beside a bare handler's, and memory
//	go run . count      # counted clicks beside one committed UPDATE per click
//	go run . log        # publish and consume on PostgreSQL
//	go run . visible    # from a click to its count in the API
//	go run . idle       # memory and processor time of a Snip that nobody asks
//	go run . unknown    # memory before and after 100,000 codes that nobody gave out
//	go run . cold       # redirects of links in no cache, out of ten million
//	go run . shipper    # notes made into events beside the redirects that make them
//	go run . spool      # what it takes to note a click
//	go run . takeover   # how long a killed member's partitions stand still
//	go run . tasks      # tasks worked and pushed beside River
//	go run . pickup     # how long a task waits on an idle system, beside River
//	go run . crowd      # tasks worked beside a million delayed and a million dead
//	go run . snapshot   # tasks pushed and worked while a snapshot is held open
//	go run . rules      # redirects of plain links beside others with rules and passwords
//	go run . make       # POST beside plain inserts of the same rows
//	go run . lists      # lists and searches among ten million links
//	go run . growth     # all of it with few links and clicks, and with many
//	go run . weigh      # what clicks weigh in the store, and how long questions take
//	go run . bloat      # what tables take after a million tasks, ten times
//
// To weigh takes a quarter of an hour, and up to 1 GB of disk; growth and bloat longer,
// and 4 GB.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// benchmark measures something. It returns rows or a table.
type benchmark struct {
	name  string
	rows  func(context.Context, *bench) ([]row, error)
	table func(context.Context, *bench) (*table, error)
}

func benchmarks() []benchmark {
	return []benchmark{
		{name: "redirect", rows: redirect},
		{name: "profile", rows: profile},
		{name: "count", rows: count},
		{name: "log", rows: publishAndConsume},
		{name: "visible", rows: visible},
		{name: "idle", rows: idle},
		{name: "unknown", rows: unknown},
		{name: "cold", rows: cold},
		{name: "shipper", rows: shipper},
		{name: "spool", rows: recordInSpool},
		{name: "takeover", rows: takeover},
		{name: "tasks", rows: tasks},
		{name: "pickup", rows: pickup},
		{name: "crowd", rows: tasksInCrowd},
		{name: "snapshot", rows: snapshot},
		{name: "rules", rows: rules},
		{name: "make", rows: makeByPost},
		{name: "lists", rows: lists},
		{name: "growth", table: growth},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// This program starts itself as what it measures beside, or kills.
	switch {
	case len(args) > 2 && args[0] == "serve":
		return serveReference(ctx, args[1], args[2], args[3:])
	case len(args) == 2 && args[0] == "member":
		return member(ctx, args[1])
	}
	b := &bench{}
	sizes := "10000,1000000,10000000"
	var quick bool
	var results string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&b.rounds, "rounds", 5, "how often each is measured")
	flags.DurationVar(&b.length, "time", 4*time.Second, "how long one measurement takes")
	flags.DurationVar(&b.watch, "idle", time.Minute, "how long an idle Snip is watched")
	flags.IntVar(&b.samples, "samples", 100, "clicks or tasks that are waited for, in a round where there are rounds")
	flags.IntVar(&b.links, "links", 10_000_000, "how many there are when redirects are cold")
	flags.IntVar(&b.clicks, "clicks", 1_000_000, "how many are weighed")
	flags.StringVar(&sizes, "sizes", sizes, "how many links, and as many clicks, growth has, with commas")
	flags.IntVar(&b.tasks, "tasks", 1_000_000, "that are in the way of others, and that are worked in a pass of bloat")
	flags.IntVar(&b.passes, "passes", 10, "of bloat")
	flags.DurationVar(&b.hold, "hold", 20*time.Second, "how long a snapshot is held open")
	flags.StringVar(&b.before, "before", "", "an earlier snip, to compare redirects with")
	flags.StringVar(&b.postgres, "postgres", "", "URL of a server on which databases may be made, instead of a private one")
	flags.StringVar(&b.redis, "redis", "", "URL of a Redis, instead of a private one")
	flags.BoolVar(&quick, "quick", false, "two rounds of half a second, with little in the stores: figures mean nothing")
	flags.StringVar(&results, "results", "", "file to write results to, as Markdown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if quick {
		sizes = "1000,10000"
		b.rounds, b.length, b.watch, b.samples = 2, 500*time.Millisecond, 2*time.Second, 3
		b.links, b.clicks = 100_000, 10_000
		b.tasks, b.passes, b.hold = 10_000, 2, time.Second
	}
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-sizes: %q is not a number of links", text)
		}
		b.sizes = append(b.sizes, n)
	}
	return b.run(ctx, flags.Args(), results)
}

// run runs the named benchmarks. One that fails does not keep the others from it.
func (b *bench) run(ctx context.Context, names []string, results string) (err error) {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "snip-bench"); err != nil {
		return err
	}
	defer func() {
		b.stop()
		err = errors.Join(err, os.RemoveAll(b.dir))
	}()
	fmt.Printf("%s, %s/%s, %d processors, %d rounds of %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.rounds, b.length)
	report := newReport()
	for _, one := range chosen {
		fmt.Printf("\n%s\n", one.name)
		if failed := b.runOne(ctx, one, report); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", one.name, failed))
			fmt.Fprintln(os.Stderr, "bench: went wrong, goes on:", err)
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	if results != "" {
		text, wrong := report.markdown(ctx, b)
		err = errors.Join(err, wrong, os.WriteFile(results, text, 0o644))
	}
	return err
}

func (b *bench) runOne(ctx context.Context, one benchmark, to *report) (err error) {
	defer func() { err = errors.Join(err, b.cleanUp()) }()
	if one.table != nil {
		t, err := one.table(ctx, b)
		if err == nil {
			fmt.Print(t.text())
			to.tables = append(to.tables, t)
		}
		return err
	}
	rows, err := one.rows(ctx, b)
	for i := range rows {
		if rows[i].command == "" {
			rows[i].command = one.name
		}
		fmt.Print(rows[i].text())
	}
	to.rows = append(to.rows, rows...)
	return err
}

func choose(names []string) ([]benchmark, error) {
	all := benchmarks()
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	all = append(all, benchmark{name: "weigh", rows: weigh}, benchmark{name: "bloat", table: bloat})
	var chosen []benchmark
	for _, name := range names {
		i := slices.IndexFunc(all, func(b benchmark) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no benchmark %q", name)
		}
		chosen = append(chosen, all[i])
	}
	if len(chosen) == 0 {
		return nil, errors.New("name a benchmark, or all: go doc tells which there are")
	}
	return chosen, nil
}
