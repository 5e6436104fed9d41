package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"snip"
	"snip/store"
	"snip/wire"
)

// local is the stores of this host. Whoever can read them needs no key.
type local struct {
	*store.Store
	cfg config
}

// openLocal opens the stores that a server runs on, or ran on.
func openLocal(ctx context.Context, environ []string) (place, error) {
	cfg, err := readConfig(environ, parts{})
	if err != nil {
		return place{}, err
	}
	if cfg.Database == "" {
		if _, err := os.Stat(cfg.database()); err != nil {
			return place{}, &hintError{err, "set SNIP_DATA_DIR to the directory that Snip runs on, or DATABASE_URL"}
		}
	}
	s, err := openLinks(ctx, cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return place{}, err
	}
	return place{service: &local{s, cfg}, zone: cfg.TimeZone.Location, close: s.Close}, nil
}

// ShortURL is where the server's configuration puts a link.
func (l *local) ShortURL(link snip.Link) string {
	base := cmp.Or(l.cfg.BaseURL, "http://"+l.cfg.Addr)
	if link.Domain != "" {
		scheme, _, _ := strings.Cut(base, "://")
		base = scheme + "://" + link.Domain
	}
	return base + "/" + link.Code
}

// StatsJSON answers as the API does, but that up to when clicks are counted is not
// known here.
func (l *local) StatsJSON(ctx context.Context, p url.Values) (json.RawMessage, error) {
	q := snip.StatsQuery{Codes: p["code"], Tag: p.Get("tag"), Step: snip.StepDay}
	if p.Has("domain") {
		domain := p.Get("domain")
		q.Domain = &domain
	}
	var err error
	if q.Range, err = l.days(p); err != nil {
		return nil, err
	}
	if p.Has("step") {
		if q.Step, err = snip.ParseStep(p.Get("step")); err != nil {
			return nil, err
		}
	}
	if q.Top, err = strconv.Atoi(cmp.Or(p.Get("top"), "10")); err != nil {
		return nil, &snip.Error{Code: snip.Invalid, Field: "top", Message: "Must be a whole number."}
	}
	st, err := l.Stats(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wire.StatsOf(st))
}

// PopularJSON answers as the API does.
func (l *local) PopularJSON(ctx context.Context, p url.Values) (json.RawMessage, error) {
	r, err := l.days(p)
	if err != nil {
		return nil, err
	}
	limit, err := strconv.Atoi(cmp.Or(p.Get("limit"), "10"))
	if err != nil {
		return nil, &snip.Error{Code: snip.Invalid, Field: "limit", Message: "Must be a whole number."}
	}
	popular, err := l.Popular(ctx, r, limit)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wire.PopularOf(popular, l.ShortURL))
}

// days are those that were named, or the last 30.
func (l *local) days(p url.Values) (r snip.Range, err error) {
	r.Zone = l.cfg.TimeZone.Location
	if p.Has("zone") {
		z, err := parseZone(p.Get("zone"))
		if err != nil {
			return r, &snip.Error{Code: snip.Invalid, Field: "zone", Message: err.Error() + "."}
		}
		r.Zone = z.(zone).Location
	}
	r.To = snip.DateOf(time.Now().In(r.Zone))
	for name, d := range map[string]*snip.Date{"to": &r.To, "from": &r.From} {
		if !p.Has(name) {
			continue
		}
		if *d, err = snip.ParseDate(p.Get(name)); err != nil {
			return r, &snip.Error{Code: snip.Invalid, Field: name, Message: err.Error() + "."}
		}
	}
	if !p.Has("from") {
		r.From = r.To.AddDays(-29)
	}
	return r, nil
}

// onHost opens the stores for what is done on the host itself, before a server ran, too.
func onHost(ctx context.Context, environ []string, do func(*store.Store) error) error {
	cfg, err := readConfig(environ, parts{})
	if err != nil {
		return err
	}
	s, err := openLinks(ctx, cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return &hintError{err, "set DATABASE_URL or SNIP_DATA_DIR to what Snip runs on"}
	}
	if err := errors.Join(do(s), s.Close()); err != nil {
		return fmt.Errorf("on this host: %w", err)
	}
	return nil
}
