package visitor

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCampaign bounds a campaign, in characters.
const maxCampaign = 100

// readQuery takes the campaign and the medium out of a query that may be broken or
// cut. The first of each counts. Most queries have none and are not decoded.
func readQuery(query string) (campaign, medium string) {
	var hasCampaign, hasMedium bool
	for query != "" && (!hasCampaign || !hasMedium) {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "utm_campaign" && !hasCampaign:
			campaign, hasCampaign = clean(decoded(value), maxCampaign), true
		case name == "utm_medium" && !hasMedium:
			medium, hasMedium = taggedMedium(decoded(value)), true
		}
	}
	return campaign, medium
}

// decoded returns a value as it came if its escapes are broken.
func decoded(value string) string {
	if d, err := url.QueryUnescape(value); err == nil {
		return d
	}
	return value
}

// taggedMedium maps the words that people put into utm_medium; others tell nothing.
func taggedMedium(s string) string {
	switch strings.ToLower(s) {
	case "email", "e-mail", "mail", "newsletter":
		return "email"
	case "social", "social-media", "social_media", "social media", "sm":
		return "social"
	case "organic", "search":
		return "search"
	case "paid", "cpc", "ppc", "cpm", "cpa", "display", "banner", "ad", "ads", "paid-search", "paidsearch", "paid_search",
		"paid-social", "paidsocial", "paid_social":
		return "paid"
	}
	return ""
}

// clean makes valid text without control characters of s, without white space at
// its ends, cut after n characters.
func clean(s string, n int) string {
	s = strings.TrimSpace(strings.Map(func(c rune) rune {
		switch {
		case c == '\t' || c == '\n' || c == '\r':
			return ' '
		case unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c):
			return -1
		}
		return c // Map turns bytes that are not UTF-8 into U+FFFD.
	}, s))
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := 0
	for i := range s {
		if runes == n {
			return strings.TrimSpace(s[:i])
		}
		runes++
	}
	return s
}
