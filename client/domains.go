package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"snip"
	"snip/wire"
)

const domains = "/api/v1/domains"

// CreateDomain makes a domain.
func (c *Client) CreateDomain(ctx context.Context, n snip.NewDomain) (snip.Domain, error) {
	f := domainFields(snip.DomainEdit{
		IgnoreCase: said(n.IgnoreCase), Root: said(n.Root), NotFound: said(n.NotFound), NotFoundText: said(n.NotFoundText),
	})
	f.text("host", n.Host)
	return c.sendDomain(ctx, request{method: http.MethodPost, path: domains}, f)
}

// Domain finds a domain by its host.
func (c *Client) Domain(ctx context.Context, host string) (snip.Domain, error) {
	var d wire.Domain
	if err := c.get(ctx, domainPath(host), nil, &d); err != nil {
		return snip.Domain{}, err
	}
	return d.Domain(), nil
}

// ListDomains returns all domains.
func (c *Client) ListDomains(ctx context.Context) ([]snip.Domain, error) {
	var answer wire.DomainList
	if err := c.get(ctx, domains, nil, &answer); err != nil {
		return nil, err
	}
	return answer.List(), nil
}

// EditDomain changes a domain.
func (c *Client) EditDomain(ctx context.Context, host string, e snip.DomainEdit) (snip.Domain, error) {
	return c.sendDomain(ctx, request{method: http.MethodPatch, path: domainPath(host), version: e.Version}, domainFields(e))
}

// DeleteDomain removes a domain.
func (c *Client) DeleteDomain(ctx context.Context, host string, version int64) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: domainPath(host), version: version}, nil)
	return err
}

func domainFields(e snip.DomainEdit) (f fields) {
	if e.IgnoreCase != nil {
		f.set("ignore_case", *e.IgnoreCase)
	}
	f.optional("root_url", e.Root)
	f.optional("not_found_url", e.NotFound)
	f.optional("not_found_text", e.NotFoundText)
	return f
}

func (c *Client) sendDomain(ctx context.Context, r request, f fields) (snip.Domain, error) {
	body, err := f.values()
	if err != nil {
		return snip.Domain{}, err
	}
	r.body = body
	var d wire.Domain
	if _, err := c.call(ctx, r, &d); err != nil {
		return snip.Domain{}, err
	}
	return d.Domain(), nil
}

// domainPath is where the API has a domain: the instance's own has no host to name.
func domainPath(host string) string { return domains + "/" + url.PathEscape(cmp.Or(host, "-")) }
