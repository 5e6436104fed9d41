package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"snip"
	"snip/wire"
)

// defaultDays is how many days are told of where no first day is named.
const defaultDays = 30

// linkStats tells what was counted for one link.
func (s *Server) linkStats(w http.ResponseWriter, r *http.Request) {
	query, err := readQuery(r, "from", "to", "zone", "step", "top")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answerStats(w, r, query, r.PathValue("code"))
}

// allStats tells what was counted for a set of links, or for everything.
func (s *Server) allStats(w http.ResponseWriter, r *http.Request) {
	query, err := readQuery(r, "code", "from", "to", "zone", "step", "top")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answerStats(w, r, query, query["code"]...)
}

func (s *Server) answerStats(w http.ResponseWriter, r *http.Request, query url.Values, codes ...string) {
	q, err := s.readStatsQuery(query, codes)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	upTo, dropped := s.progress(r.Context())
	st, err := s.cfg.Stats.Stats(r.Context(), q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	st.CountedUpTo, st.Dropped = upTo, dropped
	s.json(w, http.StatusOK, wire.StatsOf(st))
}

// popularLinks tells which links were followed most.
func (s *Server) popularLinks(w http.ResponseWriter, r *http.Request) {
	days, limit, err := s.readReport(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	upTo, dropped := s.progress(r.Context())
	p, err := s.cfg.Stats.Popular(r.Context(), days, limit)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	p.CountedUpTo, p.Dropped = upTo, dropped
	s.json(w, http.StatusOK, wire.PopularOf(p, func(code string) string { return s.shortURL(r, code) }))
}

// unknownCodes tells which codes without a link were asked for most.
func (s *Server) unknownCodes(w http.ResponseWriter, r *http.Request) {
	days, limit, err := s.readReport(r)
	var u snip.UnknownCodes
	if err == nil {
		u, err = s.cfg.Stats.UnknownCodes(r.Context(), days, limit)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.json(w, http.StatusOK, wire.UnknownCodesOf(u))
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

// readQuery reads the parameters of a question. It refuses what it does not know:
// with one parameter misspelt, figures of something else would look right.
func readQuery(r *http.Request, names ...string) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &snip.Error{Code: snip.Invalid, Message: "The query of the address cannot be read: " + err.Error() + "."}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(names, name):
			return nil, wrongParameter(name, "There is no such parameter. There are %s.", strings.Join(names, ", "))
		case len(query[name]) > 1 && name != "code":
			return nil, wrongParameter(name, "Is given more than once.")
		}
	}
	return query, nil
}

func (s *Server) readStatsQuery(query url.Values, codes []string) (q snip.StatsQuery, err error) {
	q.Codes, q.Step = codes, snip.StepDay
	if q.Range, err = s.readRange(query); err != nil {
		return q, err
	}
	if query.Has("step") {
		if q.Step, err = snip.ParseStep(query.Get("step")); err != nil {
			return q, err
		}
	}
	top, err := number(query, "top", 0, snip.MaxTop, 10)
	if err != nil {
		return q, err
	}
	q.Top = int(top)
	return q, q.Check()
}

// readReport reads a question for a list over a range.
func (s *Server) readReport(r *http.Request) (days snip.Range, limit int, err error) {
	query, err := readQuery(r, "from", "to", "zone", "limit")
	if err != nil {
		return days, 0, err
	}
	if days, err = s.readRange(query); err != nil {
		return days, 0, err
	}
	n, err := number(query, "limit", 1, snip.MaxTop, 10)
	if err != nil {
		return days, 0, err
	}
	return days, int(n), days.Check(snip.StepMonth) // It has no steps: the longest is the least strict.
}

func (s *Server) readRange(query url.Values) (days snip.Range, err error) {
	days.Zone = s.cfg.Zone
	if query.Has("zone") {
		if days.Zone, err = readZone(query.Get("zone")); err != nil {
			return days, err
		}
	}
	days.To = snip.DateOf(s.cfg.Now().In(days.Zone))
	if query.Has("to") {
		if days.To, err = readDay(query, "to"); err != nil {
			return days, err
		}
	}
	days.From = days.To.AddDays(1 - defaultDays)
	if query.Has("from") {
		days.From, err = readDay(query, "from")
	}
	return days, err
}

func readDay(query url.Values, name string) (snip.Date, error) {
	d, err := snip.ParseDate(query.Get(name))
	if err != nil {
		return d, wrongParameter(name, "Must be a day such as 2026-11-29.")
	}
	return d, nil
}

// readZone finds a zone. "Local" would be this machine's own, whose name nobody
// else knows; those below "right" count leap seconds, and none of their days begins
// with a slot.
func readZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" || strings.HasPrefix(name, "right/") {
		return nil, wrongParameter("zone", "%.100q is no time zone. Name one such as Europe/Berlin or UTC.", name)
	}
	return zone, nil
}

func wrongParameter(name, format string, args ...any) error {
	return &snip.Error{Code: snip.Invalid, Field: name, Message: fmt.Sprintf(format, args...)}
}
