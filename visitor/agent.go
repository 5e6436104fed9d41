package visitor

import (
	"cmp"
	"strings"

	"snip"
)

// agent is what a user agent tells.
type agent struct {
	class               snip.Class
	browser, os, device string
}

// readAgent classifies a user agent. Programs are told by their names, previews
// before bots. A person is whoever sends what browsers send: the form "Mozilla/5.0
// (…)" with a browser, a system or an app in it, or the name of a browser that has
// another form. All else, an empty user agent among it, is unknown.
func (r *Reader) readAgent(s string) agent {
	if class, ok := r.crawlers.class(innocent(s)); ok {
		return agent{class: class, browser: unknown, os: unknown, device: unknown}
	}
	a := agent{class: snip.Unknown, browser: nameIn(apps[:], s)}
	browserForm := strings.HasPrefix(s, "Mozilla/") || strings.HasPrefix(s, "Opera/")
	if a.browser == "" || browserForm {
		// What an app sends in a form of its own names its system in one, too.
		a.os = nameIn(systems[:], s)
	}
	if a.browser != "" {
		a.class = snip.Human
	} else {
		a.browser = nameIn(browsers[:], s)
	}
	a.device = deviceIn(s, a.os)
	if browserForm && (a.browser != "" || a.os != "" || a.device != "") {
		a.class = snip.Human
	}
	a.browser = cmp.Or(a.browser, unknown)
	a.os = cmp.Or(a.os, unknown)
	a.device = cmp.Or(a.device, unknown)
	return a
}
