package web_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"snip"
	"snip/web"
)

// figures answers every question with the same, and remembers what it was asked.
type figures struct {
	snip.Service // Nothing else is asked for.

	stats   snip.Stats
	popular snip.Popular
	unknown snip.UnknownCodes
	err     error

	before func() // Called when it is asked.
	query  snip.StatsQuery
	days   snip.Range
	limit  int
}

var _ snip.Service = (*figures)(nil)

func (f *figures) Stats(_ context.Context, q snip.StatsQuery) (snip.Stats, error) {
	f.asked()
	f.query = q
	st := f.stats
	st.Domain, st.Codes, st.Tag, st.Range, st.Step = q.Domain, q.Codes, q.Tag, q.Range, q.Step
	return st, f.err
}

func (f *figures) Popular(_ context.Context, r snip.Range, limit int) (snip.Popular, error) {
	f.asked()
	f.days, f.limit = r, limit
	p := f.popular
	p.Range = r
	return p, f.err
}

func (f *figures) UnknownCodes(_ context.Context, r snip.Range, limit int) (snip.UnknownCodes, error) {
	f.asked()
	f.days, f.limit = r, limit
	u := f.unknown
	u.Range = r
	return u, f.err
}

func (f *figures) asked() {
	if f.before != nil {
		f.before()
	}
}

// openFigures opens a server over figures, at noon UTC of 29 November 2026.
func openFigures(t *testing.T, f *figures, cfg web.Config) func(pathAndQuery string) answer {
	t.Helper()
	cfg.Service = as(f)
	if cfg.Keys == nil {
		cfg.Keys = anyKey{}
	}
	cfg.Now = (&clock{now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}).Now
	w := newServer(t, cfg)
	return func(path string) answer {
		t.Helper()
		return do(t, w, http.MethodGet, path, "", "Authorization", "Bearer k")
	}
}

func date(t *testing.T, s string) snip.Date {
	t.Helper()
	d, err := snip.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
