package web

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"snip"
	"snip/visitor"
)

// limitWait is for the store to say whether a limited link may still be followed.
const limitWait = 2 * time.Second

// limit asks for one of the redirects that the click limit of a link leaves, or only
// whether there is one, and reports that. What the store gave after its time was over is
// lost to visitors: rather that than one too many.
func (s *Server) limit(r *http.Request, route *snip.Route, what snip.Limit) (bool, error) {
	// The end of the request does not cut it off: what was taken is noted as a click.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limitWait)
	defer cancel()
	ask := s.cfg.Limits.TakeClick
	if what == snip.LimitPeek {
		ask = s.cfg.Limits.ClickLeft
	}
	left, err := ask(ctx, route.Link, route.Special.ClickLimit)
	if err != nil && s.limitsAway.ends(s.cache.now()) {
		s.log.Warn("click limits cannot be asked for; links that have one wait", "error", err)
	}
	return left, err
}

// visitor returns what rules and limits ask of who comes. It is used at once and kept
// nowhere.
func (s *Server) visitor(r *http.Request) snip.Visitor {
	return s.cfg.Visitors.Visitor(visitor.Facts{
		Address:   s.cfg.Proxies.Client(r.RemoteAddr, r.Header),
		UserAgent: first(r.Header["User-Agent"]),
		Language:  first(r.Header["Accept-Language"]),
		Purpose:   cmp.Or(first(r.Header["Sec-Purpose"]), first(r.Header["Purpose"])),
	})
}
