package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// visible measures how long it takes from a click, of a Snip that had nothing to do,
// until the API tells it.
func visible(ctx context.Context, b *bench) ([]row, error) {
	var all []*watched
	for _, setting := range []struct {
		name     string
		onServer bool
		parts    []string
	}{
		{"one process on files", false, nil},
		{"web and worker on files", false, []string{"web", "worker"}},
		{"one process on PostgreSQL", true, nil},
		{"web and worker on PostgreSQL", true, []string{"web", "worker"}},
	} {
		at, err := b.newPlace(ctx, setting.onServer)
		if err != nil {
			return nil, err
		}
		s, err := b.startSnip(ctx, at, setting.parts...)
		if err != nil {
			return nil, err
		}
		key, err := s.newKey(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, &watched{instance: s, key: key, row: row{what: "click until visible, " + setting.name, unit: "ms", bar: p99AtMost(1000)}})
	}
	for i := range b.samples + 1 {
		for _, w := range all {
			took, err := w.click(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.row.what, err)
			}
			if i > 0 { // Before the first one, the worker joins.
				w.row.measured = append(w.row.measured, took.Seconds()*1e3)
			}
		}
		// All have been idle for this long when they are clicked again, and are not always
		// in the same part of whatever they do at intervals.
		time.Sleep(time.Second + time.Duration(i%10)*37*time.Millisecond)
	}
	var rows []row
	for _, w := range all {
		rows = append(rows, w.row)
	}
	return rows, nil
}

// watched is an instance whose figures are read.
type watched struct {
	*instance
	key string
	row row
}

// click follows the link, and waits until the API has counted it.
func (w *watched) click(ctx context.Context) (time.Duration, error) {
	before, err := w.clicks(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := (load{address: w.address, path: onePath("/bench")}).times(ctx, 1); err != nil {
		return 0, err
	}
	for time.Since(began) < patience {
		now, err := w.clicks(ctx)
		if err != nil {
			return 0, err
		}
		if now == before+1 {
			return time.Since(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("a click is not counted after %s", patience)
}

func (w *watched) clicks(ctx context.Context) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+"/api/v1/links/bench", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, errors.New("read the link: " + resp.Status)
	}
	var link struct {
		Clicks *int64 `json:"clicks"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&link); err != nil {
		return 0, err
	}
	if link.Clicks == nil {
		return 0, errors.New("the link has no clicks")
	}
	return *link.Clicks, nil
}
