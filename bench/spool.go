package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"snip/queue/spool"
)

const (
	spoolBody    = 150 // Bytes of a note, about.
	spoolRecords = 800_000
)

// recordInSpool measures what it takes to note a click: per record, on the wall clock,
// of goroutines that do nothing else.
func recordInSpool(ctx context.Context, b *bench) ([]row, error) {
	var all []*contestant
	for _, goroutines := range []int{1, 8} {
		name := fmt.Sprintf("a record of %d bytes in the spool, %d goroutines", spoolBody, goroutines)
		if goroutines == 1 {
			name = fmt.Sprintf("a record of %d bytes in the spool, 1 goroutine", spoolBody)
		}
		all = append(all, &contestant{name: name, measure: func(ctx context.Context, _ time.Duration) (float64, error) {
			return b.record(goroutines)
		}})
	}
	if err := inTurns(ctx, b.rounds, b.length, all...); err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range all {
		rows = append(rows, c.beside(nil, "ns", medianAtMost(1000)))
	}
	return rows, nil
}

// record fills a spool that nobody empties and returns the nanoseconds of a record.
func (b *bench) record(goroutines int) (ns float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "spool")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// A segment holds them all: nobody notes so many in a second, and the next segment is
	// made beside, on the same processors.
	s, err := spool.Open(spool.Config{Dir: filepath.Join(dir, "spool"), Topic: "clicks", MaxBytes: 1 << 30, SegmentBytes: 256 << 20})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	note := make([]byte, spoolBody)
	errs := make([]error, goroutines)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for range spoolRecords / goroutines {
				if err := s.Record(time.Now(), note); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(took.Nanoseconds()) / spoolRecords, nil
}
