package wire

import "snip"

// Popular is which links were followed.
type Popular struct {
	Range
	Counts
	Links []LinkCount `json:"links" doc:"The one with the most clicks of people first."`
	More  Counts      `json:"more" doc:"Of all other links."`
	Freshness
}

// LinkCount is what was counted for one link. The link's own figures are those of
// all time.
type LinkCount struct {
	Link Link `json:"link" doc:"Its own figures are those of all time."`
	Counts
}

// PopularOf writes which links were followed; shortURL tells where a link is followed.
func PopularOf(p snip.Popular, shortURL func(snip.Link) string) Popular {
	return Popular{
		Range: rangeOf(p.Range), Counts: Counts(p.Counts),
		Links: each(p.Links, func(l snip.LinkCount) LinkCount {
			return LinkCount{LinkOf(l.Link, shortURL(l.Link)), Counts(l.Counts)}
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
	Hits  int64      `json:"hits" doc:"The sum of codes, more and other."`
	Codes []CodeHits `json:"codes" doc:"The one with the most hits first."`
	More  int64      `json:"more" doc:"Hits of codes that are kept apart, but not in codes."`
	Other int64      `json:"other" doc:"Hits of codes that are not kept apart."`
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
