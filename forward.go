package snip

import (
	"net/url"
	"strings"
)

// forward adds to the location of a target of the web what a visitor brought: rest,
// which is empty or begins with a slash, to its path, and query as the policy says.
// What the target has itself keeps its bytes.
//
// What is added becomes visible ASCII: whatever else a request line can hold is
// percent-encoded, which browsers do before they send it.
func forward(location, rest, query string, policy QueryPolicy) string {
	if policy == QueryOff || strings.Trim(query, "&") == "" {
		query = ""
	}
	if rest == "" && query == "" {
		return location
	}
	fragment := ""
	if i := strings.IndexByte(location, '#'); i >= 0 {
		location, fragment = location[:i], location[i:]
	}
	base, own, asked := strings.Cut(location, "?")
	switch policy {
	case QueryKeep:
		query = without(query, own)
	case QueryOverride:
		own = without(own, query)
	}
	b := make([]byte, 0, len(location)+len(rest)+len(query)+len(fragment)+2)
	if rest != "" {
		base = strings.TrimSuffix(base, "/")
	}
	b = append(b, base...)
	b = appendVisible(b, rest, '?')
	if asked || query != "" {
		b = append(b, '?')
		b = append(b, own...)
		if own != "" && query != "" && !strings.HasSuffix(own, "&") && query[0] != '&' {
			b = append(b, '&')
		}
		b = appendVisible(b, query, '#')
	}
	return string(append(b, fragment...))
}

// without returns a query without the parameters whose names another one has, too.
func without(query, other string) string {
	if query == "" || other == "" {
		return query
	}
	names := map[string]bool{}
	for pair := range strings.SplitSeq(other, "&") {
		if pair != "" {
			names[nameOf(pair)] = true
		}
	}
	taken := false
	kept := make([]string, 0, 8)
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" && names[nameOf(pair)] {
			taken = true
		} else if pair != "" {
			kept = append(kept, pair)
		}
	}
	if !taken {
		return query
	}
	return strings.Join(kept, "&")
}

// nameOf returns the name of a parameter, decoded.
func nameOf(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if !strings.ContainsAny(name, "%+") {
		return name
	}
	decoded := make([]byte, 0, len(name))
	for name != "" {
		var c byte
		c, name = nextByte(name, true)
		decoded = append(decoded, c)
	}
	return string(decoded)
}

// reads reports whether what is encoded reads as a text, without making it.
func reads(encoded, text string) bool {
	for encoded != "" {
		var c byte
		c, encoded = nextByte(encoded, true)
		if text == "" || text[0] != c {
			return false
		}
		text = text[1:]
	}
	return text == ""
}

// nextByte decodes the first byte of what is encoded. A broken escape stands for
// itself, as it does for browsers.
func nextByte(encoded string, plusIsSpace bool) (c byte, rest string) {
	c = encoded[0]
	switch {
	case c == '+' && plusIsSpace:
		return ' ', encoded[1:]
	case c == '%' && len(encoded) >= 3:
		high, ok1 := hexDigit(encoded[1])
		low, ok2 := hexDigit(encoded[2])
		if ok1 && ok2 {
			return high<<4 | low, encoded[3:]
		}
	}
	return c, encoded[1:]
}

func hexDigit(c byte) (value byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// climbs reports a path with a segment . or .., encoded or not. It would lead out of
// the path that it is added to.
func climbs(path string) bool {
	dots, other := 0, false // Of the segment so far.
	for path != "" {
		var c byte
		c, path = nextByte(path, false)
		switch c {
		case '/', '\\': // Browsers take both for the end of a segment.
			if !other && (dots == 1 || dots == 2) {
				return true
			}
			dots, other = 0, false
		case '.':
			dots++
		default:
			other = true
		}
	}
	return !other && (dots == 1 || dots == 2)
}

// appendVisible appends s, with every byte percent-encoded that is end or # or that
// is no visible character of ASCII.
func appendVisible(b []byte, s string, end byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == end || c == '#' {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// query writes the parameters of a campaign that are set.
func (c Campaign) query() string {
	var b strings.Builder
	for _, p := range [...]struct{ name, value string }{
		{"utm_source", c.Source}, {"utm_medium", c.Medium}, {"utm_campaign", c.Name}, {"utm_term", c.Term}, {"utm_content", c.Content},
	} {
		if p.value == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name + "=" + url.QueryEscape(p.value))
	}
	return b.String()
}
