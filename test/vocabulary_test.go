package test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	domain "snip"
)

// vocabulary is what can be told of a click in each dimension but its class: few
// values come often, and many hardly ever.
type vocabulary [domain.NumDimensions]pool

type pool struct {
	texts []string
	zipf  *rand.Zipf
}

// odd are texts that somebody mishandles: markup, writing from right to left, texts
// that look the same, are no text, or sound like something else of the API.
var odd = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `&amp;`, `' OR 1=1 --`, `\`, `%00`, `null`, `0`,
	"مرحبا بالعالم", "שלום", "\u202eevil", "👩‍👩‍👧 🎉", "日本語", "e\u0301", "é", "É", "News", "news", " news", "\u2028",
	"other", "more", "top", "unknown", "human", "a,b;c=d", "a/b?c#d&e", strings.Repeat("ж", 100), strings.Repeat("x", 100),
}

func newVocabulary(rnd *rand.Rand) (v vocabulary) {
	for d, texts := range [domain.NumDimensions][]string{
		domain.ByReferrer: append(numbered("site-%d.example", 250), "", "xn--bcher-kva.example", "[2001:db8::1]"),
		domain.ByMedium:   {"direct", "search", "social", "email", "link", "unknown"},
		domain.ByBrowser:  append(numbered("Browser %d", 20), "unknown"),
		domain.ByOS:       append(numbered("System %d", 8), "unknown"),
		domain.ByDevice:   {"phone", "computer", "tablet", "unknown"},
		domain.ByLanguage: append(numbered("l%d", 60), "unknown"),
		domain.ByCountry:  append(numbered("C%d", 200), "unknown"),
		domain.ByRegion:   append(numbered("Région %d", 300), "unknown"),
		domain.ByCampaign: append(numbered("campaign-%d", 250), ""),
		domain.ByAlias:    append(numbered("old-%d", 20), ""),
		domain.ByArm:      append(numbered("rule %d/arm 1", 20), "rule 1", "fallback", ""),
	} {
		texts = distinct(append(texts, odd...))
		rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		v[d] = pool{texts, rand.NewZipf(rnd, 1.2, 2, uint64(len(texts)-1))}
	}
	return v
}

func numbered(format string, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return texts
}

func distinct(texts []string) (once []string) {
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			once = append(once, text)
		}
	}
	return once
}

// fill tells of a click.
func (v *vocabulary) fill(rnd *rand.Rand, c *domain.Click) {
	switch n := rnd.IntN(10); {
	case n < 6:
		c.Class = domain.Human
	default:
		c.Class = domain.Class(n - 5) // Bot to Unknown.
	}
	for d, text := range [domain.NumDimensions]*string{
		domain.ByReferrer: &c.Referrer, domain.ByMedium: &c.Medium, domain.ByBrowser: &c.Browser,
		domain.ByOS: &c.OS, domain.ByDevice: &c.Device, domain.ByLanguage: &c.Language,
		domain.ByCountry: &c.Country, domain.ByRegion: &c.Region, domain.ByCampaign: &c.Campaign,
		domain.ByAlias: &c.Alias, domain.ByArm: &c.Arm,
	} {
		if text == nil {
			continue // The class.
		}
		*text = v[d].texts[v[d].zipf.Uint64()]
		switch domain.Dimension(d) {
		case domain.ByReferrer, domain.ByCampaign, domain.ByAlias, domain.ByArm: // Many have none at all.
			if rnd.IntN(4) == 0 {
				*text = ""
			}
		}
	}
}
