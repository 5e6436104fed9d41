package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"snip"
	"snip/wire"
)

const links = "/api/v1/links"

// Short is a link that was made the simple way.
type Short struct {
	Code     string `json:"code"`
	ShortURL string `json:"short_url"`
	Target   string `json:"url"`
}

// Shorten makes a link the simple way, which may need no key. It can say a target, a
// domain, a code, a title and an expiry, and nothing else.
func (c *Client) Shorten(ctx context.Context, n snip.NewLink) (Short, error) {
	body, err := newFields(n)
	if err != nil {
		return Short{}, err
	}
	var s Short
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/shorten", body: body}, &s)
	return s, err
}

// CreateLink makes a link. If the connection breaks it asks once more, under the same
// idempotency key, so that at most one link is made.
func (c *Client) CreateLink(ctx context.Context, n snip.NewLink) (snip.Link, bool, error) {
	body, err := newFields(n)
	if err != nil {
		return snip.Link{}, false, err
	}
	r := request{method: http.MethodPost, path: links, body: body, name: n.IdempotencyKey}
	if r.name == "" {
		r.name = rand.Text()
	}
	if strings.ContainsFunc(r.name, func(c rune) bool { return c < ' ' || c > '~' }) {
		return snip.Link{}, false, &snip.Error{Code: snip.Invalid, Field: "Idempotency-Key", Message: "May hold nothing but visible ASCII characters."}
	}
	var l wire.Link
	status, err := c.call(ctx, r, &l)
	if broken(err) && ctx.Err() == nil {
		status, err = c.call(ctx, r, &l)
	}
	if err != nil {
		return snip.Link{}, false, err
	}
	return c.seen(l), status == http.StatusCreated, nil
}

// broken tells whether the connection broke off, before the answer or in it. A server
// that is slow is not asked again.
func broken(err error) bool {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return false
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Link finds a link by its code or an alias.
func (c *Client) Link(ctx context.Context, r snip.Ref) (snip.Link, error) {
	path, err := linkPath(r)
	if err != nil {
		return snip.Link{}, err
	}
	var l wire.Link
	if err := c.get(ctx, path, nil, &l); err != nil {
		return snip.Link{}, err
	}
	return c.seen(l), nil
}

// ListLinks returns a page of links.
func (c *Client) ListLinks(ctx context.Context, q snip.LinkQuery) (snip.LinkPage, error) {
	p := url.Values{"tag": q.Tags, "limit": {strconv.Itoa(q.Limit)}}
	for name, value := range map[string]string{
		"search": q.Search, "archived": q.Archived, "sort": string(q.Sort), "cursor": q.Cursor,
	} {
		if value != "" {
			p.Set(name, value)
		}
	}
	if q.Domain != nil {
		p.Set("domain", *q.Domain)
	}
	if q.Owner != 0 {
		p.Set("owner", strconv.FormatInt(q.Owner, 10))
	}
	var page wire.LinkPage
	if err := c.get(ctx, links, p, &page); err != nil {
		return snip.LinkPage{}, err
	}
	out := snip.LinkPage{Links: make([]snip.Link, len(page.Links)), Next: page.Next}
	for i, l := range page.Links {
		out.Links[i] = c.seen(l)
	}
	return out, nil
}

// EditLink changes a link.
func (c *Client) EditLink(ctx context.Context, r snip.Ref, e snip.LinkEdit) (snip.Link, error) {
	path, err := linkPath(r)
	if err != nil {
		return snip.Link{}, err
	}
	body, err := editFields(e)
	if err != nil {
		return snip.Link{}, err
	}
	var l wire.Link
	if _, err := c.call(ctx, request{method: http.MethodPatch, path: path, body: body, version: e.Version}, &l); err != nil {
		return snip.Link{}, err
	}
	return c.seen(l), nil
}

// DeleteLink removes a link.
func (c *Client) DeleteLink(ctx context.Context, r snip.Ref, version int64) error {
	path, err := linkPath(r)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{method: http.MethodDelete, path: path, version: version}, nil)
	return err
}

// ChangeLinks does one thing to many links.
func (c *Client) ChangeLinks(ctx context.Context, b snip.Bulk) (snip.BulkResult, error) {
	body := fields{}
	body.text("action", string(b.Action))
	for _, r := range b.Links {
		body.check("links", r.Domain, r.Code)
	}
	body.set("links", append([]snip.Ref{}, b.Links...))
	if len(b.Tags) > 0 {
		body.texts("tags", b.Tags)
	}
	values, err := body.values()
	if err != nil {
		return snip.BulkResult{}, err
	}
	var answer wire.BulkResult
	if _, err := c.call(ctx, request{method: http.MethodPost, path: links + "/bulk", body: values}, &answer); err != nil {
		return snip.BulkResult{}, err
	}
	out := snip.BulkResult{Done: answer.Done}
	for _, f := range answer.Failed {
		out.Failed = append(out.Failed, snip.BulkFailure{
			Ref: snip.Ref{Domain: f.Domain, Code: f.Code}, Err: &snip.Error{Code: f.Reason, Message: f.Message},
		})
	}
	return out, nil
}

// Tags returns all tags.
func (c *Client) Tags(ctx context.Context) ([]snip.TagCount, error) {
	var answer wire.TagList
	if err := c.get(ctx, "/api/v1/tags", nil, &answer); err != nil {
		return nil, err
	}
	return answer.List(), nil
}

// ShortURL is where a link is followed that this client was told of: what the server
// said of it, or of another one on its domain. Empty if it did not yet.
func (c *Client) ShortURL(l snip.Link) string {
	place, ok := c.places.Load(l.Domain)
	if !ok {
		return ""
	}
	return place.(string) + l.Code
}

// seen returns the link of an answer, and remembers where the codes of its domain are.
func (c *Client) seen(l wire.Link) snip.Link {
	if place, ok := strings.CutSuffix(l.ShortURL, "/"+l.Code); ok {
		c.places.Store(l.Domain, place+"/")
	}
	return l.Link()
}

// linkPath is where the API has a link. What cannot stand in a path is no code.
func linkPath(r snip.Ref) (string, error) {
	if r.Code == "" || r.Code == "." || r.Code == ".." {
		return "", &snip.Error{Code: snip.NotFound, Field: "code", Message: "No link has the code " + strconv.Quote(r.Code) + "."}
	}
	path := links + "/" + url.PathEscape(r.Code)
	if r.Domain != "" {
		path += "?" + url.Values{"domain": {r.Domain}}.Encode()
	}
	return path, nil
}
