package snip

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Domain is a host that visitors come to. The instance's own is there from the start,
// and named by the empty host.
type Domain struct {
	ID         int64
	Host       string // In ASCII and lower case, without port. Empty: the instance's own.
	IgnoreCase bool   // Codes that differ by case only are one.
	Root       string // Target of /, instead of a page. Empty: none.
	NotFound   string // Target of what is not there, instead of a page. Empty: none.
	// NotFoundText stands on the page for what is not there, in the place of the usual
	// words. Plain text of at most MaxNote characters, with line breaks.
	NotFoundText string
	Version      int64
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// NewDomain is a domain that is asked for.
type NewDomain struct {
	Host         string // As typed; an internationalised one is kept in ASCII.
	IgnoreCase   bool
	Root         string
	NotFound     string
	NotFoundText string
}

// DomainEdit changes what is not nil.
type DomainEdit struct {
	Version      int64 // See LinkEdit.
	IgnoreCase   *bool // Refused with Conflict while two codes of it differ by case only.
	Root         *string
	NotFound     *string
	NotFoundText *string
}

// Check returns an *Error that names the first field by which no domain can be made.
func (n NewDomain) Check(r Rules) error {
	host, err := CleanHost(n.Host)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(r.Own, func(own string) bool {
		o, err := readHost(own)
		return err == nil && (o.ascii() == host || sameAddress(o.ascii(), host))
	}) {
		return &Error{Code: Conflict, Field: "host", Message: "This server answers on " + host + " already."}
	}
	r.Own = append(slices.Clone(r.Own), host)
	return cmp.Or(
		r.checkAway("root_url", n.Root),
		r.checkAway("not_found_url", n.NotFound),
		checkLines("not_found_text", "text", n.NotFoundText, MaxNote),
	)
}

// Check returns an *Error that names the first field that no domain can have.
func (e DomainEdit) Check(r Rules) error {
	var d NewDomain
	set(&d.Root, e.Root)
	set(&d.NotFound, e.NotFound)
	set(&d.NotFoundText, e.NotFoundText)
	return cmp.Or(
		r.checkAway("root_url", d.Root),
		r.checkAway("not_found_url", d.NotFound),
		checkLines("not_found_text", "text", d.NotFoundText, MaxNote),
	)
}

// checkAway checks where a domain leads those who follow no link. It must be
// somewhere else: what is not found there, too, would lead on for ever.
func (r Rules) checkAway(field, target string) error {
	if target == "" {
		return nil
	}
	if err := r.checkField(field, target); err != nil {
		return err
	}
	if r.ownsTarget(target) {
		return invalid(field, "The address is on this server itself, and following it could go on for ever. Use one elsewhere.")
	}
	return nil
}

// Domains is how one gets at domains. Everybody who may read sees them; changing them
// takes scope admin.
type Domains interface {
	CreateDomain(ctx context.Context, n NewDomain) (Domain, error)
	// Domain finds one by its host; the empty one is the instance's own.
	Domain(ctx context.Context, host string) (Domain, error)
	// ListDomains returns all, the instance's own first, then by host.
	ListDomains(ctx context.Context) ([]Domain, error)
	EditDomain(ctx context.Context, host string, e DomainEdit) (Domain, error)
	// DeleteDomain removes one that has no links; with links it is refused with Conflict.
	// The instance's own stays.
	DeleteDomain(ctx context.Context, host string, version int64) error
}
