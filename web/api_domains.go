package web

import (
	"context"
	"net/http"
	"net/url"

	"snip"
	"snip/wire"
)

// ownDomain names the instance's own domain in a path, which cannot hold its host: that
// is empty.
const ownDomain = "-"

// hostOf returns the host that a path names.
func hostOf(name string) string {
	if name == ownDomain {
		return ""
	}
	return name
}

type oneDomain struct {
	Host string `path:"host"`
}

type changeDomain struct {
	Host    string `path:"host"`
	IfMatch string `header:"If-Match"`
	Body    domainEdit
}

type dropDomain struct {
	Host    string `path:"host"`
	IfMatch string `header:"If-Match"`
}

// domainBody is what may be said of a domain when it is made.
type domainBody struct {
	Host         string `json:"host" maxLength:"255" doc:"Without port. An internationalised one is kept in ASCII." example:"go.example"`
	IgnoreCase   bool   `json:"ignore_case,omitempty" doc:"Whether codes that differ by case only are one."`
	Root         string `json:"root_url,omitempty" maxLength:"65536" doc:"Where / leads; empty for a page."`
	NotFound     string `json:"not_found_url,omitempty" maxLength:"65536" doc:"Where a code without a link leads; empty for a page."`
	NotFoundText string `json:"not_found_text,omitempty" maxLength:"5000" doc:"What that page says; empty for the usual words."`
}

// domainEdit is what may be said of a domain that is there. What is left out stays.
type domainEdit struct {
	IgnoreCase   *bool   `json:"ignore_case,omitempty" doc:"Refused while two codes differ by case only."`
	Root         *string `json:"root_url,omitempty" maxLength:"65536"`
	NotFound     *string `json:"not_found_url,omitempty" maxLength:"65536"`
	NotFoundText *string `json:"not_found_text,omitempty" maxLength:"5000"`
}

// domainAnswer is a domain in its version.
type domainAnswer struct {
	ETag string `header:"ETag" doc:"The version, for If-Match." example:"\"3\""`
	Body wire.Domain
}

type madeDomain struct {
	Location string `header:"Location" doc:"Where the API has it." example:"/api/v1/domains/go.example"`
	ETag     string `header:"ETag" doc:"The version, for If-Match." example:"\"1\""`
	Body     wire.Domain
}

func (s *Server) mountDomains(a *api) {
	const (
		tag  = "Domains"
		all  = "/api/v1/domains"
		path = "/api/v1/domains/{host}"
	)
	register(a, operation{
		id: "list-domains", method: http.MethodGet, path: all, tag: tag, scope: snip.ScopeRead, summary: "List domains",
		about: "The instance's own first, then by host.",
	}, s.listDomains)
	register(a, operation{
		id: "create-domain", method: http.MethodPost, path: all, tag: tag, scope: snip.ScopeAdmin, status: http.StatusCreated,
		summary: "Add a domain", refused: []snip.Code{snip.Conflict},
	}, s.createDomain)
	register(a, operation{
		id: "get-domain", method: http.MethodGet, path: path, tag: tag, scope: snip.ScopeRead, summary: "Get a domain",
		refused: []snip.Code{snip.NotFound},
	}, s.getDomain)
	register(a, operation{
		id: "edit-domain", method: http.MethodPatch, path: path, tag: tag, scope: snip.ScopeAdmin, summary: "Change a domain",
		about: "What is left out stays as it is.", refused: []snip.Code{snip.NotFound, snip.Conflict, snip.Changed},
	}, s.editDomain)
	register(a, operation{
		id: "delete-domain", method: http.MethodDelete, path: path, tag: tag, scope: snip.ScopeAdmin, status: http.StatusNoContent,
		summary: "Remove a domain", about: "Refused while it has links. The instance's own stays.",
		refused: []snip.Code{snip.NotFound, snip.Conflict, snip.Changed},
	}, s.deleteDomain)
}

func (s *Server) listDomains(ctx context.Context, c *caller, _ *struct{}) (*struct{ Body wire.DomainList }, error) {
	domains, err := c.ListDomains(ctx)
	return &struct{ Body wire.DomainList }{wire.DomainListOf(domains)}, err
}

func (s *Server) createDomain(ctx context.Context, c *caller, in *struct{ Body domainBody }) (*madeDomain, error) {
	d, err := c.CreateDomain(ctx, snip.NewDomain(in.Body))
	s.forgetDomains() // A store that did not answer in time may have kept it all the same.
	if err != nil {
		return nil, err
	}
	return &madeDomain{"/api/v1/domains/" + url.PathEscape(d.Host), tagOf(d.Version), wire.DomainOf(d)}, nil
}

func (s *Server) getDomain(ctx context.Context, c *caller, in *oneDomain) (*domainAnswer, error) {
	return domainAnswerOf(c.Domain(ctx, hostOf(in.Host)))
}

func (s *Server) editDomain(ctx context.Context, c *caller, in *changeDomain) (*domainAnswer, error) {
	d, err := c.EditDomain(ctx, hostOf(in.Host), snip.DomainEdit{
		Version: versionOf(in.IfMatch), IgnoreCase: in.Body.IgnoreCase, Root: in.Body.Root,
		NotFound: in.Body.NotFound, NotFoundText: in.Body.NotFoundText,
	})
	s.forgetDomains()
	return domainAnswerOf(d, err)
}

func (s *Server) deleteDomain(ctx context.Context, c *caller, in *dropDomain) (*struct{}, error) {
	err := c.DeleteDomain(ctx, hostOf(in.Host), versionOf(in.IfMatch))
	s.forgetDomains()
	return nil, err
}

func domainAnswerOf(d snip.Domain, err error) (*domainAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &domainAnswer{ETag: tagOf(d.Version), Body: wire.DomainOf(d)}, nil
}
