package visitor

import (
	"strconv"
	"strings"
)

// language is the one that a visitor likes best.
type language struct {
	primary string // Its first part in lower case, such as "pt"; unknown if there is none.
	tag     string // All of it in lower case, such as "pt-br"; empty if there is none.
}

// maxTag is the most bytes of a language that is more than its first part.
const maxTag = 35

// readLanguage returns the language that Accept-Language likes best: the one with the
// highest quality, of equal ones the first.
func readLanguage(header string) language {
	best, quality := language{primary: unknown}, 0.0
	for item := range strings.SplitSeq(header, ",") {
		tag, parameter, _ := strings.Cut(item, ";")
		tag = strings.TrimSpace(tag)
		primary, _, _ := strings.Cut(tag, "-")
		if !isLanguage(primary) {
			continue
		}
		if q := qualityOf(parameter); q > quality {
			best, quality = language{primary: strings.ToLower(primary)}, q
			best.tag = best.primary
			if isTag(tag) {
				best.tag = strings.ToLower(tag)
			}
		}
	}
	return best
}

// isTag reports whether a language has nothing but letters, digits and hyphens.
func isTag(s string) bool {
	for _, c := range []byte(s) {
		if low := c | 0x20; (low < 'a' || low > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return len(s) <= maxTag
}

// isLanguage reports a code of ISO 639, which has two or three letters.
func isLanguage(s string) bool {
	if len(s) != 2 && len(s) != 3 {
		return false
	}
	for _, c := range []byte(s) {
		if c |= 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// qualityOf reads "q=0.8". One that is broken says the least there is.
func qualityOf(parameter string) float64 {
	name, value, ok := strings.Cut(strings.TrimSpace(parameter), "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0.001
	}
	return q
}
