package wire

import (
	"time"

	"snip"
)

// Domain is a domain in an answer of the API.
type Domain struct {
	Host         string    `json:"host" doc:"Empty for the instance's own."`
	IgnoreCase   bool      `json:"ignore_case" doc:"Whether codes that differ by case only are one."`
	Root         string    `json:"root_url" doc:"Where / leads; empty for a page."`
	NotFound     string    `json:"not_found_url" doc:"Where a code without a link leads; empty for a page."`
	NotFoundText string    `json:"not_found_text" doc:"What that page says; empty for the usual words."`
	Version      int64     `json:"version"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// DomainOf writes a domain.
func DomainOf(d snip.Domain) Domain {
	return Domain{
		Host: d.Host, IgnoreCase: d.IgnoreCase, Root: d.Root, NotFound: d.NotFound, NotFoundText: d.NotFoundText,
		Version: d.Version, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
}

// Domain returns the domain that was written. Its ID stays on the server.
func (d Domain) Domain() snip.Domain {
	return snip.Domain{
		Host: d.Host, IgnoreCase: d.IgnoreCase, Root: d.Root, NotFound: d.NotFound, NotFoundText: d.NotFoundText,
		Version: d.Version, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
}

// DomainList is all domains.
type DomainList struct {
	Domains []Domain `json:"domains"`
}

// DomainListOf writes domains.
func DomainListOf(domains []snip.Domain) DomainList { return DomainList{each(domains, DomainOf)} }

// List returns the domains that were written.
func (l DomainList) List() []snip.Domain { return each(l.Domains, Domain.Domain) }
