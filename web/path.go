package web

import (
	"net/url"
	"strings"

	"snip"
)

// codePath is that of a visit to a link.
type codePath struct {
	code    string
	rest    string // What follows the code, encoded as it came, with its slash.
	preview bool   // The code was followed by a +.
}

// pathOf tells whether an address is /code, /code+ or /code/more, and none of the
// server's own. Whether a link takes more than its code is its own matter.
func pathOf(u *url.URL) (p codePath, ok bool) {
	text := u.Path
	if u.RawPath != "" {
		text = u.RawPath // An encoded slash ends no code.
	}
	if len(text) < 2 || text[0] != '/' {
		return codePath{}, false
	}
	p.code = text[1:]
	if i := strings.IndexByte(p.code, '/'); i >= 0 {
		p.code, p.rest = p.code[:i], p.code[i:]
	}
	if u.RawPath != "" {
		code, err := url.PathUnescape(p.code)
		if err != nil {
			return codePath{}, false
		}
		p.code = code
	}
	if code, found := strings.CutSuffix(p.code, "+"); found && p.rest == "" {
		p.code, p.preview = code, true
	}
	if !isCode(p.code) {
		return codePath{}, false
	}
	if p.code == "shorten" || p.code == "api" || p.code == "-" {
		return codePath{}, false
	}
	if len(p.rest) > 1 {
		escaped := u.EscapedPath()
		p.rest = escaped[1+strings.IndexByte(escaped[1:], '/'):]
	}
	return p, true
}

// isCode reports whether a link could have this code, or could but for its being
// reserved.
func isCode(s string) bool {
	if s == "" || len(s) > snip.MaxCode {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
