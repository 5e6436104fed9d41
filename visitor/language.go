package visitor

import (
	"strconv"
	"strings"
)

// readLanguage returns the primary tag of the language that Accept-Language likes
// best: the highest quality, of equal ones the first.
func readLanguage(header string) string {
	best, quality := unknown, 0.0
	for item := range strings.SplitSeq(header, ",") {
		tag, parameter, _ := strings.Cut(item, ";")
		primary, _, _ := strings.Cut(strings.TrimSpace(tag), "-")
		if !isLanguage(primary) {
			continue
		}
		if q := qualityOf(parameter); q > quality {
			best, quality = strings.ToLower(primary), q
		}
	}
	return best
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
