package web

import (
	"context"
	"net/http"

	"snip"
	"snip/problem"
	"snip/wire"
)

// listInput asks for part of a list.
type listInput struct {
	Search   string   `query:"search" maxLength:"200" doc:"Each word of it must begin a word in code, title, note or target. Case does not matter." example:"spring sale"`
	Domain   string   `query:"domain" doc:"Only links of this host; empty for the instance's own. Left out: of all."`
	Tags     []string `query:"tag,explode" maxItems:"50" minLength:"1" doc:"Only links with this tag, and with each that is given."`
	Owner    int64    `query:"owner" minimum:"1" doc:"Only links that this key made."`
	Archived string   `query:"archived" enum:"no,only,all" default:"no" doc:"Which links by whether they are archived."`
	Sort     string   `query:"sort" enum:"newest,oldest,updated,code,expiry" default:"newest" doc:"By expiry there are only links that expire."`
	Limit    int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Links of a page."`
	Cursor   string   `query:"cursor" doc:"next of the page before, of the same question."`
}

// bulkBody is one thing to be done to many links.
type bulkBody struct {
	Action snip.BulkAction `json:"action" enum:"tag,untag,archive,restore,delete"`
	Links  []snip.Ref      `json:"links" minItems:"1" maxItems:"1000"`
	Tags   []string        `json:"tags,omitempty" maxItems:"50" maxLength:"50" doc:"Of tag and untag."`
}

func (s *Server) mountManyLinks(a *api) {
	const tag = "Links"
	register(a, operation{
		id: "list-links", method: http.MethodGet, path: linksPath, tag: tag, scope: snip.ScopeRead, summary: "List links",
		about: "In pages: next of one is the cursor of the following. A link that is made meanwhile moves none to another page.",
	}, s.listLinks)
	register(a, operation{
		id: "change-links", method: http.MethodPost, path: "/api/v1/links/bulk", tag: tag, scope: snip.ScopeWrite, summary: "Change many links",
		about: "Tags, archives, restores or deletes each link, or says why not that one.",
	}, s.changeLinks)
	register(a, operation{
		id: "list-tags", method: http.MethodGet, path: "/api/v1/tags", tag: tag, scope: snip.ScopeRead, summary: "List tags",
	}, s.listTags)
}

func (s *Server) listLinks(ctx context.Context, c *caller, in *listInput) (*struct{ Body wire.LinkPage }, error) {
	q := snip.LinkQuery{
		Search: in.Search, Tags: in.Tags, Owner: in.Owner, Archived: in.Archived, Sort: snip.Sort(in.Sort), Limit: in.Limit, Cursor: in.Cursor,
	}
	if c.given("domain") {
		q.Domain = &in.Domain
	}
	page, err := c.ListLinks(ctx, q)
	if err != nil {
		return nil, err
	}
	out := wire.LinkPage{Links: make([]wire.Link, len(page.Links)), Next: page.Next}
	for i, l := range page.Links {
		out.Links[i] = s.wireLink(c, l)
	}
	return &struct{ Body wire.LinkPage }{out}, nil
}

func (s *Server) changeLinks(ctx context.Context, c *caller, in *struct{ Body bulkBody }) (*struct{ Body wire.BulkResult }, error) {
	result, err := c.ChangeLinks(ctx, snip.Bulk{Action: in.Body.Action, Links: in.Body.Links, Tags: in.Body.Tags})
	s.forget(in.Body.Links...)
	if err != nil {
		return nil, err
	}
	out := wire.BulkResult{Done: result.Done, Failed: make([]wire.BulkFailure, len(result.Failed))}
	for i, f := range result.Failed {
		p := problem.Of(f.Err)
		out.Failed[i] = wire.BulkFailure{Domain: f.Domain, Code: f.Code, Reason: p.Code, Message: p.Detail}
	}
	return &struct{ Body wire.BulkResult }{out}, nil
}

func (s *Server) listTags(ctx context.Context, c *caller, _ *struct{}) (*struct{ Body wire.TagList }, error) {
	tags, err := c.Tags(ctx)
	return &struct{ Body wire.TagList }{wire.TagListOf(tags)}, err
}
