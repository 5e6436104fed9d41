// Package snip is the domain of the link shortener: links, clicks and keys, the
// rules for codes and targets, and the decision how a visit is answered. It does no
// I/O; interfaces such as Links are implemented by the store and by the client.
package snip

import (
	"context"
	"time"
)

// Ref is what a link is found by: a domain and a code on it, or an alias of it there.
type Ref struct {
	Domain string `json:"domain"` // Empty for the instance's own.
	Code   string `json:"code"`
}

// Link is a code and where it leads. Everything about a link is keyed by ID, so
// that its code can change.
type Link struct {
	ID      int64
	Domain  string   // Empty for the instance's own.
	Code    string   // As typed.
	Aliases []string // Further codes on the same domain, oldest first.
	Owner   int64    // ID of the key that made it. 0: nobody's, such as one made without a key.
	Version int64    // Grows with each edit; clicks leave it as it is. From 1 on.
	Settings
	HasPassword bool // Visitors are asked for one. Nobody can read it.

	ArchivedAt time.Time // Zero: not archived. Archived links are left out of lists and go on leading where they lead.
	CreatedAt  time.Time
	UpdatedAt  time.Time

	LimitUsed   int64 // How many redirects of Settings.ClickLimit are used up.
	Clicks      int64 // Every answered GET that was counted so far.
	HumanClicks int64 // Those of people.
}

// Settings are what a person says of a link, but for its code and password. The zero
// value has no target and is otherwise a link of the plainest kind.
type Settings struct {
	Target string   // Byte for byte as typed.
	Title  string   // At most MaxTitle characters.
	Note   string   // For those who manage the link: at most MaxNote characters, with line breaks.
	Tags   []string // In the order of their bytes, each once.

	StartsAt   time.Time // Zero: at once. Before it no link has the code, as far as visitors see.
	ExpiresAt  time.Time // Zero: never. From then on it answers 410, or leads to Fallback.
	ClickLimit int64     // How many redirects there are; then it is as if expired. 0: no limit.
	Fallback   string    // Target of an expired or used-up link. Empty: it answers 410.

	Status      int         // 301, 302, 307 or 308. 0 stands for 307.
	Query       QueryPolicy // What becomes of the query that a visitor brings.
	ForwardPath bool        // /code/more leads to the target with /more added to its path.
	Rules       []Rule      // The first that fits decides; if none does, Target.
	Campaign    Campaign    // Parameters that are added to the target.
}

// QueryPolicy says what becomes of the query that a visitor brings. Whatever is passed
// on keeps its bytes and its order, and stands before the fragment of the target.
type QueryPolicy string

const (
	QueryOff      QueryPolicy = ""         // It is not passed on.
	QueryKeep     QueryPolicy = "keep"     // It is added, but for names that the target has: the target's stay.
	QueryOverride QueryPolicy = "override" // It is added, and names of it are taken out of the target's.
	QueryAppend   QueryPolicy = "append"   // It is added as it is.
)

// Campaign is what utm_ parameters tell whoever owns the target. Those that the target
// has already stay as they are there.
type Campaign struct {
	Source  string `json:"source,omitempty" doc:"utm_source"`
	Medium  string `json:"medium,omitempty" doc:"utm_medium"`
	Name    string `json:"name,omitempty" doc:"utm_campaign"`
	Term    string `json:"term,omitempty" doc:"utm_term"`
	Content string `json:"content,omitempty" doc:"utm_content"`
}

// NewLink is what a person asks for.
type NewLink struct {
	Domain   string
	Code     string // Empty: one is made up.
	Password string // Empty: none. 1 to MaxPassword bytes, not trimmed.
	Settings

	// Reuse returns a link that is there already, has the same domain, target and other
	// settings, and that the key may see, instead of a new one. A code must be its code.
	Reuse bool
	// IdempotencyKey makes asking again harmless: for a day the same key of the same
	// caller returns the link that was made the first time, and is refused with Reused
	// if something else is asked for. Empty: none. At most MaxIdempotencyKey bytes.
	IdempotencyKey string
}

