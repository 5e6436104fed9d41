package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"snip"
	"snip/wire"
)

// defaultDays is how many days are told of where no first day is named.
const defaultDays = 30

// Which days, and how finely: the parameters of questions for figures. They are text
// here, because an empty one is wrong and not the same as none.

type linkStatsInput struct {
	Code   string `path:"code"`
	Domain string `query:"domain"`
	From   string `query:"from"`
	To     string `query:"to"`
	Zone   string `query:"zone"`
	Step   string `query:"step" enum:"hour,day,week,month" default:"day" doc:"Of the series."`
	Top    int    `query:"top" minimum:"0" maximum:"1000" default:"10" doc:"How many values of each dimension."`
}

type statsInput struct {
	Codes  []string `query:"code,explode" maxItems:"100" minLength:"1" doc:"Of these links, by a code or alias each, on domain."`
	Domain string   `query:"domain" doc:"Of the links on this host; empty for the instance's own. Left out: for codes the instance's own, else any."`
	Tag    string   `query:"tag" minLength:"1" doc:"Of the links that have it now. Not together with code."`
	From   string   `query:"from"`
	To     string   `query:"to"`
	Zone   string   `query:"zone"`
	Step   string   `query:"step" enum:"hour,day,week,month" default:"day" doc:"Of the series."`
	Top    int      `query:"top" minimum:"0" maximum:"1000" default:"10" doc:"How many values of each dimension."`
}

type reportInput struct {
	From  string `query:"from"`
	To    string `query:"to"`
	Zone  string `query:"zone"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"How many to tell of."`
}

func (s *Server) mountStats(a *api) {
	const tag = "Statistics"
	register(a, operation{
		id: "get-link-stats", method: http.MethodGet, path: "/api/v1/links/{code}/stats", tag: tag, scope: snip.ScopeRead,
		summary: "Get figures of a link", refused: []snip.Code{snip.NotFound},
	}, s.linkStats)
	register(a, operation{
		id: "get-stats", method: http.MethodGet, path: "/api/v1/stats", tag: tag, scope: snip.ScopeRead, summary: "Get figures",
		about: "Of a set of links, of a domain, of a tag, or of all there is.", refused: []snip.Code{snip.NotFound},
	}, s.allStats)
	register(a, operation{
		id: "list-popular-links", method: http.MethodGet, path: "/api/v1/stats/links", tag: tag, scope: snip.ScopeRead,
		summary: "List popular links",
	}, s.popularLinks)
	register(a, operation{
		id: "list-unknown-codes", method: http.MethodGet, path: "/api/v1/stats/unknown-codes", tag: tag, scope: snip.ScopeRead,
		summary: "List codes without a link that were asked for",
	}, s.unknownCodes)
}

type statsAnswer struct{ Body wire.Stats }

// linkStats tells what was counted for one link.
func (s *Server) linkStats(ctx context.Context, c *caller, in *linkStatsInput) (*statsAnswer, error) {
	q := snip.StatsQuery{Domain: &in.Domain, Codes: []string{in.Code}, Top: in.Top}
	return s.stats(ctx, c, q, in.Step)
}

// allStats tells what was counted for a set of links, or for everything.
func (s *Server) allStats(ctx context.Context, c *caller, in *statsInput) (*statsAnswer, error) {
	q := snip.StatsQuery{Codes: in.Codes, Tag: in.Tag, Top: in.Top}
	if c.given("domain") {
		q.Domain = &in.Domain
	}
	return s.stats(ctx, c, q, in.Step)
}

func (s *Server) stats(ctx context.Context, c *caller, q snip.StatsQuery, step string) (*statsAnswer, error) {
	var err error
	if q.Range, err = s.days(c); err != nil {
		return nil, err
	}
	if q.Step, err = snip.ParseStep(step); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	upTo, dropped := s.progress(ctx)
	st, err := c.Stats(ctx, q)
	if err != nil {
		return nil, err
	}
	st.CountedUpTo, st.Dropped = upTo, dropped
	return &statsAnswer{wire.StatsOf(st)}, nil
}

// popularLinks tells which links were followed most.
func (s *Server) popularLinks(ctx context.Context, c *caller, in *reportInput) (*struct{ Body wire.Popular }, error) {
	days, err := s.daysOfReport(c)
	if err != nil {
		return nil, err
	}
	upTo, dropped := s.progress(ctx)
	p, err := c.Popular(ctx, days, in.Limit)
	if err != nil {
		return nil, err
	}
	p.CountedUpTo, p.Dropped = upTo, dropped
	return &struct{ Body wire.Popular }{wire.PopularOf(p, func(l snip.Link) string {
		return s.shortURL(c.request, l.Domain, l.Code)
	})}, nil
}

// unknownCodes tells which codes without a link were asked for most.
func (s *Server) unknownCodes(ctx context.Context, c *caller, in *reportInput) (*struct{ Body wire.UnknownCodes }, error) {
	days, err := s.daysOfReport(c)
	if err != nil {
		return nil, err
	}
	u, err := c.UnknownCodes(ctx, days, in.Limit)
	if err != nil {
		return nil, err
	}
	return &struct{ Body wire.UnknownCodes }{wire.UnknownCodesOf(u)}, nil
}

// progress returns up to when clicks are counted, zero if that is unknown, and how
// many were dropped. It is asked before the store is: what is counted meanwhile does
// no harm.
func (s *Server) progress(ctx context.Context) (upTo time.Time, dropped int64) {
	if s.cfg.Progress == nil {
		return time.Time{}, 0
	}
	upTo, dropped, err := s.cfg.Progress(ctx)
	if err != nil {
		s.log.Warn("how far clicks are counted is unknown", "error", err)
		upTo = time.Time{}
	}
	return upTo, dropped
}

// daysOfReport reads which days a list is of. It has no steps: the longest is the least
// strict.
func (s *Server) daysOfReport(c *caller) (snip.Range, error) {
	days, err := s.days(c)
	if err == nil {
		err = days.Check(snip.StepMonth)
	}
	return days, err
}

// days reads which days a question is of: the last thirty, where nothing is said.
func (s *Server) days(c *caller) (days snip.Range, err error) {
	days.Zone = s.zoneOf(c.key)
	query := c.request.URL.Query()
	if query.Has("zone") {
		if days.Zone, err = readZone(query.Get("zone")); err != nil {
			return days, err
		}
	}
	days.To = snip.DateOf(s.cfg.Now().In(days.Zone))
	if query.Has("to") {
		if days.To, err = readDay("to", query.Get("to")); err != nil {
			return days, err
		}
	}
	days.From = days.To.AddDays(1 - defaultDays)
	if query.Has("from") {
		days.From, err = readDay("from", query.Get("from"))
	}
	return days, err
}

// zoneOf returns the zone of a key, or the server's where it has none that this machine
// knows.
func (s *Server) zoneOf(k snip.Key) *time.Location {
	if zone, err := readZone(k.TimeZone); err == nil {
		return zone
	}
	return s.cfg.Zone
}

func readDay(name, text string) (snip.Date, error) {
	d, err := snip.ParseDate(text)
	if err != nil {
		return d, wrongField(name, "Must be a day such as 2026-11-29.")
	}
	return d, nil
}

// readZone finds a zone. "Local" would be this machine's own, whose name nobody
// else knows; those below "right" count leap seconds, and none of their days begins
// with a slot.
func readZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" || strings.HasPrefix(name, "right/") {
		return nil, wrongField("zone", "%.100q is no time zone. Name one such as Europe/Berlin or UTC.", name)
	}
	return zone, nil
}
