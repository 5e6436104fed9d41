package web

import (
	"snip/event"
	"snip/queue"
)

// LinkChanged takes a message of topic "links": the redirect path asks the store again
// for the codes it names. What cannot be understood may be of any link.
func (s *Server) LinkChanged(m queue.Message) {
	if m.Type != event.LinkType {
		return // Some other thing that happened to a link, which no redirect depends on.
	}
	s.metrics.changes.Observe(max(0, s.cfg.Now().Sub(m.Time).Seconds()))
	c, err := event.DecodeLinkChange(m.Body)
	if err != nil {
		s.log.Warn("a change of a link cannot be understood, all links are asked for again", "error", err)
		s.ForgetLinks()
		return
	}
	for _, code := range c.Codes {
		s.cache.doubt(code)
	}
}

// ForgetLinks has the redirect path ask the store again for every code: changes may have
// been missed. Links already seen go on with the store away.
func (s *Server) ForgetLinks() {
	s.metrics.doubts.Inc()
	s.cache.doubtAll()
}
