package wire

import (
	"time"

	"snip"
)

// Key is a key in an answer of the API, without its secret.
type Key struct {
	ID        int64        `json:"id"`
	Label     string       `json:"label"`
	Scopes    []snip.Scope `json:"scopes" doc:"Of read, write and admin."`
	Contact   string       `json:"contact"`
	TimeZone  string       `json:"time_zone" doc:"Where the days of statistics begin and end unless a question says otherwise; empty for the server's."`
	Domain    *string      `json:"domain" doc:"The only domain whose links it reaches; null for all."`
	OwnLinks  bool         `json:"own_links" doc:"Whether it reaches only links that it made."`
	ExpiresAt *time.Time   `json:"expires_at"`
	RevokedAt *time.Time   `json:"revoked_at"`
	LastUsed  *time.Time   `json:"last_used" doc:"To about a minute."`
	CreatedAt time.Time    `json:"created_at"`
}

// NewKey is a key that was just made.
type NewKey struct {
	Key
	Secret string `json:"secret" doc:"Shown this once. Send it as Authorization: Bearer."`
}

// KeyOf writes a key.
func KeyOf(k snip.Key) Key {
	return Key{
		ID: k.ID, Label: k.Label, Scopes: list(k.Scopes), Contact: k.Contact, TimeZone: k.TimeZone, Domain: k.Domain, OwnLinks: k.OwnLinks,
		ExpiresAt: pointer(k.ExpiresAt), RevokedAt: pointer(k.RevokedAt), LastUsed: pointer(k.LastUsed), CreatedAt: k.CreatedAt,
	}
}

// Key returns the key that was written.
func (k Key) Key() snip.Key {
	return snip.Key{
		ID: k.ID, Label: k.Label, Scopes: k.Scopes, Contact: k.Contact, TimeZone: k.TimeZone, Domain: k.Domain, OwnLinks: k.OwnLinks,
		ExpiresAt: instant(k.ExpiresAt), RevokedAt: instant(k.RevokedAt), LastUsed: instant(k.LastUsed), CreatedAt: k.CreatedAt,
	}
}

// KeyList is all keys.
type KeyList struct {
	Keys []Key `json:"keys"`
}

// KeyListOf writes keys.
func KeyListOf(keys []snip.Key) KeyList { return KeyList{each(keys, KeyOf)} }

// List returns the keys that were written.
func (l KeyList) List() []snip.Key { return each(l.Keys, Key.Key) }
