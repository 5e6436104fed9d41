package snip

import (
	"math/bits"
	"slices"
	"strings"
	"time"
)

// choose returns the arm that a visit falls to, or nil if no rule fits it.
func (s *Special) choose(v *Visit, now time.Time) *RouteArm {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.When.fit(v, now) {
			return r.arm(v.Visitor.Hash)
		}
	}
	return nil
}

// fit reports whether all conditions are met. Lists are spelled as Visitor spells.
func (c *Conditions) fit(v *Visit, now time.Time) bool {
	switch {
	case len(c.Devices) > 0 && !slices.Contains(c.Devices, v.Visitor.Device),
		len(c.Systems) > 0 && !slices.Contains(c.Systems, v.Visitor.OS),
		len(c.Countries) > 0 && !slices.Contains(c.Countries, v.Visitor.Country),
		len(c.Languages) > 0 && !coversLanguage(c.Languages, v.Visitor.Language),
		!c.From.IsZero() && now.Before(c.From),
		!c.Until.IsZero() && !now.Before(c.Until):
		return false
	}
	for name, values := range c.Query {
		if !brings(v.Query, name, values) {
			return false
		}
	}
	return true
}

// coversLanguage reports whether one of some languages is another one, or that in
// general: de covers de-at.
func coversLanguage(languages []string, one string) bool {
	for _, l := range languages {
		if after, ok := strings.CutPrefix(one, l); ok && (after == "" || after[0] == '-') {
			return true
		}
	}
	return false
}

// brings reports whether a query has a parameter with one of some values; any value
// will do if there are none.
func brings(query, name string, values []string) bool {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		if pair == "" || !reads(key, name) {
			continue
		}
		if len(values) == 0 || slices.ContainsFunc(values, func(want string) bool { return reads(value, want) }) {
			return true
		}
	}
	return false
}

// arm returns the arm that a visitor stays on.
func (r *RouteRule) arm(visitor uint64) *RouteArm {
	sum := uint64(0)
	for i := range r.Arms {
		sum += uint64(r.Arms[i].Weight)
	}
	// The high half of the product is an even share of 0 to sum-1.
	share, _ := bits.Mul64(mix(visitor^r.seed), sum)
	for i := range r.Arms {
		weight := uint64(r.Arms[i].Weight)
		if share < weight {
			return &r.Arms[i]
		}
		share -= weight
	}
	return &r.Arms[len(r.Arms)-1] // Only of a split whose weights are all zero, which no link is given.
}

// mix spreads every bit of a number over all of them (the last step of SplitMix64).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
