package web

import (
	"strings"

	"snip/event"
	"snip/queue"
)

// LinkChanged takes a message of topic "links": the redirect path asks the store again
// for the codes, or the domains, it names. What cannot be understood may be of any link.
func (s *Server) LinkChanged(m queue.Message) {
	switch m.Type {
	case event.DomainType:
		s.metrics.changes.Observe(max(0, s.cfg.Now().Sub(m.Time).Seconds()))
		s.domains.doubt() // Which one does not matter: they are read all at once.
	case event.LinkType:
		s.metrics.changes.Observe(max(0, s.cfg.Now().Sub(m.Time).Seconds()))
		c, err := event.DecodeLinkChange(m.Body)
		if err != nil {
			s.log.Warn("a change of a link cannot be understood, all links are asked for again", "error", err)
			s.ForgetLinks()
			return
		}
		eachPlace(c.Domain, c.Codes, s.cache.doubt)
	default: // Some other thing that happened to a link, which no redirect depends on.
	}
}

// ForgetLinks has the redirect path ask the store again for every code and all domains:
// changes may have been missed. Links already seen go on with the store away.
func (s *Server) ForgetLinks() {
	s.metrics.doubts.Inc()
	s.domains.doubt()
	s.cache.doubtAll()
}

// forgetDomains is for changes of domains that this process made itself.
func (s *Server) forgetDomains() { s.domains.doubt() }

// eachPlace calls f for wherever the cache may keep the links with these codes, whether
// the domain ignores case or not.
func eachPlace(domain string, codes []string, f func(place)) {
	for _, code := range codes {
		f(place{domain, code})
		if folded := strings.ToLower(code); folded != code {
			f(place{domain, folded})
		}
	}
}
