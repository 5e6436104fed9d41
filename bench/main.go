// Command bench measures Snip beside what it is compared with, in the same run and
// in turns, since a shared machine is never twice as fast as it was. It prints the
// median of each and their ratio.
//
//	go run . redirect   # Snip's redirects against a handler that answers a constant 307
//	go run . count      # counted clicks against one committed UPDATE per click;
//	                    # these and the next with -postgres URL on a server
//	go run . cold       # redirects of links in no cache, out of ten million
//	go run . log        # publish and consume on a server, against its client alone
//	go run . shipper    # notes made into events against the redirects that make them
//	go run . takeover   # with -postgres: how long a killed member's partitions stand still
//	go run . weigh      # what clicks weigh in the store, and how long questions take
//
// To weigh takes a quarter of an hour, and up to 1 GB of disk.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each is measured")
	length := flag.Duration("time", 4*time.Second, "how long one measurement takes")
	server := flag.String("postgres", "", "URL of a server on which databases may be made, to count there, and to redirect there against files")
	links := flag.Int("links", 10_000_000, "how many there are when redirects are cold")
	clicks := flag.Int("clicks", 1_000_000, "how many are weighed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Arg(0), *rounds, *length, *clicks, *links, *server); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, rounds int, length time.Duration, clicks, links int, server string) error {
	fmt.Printf("%s, %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	switch name {
	case "redirect":
		return redirect(ctx, rounds, length, server)
	case "count":
		return count(ctx, rounds, length, server)
	case "cold":
		return cold(ctx, length, links, server)
	case "log":
		return publishAndConsume(ctx, rounds, length, server)
	case "shipper":
		return shipper(ctx, rounds, length)
	case "takeover":
		return takeover(ctx, rounds, server)
	case "weigh":
		return weigh(ctx, rounds, clicks)
	}
	return fmt.Errorf("no benchmark %q: name redirect, count, cold, log, shipper, takeover or weigh", name)
}

// contestant is one of those that are measured in turns.
type contestant struct {
	name    string
	measure func(ctx context.Context, length time.Duration) (perSecond float64, err error)
	got     []float64
}

// compare measures all in turns and prints each one's median, spread, and ratio to
// the last, which is the reference.
func compare(ctx context.Context, rounds int, length time.Duration, all ...*contestant) error {
	fmt.Printf("%d rounds of %s\n", rounds, length)
	for range rounds {
		for _, c := range all {
			n, err := c.measure(ctx, length)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.got = append(c.got, n)
		}
	}
	reference := median(all[len(all)-1].got)
	for _, c := range all {
		fmt.Printf("%-44s %9.0f /s  (%.0f to %.0f)  ratio %.2f\n", c.name, median(c.got),
			slices.Min(c.got), slices.Max(c.got), median(c.got)/reference)
	}
	return nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
