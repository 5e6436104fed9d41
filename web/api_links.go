package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"snip"
	"snip/wire"
)

const (
	linksPath = "/api/v1/links"
	linkPath  = "/api/v1/links/{code}"
)

// versionOf returns the version that the header If-Match names: 0 for any, and for a tag
// that is none of ours a number that nothing has. A proxy that compresses answers
// weakens tags.
func versionOf(match string) int64 {
	if match == "" || match == "*" {
		return 0
	}
	n, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(match, "W/"), `"`), 10, 64)
	if err != nil || n < 1 {
		return -1
	}
	return n
}

func tagOf(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// linkBody is what may be said of a link when it is made.
type linkBody struct {
	Target      string         `json:"url" maxLength:"65536" doc:"Where the link leads. It is kept byte for byte." example:"https://example.com/spring"`
	Code        string         `json:"code,omitempty" pattern:"^[A-Za-z0-9_-]{0,64}$" doc:"Empty or left out: one is made up that nobody can guess." example:"spring"`
	Domain      string         `json:"domain,omitempty" maxLength:"255" doc:"Host that the code belongs to; empty for the instance's own." example:"go.example"`
	Title       string         `json:"title,omitempty" maxLength:"500"`
	Note        string         `json:"note,omitempty" maxLength:"5000" doc:"For those who manage the link."`
	Tags        []string       `json:"tags,omitempty" maxItems:"50" maxLength:"50" example:"spring,letter"`
	StartsAt    *time.Time     `json:"starts_at" required:"false" doc:"Before it visitors find nothing; null for at once." example:"2027-03-01T00:00:00+01:00"`
	ExpiresAt   *time.Time     `json:"expires_at" required:"false" doc:"From then on it answers 410 or leads to fallback_url; null for never." example:"2027-06-01T00:00:00+02:00"`
	ClickLimit  int64          `json:"click_limit,omitempty" minimum:"0" maximum:"1000000000" doc:"How many redirects there are; 0 for no limit."`
	Fallback    string         `json:"fallback_url,omitempty" maxLength:"65536" doc:"Where an expired or used-up link leads."`
	Password    string         `json:"password,omitempty" maxLength:"256" writeOnly:"true" doc:"Visitors are asked for it."`
	Status      int            `json:"status,omitempty" enum:"301,302,307,308" default:"307" doc:"Status of the redirect."`
	Query       string         `json:"query,omitempty" enum:"off,keep,override,append" default:"off" doc:"What becomes of a visitor's query. Targets with http: or https: only."`
	ForwardPath bool           `json:"forward_path,omitempty" doc:"Whether /code/more leads to the target with /more. Targets with http: or https: only."`
	Rules       []snip.Rule    `json:"rules,omitempty" maxItems:"20" doc:"The first that fits a visitor decides where it leads."`
	Campaign    *snip.Campaign `json:"campaign,omitempty" doc:"utm_ parameters that are added to the target. Targets with http: or https: only."`
	Reuse       bool           `json:"reuse,omitempty" doc:"Return a link that is there with the same domain, target and settings (200), rather than a new one (201). Not together with password."`
}

func (b *linkBody) link(idempotencyKey string) snip.NewLink {
	return snip.NewLink{
		Domain: b.Domain, Code: b.Code, Password: b.Password, Reuse: b.Reuse, IdempotencyKey: idempotencyKey,
		Settings: snip.Settings{
			Target: b.Target, Title: b.Title, Note: b.Note, Tags: b.Tags, StartsAt: orZero(b.StartsAt), ExpiresAt: orZero(b.ExpiresAt),
			ClickLimit: b.ClickLimit, Fallback: b.Fallback, Status: b.Status, Query: wire.QueryPolicy(b.Query),
			ForwardPath: b.ForwardPath, Rules: b.Rules, Campaign: orZero(b.Campaign),
		},
	}
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// linkEdit is what may be said of a link that is there. What is left out stays.
type linkEdit struct {
	Target      *string        `json:"url,omitempty" maxLength:"65536" doc:"Where the link leads." example:"https://example.com/summer"`
	Code        *string        `json:"code,omitempty" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"What was counted stays with the link."`
	KeepCode    bool           `json:"keep_code,omitempty" doc:"The old code stays as an alias. Only together with code."`
	Aliases     *[]string      `json:"aliases,omitempty" maxItems:"20" doc:"Those that stay. None can be added here."`
	Title       *string        `json:"title,omitempty" maxLength:"500"`
	Note        *string        `json:"note,omitempty" maxLength:"5000"`
	Tags        *[]string      `json:"tags,omitempty" maxItems:"50" maxLength:"50"`
	StartsAt    moment         `json:"starts_at,omitzero" doc:"null for at once."`
	ExpiresAt   moment         `json:"expires_at,omitzero" doc:"null for never."`
	ClickLimit  *int64         `json:"click_limit,omitempty" minimum:"0" maximum:"1000000000" doc:"0 for no limit."`
	Fallback    *string        `json:"fallback_url,omitempty" maxLength:"65536" doc:"Empty for none."`
	Password    *string        `json:"password,omitempty" maxLength:"256" writeOnly:"true" doc:"Empty for none."`
	Status      *int           `json:"status,omitempty" enum:"301,302,307,308"`
	Query       *string        `json:"query,omitempty" enum:"off,keep,override,append"`
	ForwardPath *bool          `json:"forward_path,omitempty"`
	Rules       *[]snip.Rule   `json:"rules,omitempty" maxItems:"20"`
	Campaign    *snip.Campaign `json:"campaign,omitempty" doc:"All of it: what is left out is taken away."`
	Archived    *bool          `json:"archived,omitempty" doc:"Archived links are left out of lists and go on leading where they lead."`
}

func (b *linkEdit) edit(version int64) snip.LinkEdit {
	e := snip.LinkEdit{
		Version: version, Code: b.Code, KeepCode: b.KeepCode, Aliases: b.Aliases, Password: b.Password, Archived: b.Archived,
		Target: b.Target, Title: b.Title, Note: b.Note, Tags: b.Tags, StartsAt: b.StartsAt.given(), ExpiresAt: b.ExpiresAt.given(),
		ClickLimit: b.ClickLimit, Fallback: b.Fallback, Status: b.Status, ForwardPath: b.ForwardPath, Rules: b.Rules, Campaign: b.Campaign,
	}
	if b.Query != nil {
		e.Query = pointer(wire.QueryPolicy(*b.Query))
	}
	return e
}

// moment is a time in an edit, which null takes away.
type moment struct {
	time.Time
	there bool
}

// Schema describes it.
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
}

// UnmarshalJSON reads a time or null.
func (m *moment) UnmarshalJSON(b []byte) error {
	m.there = true
	return m.Time.UnmarshalJSON(b) // Of null it makes nothing.
}

// given returns nil if it was left out, and the zero time for null.
func (m moment) given() *time.Time {
	if !m.there {
		return nil
	}
	return &m.Time
}

// linkAnswer is a link in its version.
type linkAnswer struct {
	ETag string `header:"ETag" doc:"The version, for If-Match." example:"\"3\""`
	Body wire.Link
}

// madeLink is a link that was asked for.
type madeLink struct {
	Status   int
	Location string `header:"Location" doc:"Where the API has it." example:"/api/v1/links/spring"`
	ETag     string `header:"ETag" doc:"The version, for If-Match." example:"\"1\""`
	Body     wire.Link
}

// Parts of what comes in have no types of their own: huma looks into exported fields
// only. What their names mean is said once, in describeParameters.

type makeLink struct {
	IdempotencyKey string `header:"Idempotency-Key"`
	Body           linkBody
}

type oneLink struct {
	Code   string `path:"code"`
	Domain string `query:"domain"`
}

type changeLink struct {
	Code    string `path:"code"`
	Domain  string `query:"domain"`
	IfMatch string `header:"If-Match"`
	Body    linkEdit
}

type dropLink struct {
	Code    string `path:"code"`
	Domain  string `query:"domain"`
	IfMatch string `header:"If-Match"`
}

func (s *Server) mountLinks(a *api) {
	const tag = "Links"
	register(a, operation{
		id: "create-link", method: http.MethodPost, path: linksPath, tag: tag, scope: snip.ScopeWrite, status: http.StatusCreated,
		summary: "Make a link", about: "It is on disk when this answers. 200 stands for one that was there already, where reuse asks for that.",
		refused: []snip.Code{snip.NotFound, snip.Conflict, snip.Reused},
	}, s.createLink)
	also(a.OpenAPI().Paths[linksPath].Post, http.StatusCreated, http.StatusOK, "It was there already.")
	register(a, operation{
		id: "get-link", method: http.MethodGet, path: linkPath, tag: tag, scope: snip.ScopeRead,
		summary: "Get a link", refused: []snip.Code{snip.NotFound},
	}, s.getLink)
	register(a, operation{
		id: "edit-link", method: http.MethodPatch, path: linkPath, tag: tag, scope: snip.ScopeWrite,
		summary: "Change a link", about: "What is left out stays as it is. null takes a time away.",
		refused: []snip.Code{snip.NotFound, snip.Conflict, snip.Changed},
	}, s.editLink)
	register(a, operation{
		id: "delete-link", method: http.MethodDelete, path: linkPath, tag: tag, scope: snip.ScopeWrite, status: http.StatusNoContent,
		summary: "Delete a link", about: "All that was counted for it goes with it. To end a link and keep that, let it expire.",
		refused: []snip.Code{snip.NotFound, snip.Changed},
	}, s.deleteLink)
	s.mountQR(a)
}

func (s *Server) createLink(ctx context.Context, c *caller, in *makeLink) (*madeLink, error) {
	n := in.Body.link(in.IdempotencyKey)
	l, made, err := c.CreateLink(ctx, n)
	// A store that did not answer in time may have kept the link all the same.
	s.forget(snip.Ref{Domain: n.Domain, Code: n.Code}, snip.Ref{Domain: l.Domain, Code: l.Code})
	if err != nil {
		return nil, err
	}
	out := &madeLink{Status: http.StatusOK, Location: addressOf(l), ETag: tagOf(l.Version), Body: s.wireLink(c, l)}
	if made {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *Server) getLink(ctx context.Context, c *caller, in *oneLink) (*linkAnswer, error) {
	return s.linkAnswer(c)(c.Link(ctx, snip.Ref{Domain: in.Domain, Code: in.Code}))
}

func (s *Server) editLink(ctx context.Context, c *caller, in *changeLink) (*linkAnswer, error) {
	ref := snip.Ref{Domain: in.Domain, Code: in.Code}
	l, err := c.EditLink(ctx, ref, in.Body.edit(versionOf(in.IfMatch)))
	// A store that did not answer in time may have kept the edit.
	s.forget(ref)
	if err == nil {
		s.forgetLink(l)
	}
	return s.linkAnswer(c)(l, err)
}

func (s *Server) deleteLink(ctx context.Context, c *caller, in *dropLink) (*struct{}, error) {
	ref := snip.Ref{Domain: in.Domain, Code: in.Code}
	err := c.DeleteLink(ctx, ref, versionOf(in.IfMatch))
	s.forget(ref)
	return nil, err
}

func (s *Server) linkAnswer(c *caller) func(snip.Link, error) (*linkAnswer, error) {
	return func(l snip.Link, err error) (*linkAnswer, error) {
		if err != nil {
			return nil, err
		}
		return &linkAnswer{ETag: tagOf(l.Version), Body: s.wireLink(c, l)}, nil
	}
}

func (s *Server) wireLink(c *caller, l snip.Link) wire.Link {
	return wire.LinkOf(l, s.shortURL(c.request, l.Domain, l.Code))
}

// addressOf is where the API has a link.
func addressOf(l snip.Link) string {
	address := linksPath + "/" + url.PathEscape(l.Code)
	if l.Domain != "" {
		address += "?domain=" + url.QueryEscape(l.Domain)
	}
	return address
}

// shortURL is where a code is followed: at the public address, or else where the
// request came to; a custom domain is spoken to as that is.
func (s *Server) shortURL(r *http.Request, domain, code string) string {
	scheme, host, ok := strings.Cut(s.cfg.BaseURL, "://")
	if !ok {
		scheme, host = "http", r.Host
		if r.TLS != nil {
			scheme = "https"
		}
	}
	if domain != "" {
		host = domain
	}
	return scheme + "://" + host + "/" + code
}

// forget takes codes out of the cache whose links were changed here. The other
// instances, and this one for aliases that are gone, are told by the topic.
func (s *Server) forget(refs ...snip.Ref) {
	for _, r := range refs {
		s.cache.invalidate(place{r.Domain, r.Code})
		if folded := strings.ToLower(r.Code); folded != r.Code {
			s.cache.invalidate(place{r.Domain, folded})
		}
	}
}

func (s *Server) forgetLink(l snip.Link) {
	s.forget(snip.Ref{Domain: l.Domain, Code: l.Code})
	for _, alias := range l.Aliases {
		s.forget(snip.Ref{Domain: l.Domain, Code: alias})
	}
}
