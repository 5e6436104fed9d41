// Package snip is the domain of the link shortener: links, clicks and keys, the
// rules for codes and targets, and the decision how a visit is answered. It does no
// I/O; interfaces such as Links are implemented by the store and by the client.
package snip

import (
	"context"
	"time"
)

// Link is a code and where it leads. Everything about a link is keyed by ID, so
// that its code can change.
type Link struct {
	ID     int64
	Domain string // Empty for the instance's own. Others come with custom domains.
	Code   string // As typed.
	Target string // Byte for byte as typed.
	Title  string

	ExpiresAt time.Time // Zero: never. From then on it answers 410.
	CreatedAt time.Time
	UpdatedAt time.Time

	Clicks      int64 // Every answered GET that was counted so far.
	HumanClicks int64 // Those of people.
}

// NewLink is what a person asks for.
type NewLink struct {
	Code      string // Empty: one is made up.
	Target    string
	Title     string
	ExpiresAt time.Time
}

// LinkEdit changes what is not nil.
type LinkEdit struct {
	Code      *string
	Target    *string
	Title     *string
	ExpiresAt *time.Time // The zero time: never again.
}

// Page asks for part of a list, newest first.
type Page struct {
	Limit int   // 1 to 1000.
	After int64 // ID of the last link of the page before; 0 for the first page.
}

// Links is how one gets at links, in a store or, through the client, on a server.
// Errors are of type *Error where a person can do something about them.
type Links interface {
	// CreateLink checks and keeps a new link; it is on disk on return.
	CreateLink(ctx context.Context, n NewLink) (Link, error)
	// Link finds one by its code.
	Link(ctx context.Context, code string) (Link, error)
	// ListLinks returns a page of links.
	ListLinks(ctx context.Context, p Page) ([]Link, error)
	// EditLink changes one.
	EditLink(ctx context.Context, code string, e LinkEdit) (Link, error)
	// DeleteLink removes one and all that was counted for it.
	DeleteLink(ctx context.Context, code string) error
}
