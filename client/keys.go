package client

import (
	"context"
	"net/http"
	"strconv"

	"snip"
	"snip/wire"
)

const keys = "/api/v1/keys"

// CreateKey makes a key and returns its secret, which cannot be read again.
func (c *Client) CreateKey(ctx context.Context, n snip.NewKey) (snip.Key, string, error) {
	f := keyFields(snip.KeyEdit{Label: &n.Label, Contact: said(n.Contact), TimeZone: said(n.TimeZone), ExpiresAt: saidAt(n.ExpiresAt)})
	f.set("scopes", append([]snip.Scope{}, n.Scopes...))
	f.optional("domain", n.Domain)
	if n.OwnLinks {
		f.set("own_links", true)
	}
	body, err := f.values()
	if err != nil {
		return snip.Key{}, "", err
	}
	var k wire.NewKey
	if _, err := c.call(ctx, request{method: http.MethodPost, path: keys, body: body}, &k); err != nil {
		return snip.Key{}, "", err
	}
	return k.Key.Key(), k.Secret, nil
}

// CurrentKey returns the key that this client sends.
func (c *Client) CurrentKey(ctx context.Context) (snip.Key, error) {
	return c.sendKey(ctx, request{method: http.MethodGet, path: keys + "/current"})
}

// ListKeys returns all keys.
func (c *Client) ListKeys(ctx context.Context) ([]snip.Key, error) {
	var answer wire.KeyList
	if err := c.get(ctx, keys, nil, &answer); err != nil {
		return nil, err
	}
	return answer.List(), nil
}

// Key finds a key by its ID.
func (c *Client) Key(ctx context.Context, id int64) (snip.Key, error) {
	return c.sendKey(ctx, request{method: http.MethodGet, path: keyPath(id)})
}

// EditKey changes a key.
func (c *Client) EditKey(ctx context.Context, id int64, e snip.KeyEdit) (snip.Key, error) {
	f := keyFields(e)
	body, err := f.values()
	if err != nil {
		return snip.Key{}, err
	}
	return c.sendKey(ctx, request{method: http.MethodPatch, path: keyPath(id), body: body})
}

// RevokeKey ends a key for ever.
func (c *Client) RevokeKey(ctx context.Context, id int64) (snip.Key, error) {
	return c.sendKey(ctx, request{method: http.MethodDelete, path: keyPath(id)})
}

func keyFields(e snip.KeyEdit) (f fields) {
	f.optional("label", e.Label)
	f.optional("contact", e.Contact)
	f.optional("time_zone", e.TimeZone)
	f.instant("expires_at", e.ExpiresAt)
	return f
}

func (c *Client) sendKey(ctx context.Context, r request) (snip.Key, error) {
	var k wire.Key
	if _, err := c.call(ctx, r, &k); err != nil {
		return snip.Key{}, err
	}
	return k.Key(), nil
}

func keyPath(id int64) string { return keys + "/" + strconv.FormatInt(id, 10) }
