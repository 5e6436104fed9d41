package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"snip"
	"snip/store"
)

// fillBatch is more than a worker counts at a time, to be done sooner.
const fillBatch = 50_000

func countBatch(ctx context.Context, s *store.Store, clicks []snip.Click) error {
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.CountClicks(ctx, tx, 0, clicks) })
}

// vacuum does what the server would do by itself in the minutes after so much came.
func vacuum(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return errors.Join(err, conn.Close(ctx))
}

// countOn counts clicks that come now, after all the others, and returns how many a
// second: in batches as a worker has them, the pauses after each included.
func countOn(ctx context.Context, s *store.Store, t *traffic, length time.Duration) (float64, error) {
	random := rand.New(rand.NewPCG(7, 8))
	people, add := newCrowd(random), t.add(random)
	n, began := 0, time.Now()
	for time.Since(began) < length {
		var batch []snip.Click
		for range batchSize {
			c := people.click(trafficEnd().Add(time.Since(began)))
			add(n, &c)
			batch = append(batch, c)
			n++
		}
		if err := countBatch(ctx, s, batch); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// shortenMany makes links for so long, on connections that are kept open, and returns
// how many a second.
func (s *instance) shortenMany(ctx context.Context, length time.Duration) (float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var made atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, connections)
	began := time.Now()
	for i := range connections {
		wg.Go(func() {
			for ; time.Since(began) < length && errs[i] == nil && ctx.Err() == nil; made.Add(1) {
				errs[i] = s.shortenOne(ctx, client, fmt.Sprintf(`{"url": "https://example.com/%d/%d"}`, i, made.Load()))
			}
		})
	}
	wg.Wait()
	return float64(made.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}

func (s *instance) shortenOne(ctx context.Context, client *http.Client, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/shorten", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return errors.New("shorten: " + resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body) // So that the connection is used again.
	return err
}
