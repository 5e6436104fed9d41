package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"snip/queue"
	"snip/queue/engine/postgres"
)

// takeover measures how long the partitions of a group's member stand still after it
// was killed, with the session that Snip's workers have: from its death until another
// member reads the last of them.
func takeover(ctx context.Context, b *bench) ([]row, error) {
	at, err := b.newPlace(ctx, true)
	if err != nil {
		return nil, err
	}
	r := row{what: fmt.Sprintf("partitions of a killed member stand still, session %s", session), unit: "s"}
	for range b.rounds {
		took, err := takeOverOnce(ctx, at.url)
		if err != nil {
			return nil, err
		}
		r.measured = append(r.measured, took.Seconds())
	}
	return []row{r}, nil
}

const session = 5 * time.Second

var takeoverTopic = queue.TopicConfig{Name: "beats", Partitions: 4, MaxBytes: 1 << 30}

// member is a process of its own, to be killed.
func member(ctx context.Context, at string) error {
	return readBeats(ctx, at, func(queue.Delivery) {})
}

// readBeats reads until ctx ends.
func readBeats(ctx context.Context, at string, got func(queue.Delivery)) error {
	log, err := postgres.Open(ctx, postgres.Config{URL: at})
	if err != nil {
		return err
	}
	g, err := queue.NewGroup(queue.GroupConfig{
		Name: "readers", Topic: takeoverTopic, Engine: log, Store: log, Session: session,
		Handle: func(_ context.Context, d queue.Delivery) error { got(d); return nil },
	})
	if err == nil {
		err = g.Run(ctx)
	}
	return errors.Join(err, log.Close())
}

func takeOverOnce(ctx context.Context, at string) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log, err := postgres.Open(ctx, postgres.Config{URL: at})
	if err != nil {
		return 0, err
	}
	defer log.Close()
	if _, err := log.Declare(ctx, takeoverTopic); err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { // A message for each partition, all the time.
		for p := 0; ctx.Err() == nil; p = (p + 1) % takeoverTopic.Partitions {
			_ = log.Append(ctx, takeoverTopic.Name, p, queue.Batch{Messages: []queue.Message{{Type: "beat", Time: time.Now()}}})
			time.Sleep(5 * time.Millisecond)
		}
	})
	var mu sync.Mutex
	seen := map[int]time.Time{} // When each partition was read last, here.
	wg.Go(func() {
		_ = readBeats(ctx, at, func(d queue.Delivery) {
			mu.Lock()
			defer mu.Unlock()
			seen[d.Partition] = time.Now()
		})
	})
	readSince := func(since time.Time) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, at := range seen {
			if at.After(since) {
				n++
			}
		}
		return n
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	other := exec.CommandContext(ctx, self, "member", at)
	if err := other.Start(); err != nil {
		return 0, err
	}
	// Once this member has two of the four for a second, the other one has the rest.
	for since := time.Now(); time.Since(since) < time.Second && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if readSince(time.Now().Add(-300*time.Millisecond)) != 2 {
			since = time.Now()
		}
	}
	if err := other.Process.Kill(); err != nil {
		return 0, err
	}
	_ = other.Wait() // By its signal.
	died := time.Now()
	for readSince(died) < takeoverTopic.Partitions && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return time.Since(died), ctx.Err()
}