// LinkEdit changes what is not nil. The zero value of a setting takes it away.
type LinkEdit struct {
	Version int64 // Of the link that was seen: another one is refused with Changed. 0: any.

	Code     *string
	KeepCode bool      // Where the code changes, the old one stays as an alias.
	Aliases  *[]string // Those that stay. None can be added here.
	Password *string   // Empty: none.
	Archived *bool

	Target      *string
	Title       *string
	Note        *string
	Tags        *[]string
	StartsAt    *time.Time
	ExpiresAt   *time.Time
	ClickLimit  *int64
	Fallback    *string
	Status      *int
	Query       *QueryPolicy
	ForwardPath *bool
	Rules       *[]Rule
	Campaign    *Campaign
}

// Sort is the order of a list.
type Sort string

const (
	SortNewest  Sort = "newest" // By when it was made, the newest first. The default.
	SortOldest  Sort = "oldest"
	SortUpdated Sort = "updated" // The last changed first.
	SortCode    Sort = "code"    // By domain, then by the bytes of the code.
	SortExpiry  Sort = "expiry"  // Those that expire, the soonest first; no others.
)

// Which links of a list by whether they are archived.
const (
	ArchivedNo   = "no" // Those that are not. The default.
	ArchivedOnly = "only"
	ArchivedAll  = "all"
)

// LinkQuery asks for part of a list.
type LinkQuery struct {
	// Search finds links by the beginnings of words in code, title, note and target: each
	// word of it must begin one of theirs. Case does not matter. Empty: all.
	Search   string
	Domain   *string  // Only of this one. Nil: of all.
	Tags     []string // Those that have all of them.
	Owner    int64    // Those of one key. 0: of all.
	Archived string   // ArchivedNo, ArchivedOnly or ArchivedAll. Empty stands for ArchivedNo.
	Sort     Sort     // Empty stands for SortNewest.
	Limit    int      // 1 to MaxPage.
	Cursor   string   // LinkPage.Next of the page before, of the same question. Empty: the first page.
}

// LinkPage is part of a list.
type LinkPage struct {
	Links []Link
	Next  string // What to ask for the page after this one. Empty: there is none.
}

// BulkAction is what is done to many links.
type BulkAction string

const (
	BulkTag     BulkAction = "tag"
	BulkUntag   BulkAction = "untag"
	BulkArchive BulkAction = "archive"
	BulkRestore BulkAction = "restore"
	BulkDelete  BulkAction = "delete"
)

// Bulk is one thing done to many links.
type Bulk struct {
	Action BulkAction
	Links  []Ref    // 1 to MaxBulk.
	Tags   []string // Of BulkTag and BulkUntag.
}

// BulkResult says to which links it was done.
type BulkResult struct {
	Done   int // Links; those that were so before among them.
	Failed []BulkFailure
}

// BulkFailure is a link to which it was not done.
type BulkFailure struct {
	Ref
	Err error // Of type *Error.
}

// TagCount is a tag and how many links have it, archived ones among them.
type TagCount struct {
	Tag   string
	Links int64
}

// Links is how one gets at links, in a store or, through the client, on a server.
// Errors are of type *Error where a person can do something about them. A link that
// the caller may not see is one that there is not.
type Links interface {
	// CreateLink checks and keeps a new link; it is on disk on return. Made is false for
	// one that was there already: see NewLink.Reuse.
	CreateLink(ctx context.Context, n NewLink) (l Link, made bool, err error)
	// Link finds one by its code or an alias.
	Link(ctx context.Context, r Ref) (Link, error)
	// ListLinks returns a page of links.
	ListLinks(ctx context.Context, q LinkQuery) (LinkPage, error)
	// EditLink changes one.
	EditLink(ctx context.Context, r Ref, e LinkEdit) (Link, error)
	// DeleteLink removes one and all that was counted for it. A version other than 0
	// must be the link's.
	DeleteLink(ctx context.Context, r Ref, version int64) error
	// ChangeLinks does one thing to many links: to each of them, or not to that one.
	ChangeLinks(ctx context.Context, b Bulk) (BulkResult, error)
	// Tags returns all tags in the order of their bytes.
	Tags(ctx context.Context) ([]TagCount, error)
}

// Service is all that can be asked for on behalf of a key, in a store or, through the
// client, on a server.
type Service interface {
	Links
	Domains
	Keys
	Statistics
}
