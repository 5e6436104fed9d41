package wire

import "snip"

// Popular is which links were followed.
type Popular struct {
	Range
	Counts
	Links []LinkCount `json:"links"`
	More  Counts      `json:"more"`
	Freshness
}

// LinkCount is what was counted for one link. The link's own figures are those of
// all time.
type LinkCount struct {
	Link Link `json:"link"`
	Counts
}

// PopularOf writes which links were followed; shortURL tells where a code is.
func PopularOf(p snip.Popular, shortURL func(code string) string) Popular {
	return Popular{
		Range: rangeOf(p.Range), Counts: Counts(p.Counts),
		Links: each(p.Links, func(l snip.LinkCount) LinkCount {
			return LinkCount{LinkOf(l.Link, shortURL(l.Link.Code)), Counts(l.Counts)}
		}),
		More: Counts(p.More), Freshness: freshnessOf(p.Coarse, p.CountedUpTo, p.Dropped),
	}
}

// Popular returns what was written. It fails as Stats does.
func (p Popular) Popular() (snip.Popular, error) {
	var r reader
	out := snip.Popular{
		Range: r.days(p.Range), Counts: snip.Counts(p.Counts),
		Links: each(p.Links, func(l LinkCount) snip.LinkCount {
			return snip.LinkCount{Link: l.Link.Link(), Counts: snip.Counts(l.Counts)}
		}),
		More: snip.Counts(p.More), Coarse: instant(p.Coarse), CountedUpTo: instant(p.CountedUpTo), Dropped: p.Dropped,
	}
	return out, r.err
}

// UnknownCodes is which codes without a link were asked for.
type UnknownCodes struct {
	Range
	Hits  int64      `json:"hits"`
	Codes []CodeHits `json:"codes"`
	More  int64      `json:"more"`
	Other int64      `json:"other"`
}

// CodeHits is how often a code was asked for.
type CodeHits struct {
	Code string `json:"code"`
	Hits int64  `json:"hits"`
}

// UnknownCodesOf writes which codes without a link were asked for.
func UnknownCodesOf(u snip.UnknownCodes) UnknownCodes {
	return UnknownCodes{
		Range: rangeOf(u.Range), Hits: u.Hits, More: u.More, Other: u.Other,
		Codes: each(u.Codes, func(c snip.CodeHits) CodeHits { return CodeHits(c) }),
	}
}

// UnknownCodes returns what was written. It fails as Stats does.
func (u UnknownCodes) UnknownCodes() (snip.UnknownCodes, error) {
	var r reader
	out := snip.UnknownCodes{
		Range: r.days(u.Range), Hits: u.Hits, More: u.More, Other: u.Other,
		Codes: each(u.Codes, func(c CodeHits) snip.CodeHits { return snip.CodeHits(c) }),
	}
	return out, r.err
}
