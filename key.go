package snip

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Scope is what a key allows.
type Scope string

const (
	ScopeRead  Scope = "read"  // See links and statistics.
	ScopeWrite Scope = "write" // Make, change and delete links.
	ScopeAdmin Scope = "admin" // All of it, and domains and keys.
)

// Key allows a program or a person to use the API. Its secret is not part of it:
// nobody has that but its owner.
type Key struct {
	ID       int64
	Label    string  // What it is for, as its maker put it.
	Scopes   []Scope // One or more, in the order read, write, admin.
	Contact  string  // Whom to ask about it, such as a mail address. May be empty.
	TimeZone string  // IANA name of where the days of its statistics begin and end. Empty: the server's.

	Domain   *string // Only links of this one can be seen, made or changed. Nil: of all.
	OwnLinks bool    // Only links that it made can be seen or changed.

	ExpiresAt time.Time // Zero: never.
	RevokedAt time.Time // Zero: it is not.
	LastUsed  time.Time // To about a minute. Zero: never.
	CreatedAt time.Time
}

// May reports whether the key allows what takes a scope.
func (k Key) May(s Scope) bool {
	return slices.Contains(k.Scopes, s) || slices.Contains(k.Scopes, ScopeAdmin)
}

// NewKey is a key that is asked for.
type NewKey struct {
	Label     string
	Scopes    []Scope
	Contact   string
	TimeZone  string
	Domain    *string
	OwnLinks  bool
	ExpiresAt time.Time
}

// KeyEdit changes what is not nil. What a key may do stays as it is.
type KeyEdit struct {
	Label     *string
	Contact   *string
	TimeZone  *string
	ExpiresAt *time.Time
}

// Keys is how one gets at keys. It takes scope admin, but for CurrentKey.
type Keys interface {
	// CreateKey makes a key and returns its secret, which cannot be read again.
	CreateKey(ctx context.Context, n NewKey) (k Key, secret string, err error)
	// CurrentKey returns the key on whose behalf is asked.
	CurrentKey(ctx context.Context) (Key, error)
	// ListKeys returns all keys, the newest first, revoked ones among them.
	ListKeys(ctx context.Context) ([]Key, error)
	// Key finds one by its ID.
	Key(ctx context.Context, id int64) (Key, error)
	// EditKey changes one.
	EditKey(ctx context.Context, id int64, e KeyEdit) (Key, error)
	// RevokeKey ends one for ever. Its links stay. The last admin key that is neither
	// revoked nor expires is refused with Conflict.
	RevokeKey(ctx context.Context, id int64) (Key, error)
}

// MaxLabel is the most characters the label of a key may have.
const MaxLabel = 200

// CheckLabel returns an *Error for field "label" if a key cannot have this label.
func CheckLabel(label string) error { return checkLine("label", "label", label, MaxLabel) }

// Check returns an *Error that names the first field by which no key can be made.
func (n NewKey) Check(now time.Time) error {
	err := cmp.Or(
		CheckLabel(n.Label), checkScopes(n.Scopes), checkContact(n.Contact), checkTimeZone(n.TimeZone),
		checkDomain("domain", n.Domain), checkInstant("expires_at", n.ExpiresAt),
	)
	switch admin := slices.Contains(n.Scopes, ScopeAdmin); {
	case err != nil:
		return err
	case admin && n.Domain != nil:
		return invalid("domain", "A key with scope admin makes keys without limits. Leave out the domain, or the scope.")
	case admin && n.OwnLinks:
		return invalid("own_links", "A key with scope admin makes keys without limits. Leave out own_links, or the scope.")
	case !n.ExpiresAt.IsZero() && !now.Before(n.ExpiresAt):
		return invalid("expires_at", "A new key cannot have expired already; it is %s now.", written(now))
	}
	return nil
}

// Check returns an *Error that names the first field that no key can have. An expiry
// in the past is none: it ends the key at once.
func (e KeyEdit) Check() error {
	var n NewKey
	set(&n.Label, e.Label)
	set(&n.Contact, e.Contact)
	set(&n.TimeZone, e.TimeZone)
	set(&n.ExpiresAt, e.ExpiresAt)
	return cmp.Or(CheckLabel(n.Label), checkContact(n.Contact), checkTimeZone(n.TimeZone), checkInstant("expires_at", n.ExpiresAt))
}

// CleanScopes returns scopes in the order in which keys have them, each once. The list
// it is given stays as it is.
func CleanScopes(scopes []Scope) []Scope {
	return slices.DeleteFunc(allScopes(), func(s Scope) bool { return !slices.Contains(scopes, s) })
}

func allScopes() []Scope { return []Scope{ScopeRead, ScopeWrite, ScopeAdmin} }

func checkScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return invalid("scopes", "A key without a scope allows nothing. Name read, write or admin.")
	}
	for i, s := range scopes {
		field := item("scopes", i)
		if !slices.Contains(allScopes(), s) {
			return invalid(field, "%q is no scope. Name read, write or admin.", shorten(string(s)))
		}
		if slices.Contains(scopes[:i], s) {
			return invalid(field, "The scope %s is there twice.", s)
		}
	}
	return nil
}

func checkContact(contact string) error {
	return checkLine("contact", "contact", contact, MaxContact)
}

// checkTimeZone asks the list of zones that the program carries or finds. "Local" is
// the server's by another name, and means another zone on each machine.
func checkTimeZone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return invalid("time_zone", "%q is no time zone. Write it as Europe/Berlin.", shorten(name))
	}
	return nil
}
