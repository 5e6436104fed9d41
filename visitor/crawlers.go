package visitor

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"snip"
)

//go:embed data/crawlers.json
var crawlerData []byte

// crawlers tells programs by their user agents. Literal parts of all patterns are
// found by their first two bytes, and only the patterns of those found are tried.
type crawlers struct {
	starts map[[2]byte][]*literal
}

type literal struct {
	text     string
	patterns []pattern
}

type pattern struct {
	class snip.Class
	re    *regexp.Regexp // Nil where the literal is all there is to it.
}

// programs are patterns of our own: what the list does not have, and words by
// which programs that nobody has listed yet give themselves away.
func programs() map[snip.Class][]string {
	return map[snip.Class][]string{
		snip.Bot: {
			`^curl`, `^libcurl`, `^Wget`, `^Java/`, `^Dalvik/`, `CFNetwork/`, `^PostmanRuntime/`, `^insomnia/`, `^GuzzleHttp`,
			`^Ruby`, `^Faraday`, `^undici`, `^node`, `^Deno/`, `^Bun/`, `PowerShell/`, `^WinHttp`, `^Microsoft-CryptoAPI`,
			`^reqwest`, `^hyper/`, `^Dart/`, `^k6/`, `^ApacheBench/`, `^hey/`, `^Python/`, `^PHP/`, `^HTTPie`,
			`PhantomJS`, `HeadlessChrome`, `\+https?://`,
			`(bot|Bot|BOT)([^a-zA-Z]|$)`, `(crawler|Crawler|CRAWLER)([^a-zA-Z]|$)`, `(spider|Spider|SPIDER)([^a-zA-Z]|$)`,
		},
		snip.Preview: {
			`Pleroma`, `Akkoma`, `Misskey`, `Cardyb`, `kakaotalk-scrap`, `ZulipURLPreview`, `^Signal`,
			`(unfurl|Unfurl)`, `(link|Link|url|URL|Url|uri|Uri)[ -]?[pP]review`,
		},
	}
}

// innocent takes out of a user agent the names of people's browsers and devices
// that hold the name of a crawler: a browser of Sogou's, a maker of phones.
func innocent(agent string) string {
	for _, name := range [...]string{"SogouMobileBrowser", "SogouSearch", "CUBOT", "Cubot"} {
		agent = strings.ReplaceAll(agent, name, "")
	}
	return agent
}

func newCrawlers() (*crawlers, error) {
	var listed struct{ Bot, Preview []string }
	if err := json.Unmarshal(crawlerData, &listed); err != nil {
		return nil, err
	}
	c := &crawlers{starts: map[[2]byte][]*literal{}}
	add := func(class snip.Class, expressions []string) error {
		for _, e := range expressions {
			parts, p, err := compile(class, e)
			if err != nil {
				return err
			}
			for _, text := range parts {
				l := c.literal(text)
				l.patterns = append(l.patterns, p)
			}
		}
		return nil
	}
	own := programs()
	for _, err := range []error{
		add(snip.Bot, listed.Bot), add(snip.Bot, own[snip.Bot]),
		add(snip.Preview, listed.Preview), add(snip.Preview, own[snip.Preview]),
	} {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// literal returns the literal of that text, of two bytes at least.
func (c *crawlers) literal(text string) *literal {
	start := [2]byte{text[0], text[1]}
	for _, l := range c.starts[start] {
		if l.text == text {
			return l
		}
	}
	l := &literal{text: text}
	c.starts[start] = append(c.starts[start], l)
	return l
}

// class returns Preview if any pattern of a preview matches, else Bot if any other
// does.
func (c *crawlers) class(agent string) (snip.Class, bool) {
	class, found := snip.Bot, false
	for i := range max(0, len(agent)-1) {
		for _, l := range c.starts[[2]byte{agent[i], agent[i+1]}] {
			if !strings.HasPrefix(agent[i:], l.text) {
				continue
			}
			for _, p := range l.patterns {
				if found && (p.class == class || class == snip.Preview) {
					continue
				}
				if p.re == nil || p.re.MatchString(agent) {
					class, found = p.class, true
				}
			}
		}
	}
	return class, found
}

// compile returns a pattern and literals of which one stands in all that it matches.
func compile(class snip.Class, expression string) ([]string, pattern, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, pattern{}, err
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, pattern{}, err
	}
	parts := required(tree)
	if shortest(parts) < 2 {
		return nil, pattern{}, fmt.Errorf("pattern %q has no literal part of two bytes or more", expression)
	}
	if tree.Op == syntax.OpLiteral {
		re = nil
	}
	return parts, pattern{class: class, re: re}, nil
}

// required returns strings of which one stands in every match; none if it cannot
// tell any.
func required(e *syntax.Regexp) []string {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase == 0 {
			return []string{string(e.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(e.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range e.Sub {
			if parts := required(sub); shortest(parts) > shortest(best) {
				best = parts
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range e.Sub {
			parts := required(sub)
			if len(parts) == 0 {
				return nil
			}
			all = append(all, parts...)
		}
		return all
	}
	return nil
}

func shortest(parts []string) int {
	n := 0
	for i, p := range parts {
		if i == 0 || len(p) < n {
			n = len(p)
		}
	}
	return n
}
