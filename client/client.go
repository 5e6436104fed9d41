// Package client speaks to a Snip server. Its errors are the domain's: what the
// server answered, as if the store had been asked.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"snip"
	"snip/problem"
	"snip/wire"
)

// ErrUnreachable: no answer came from the server.
var ErrUnreachable = errors.New("server cannot be reached")

// Config says which server.
type Config struct {
	Server string // Its address, such as https://snip.example.
	Key    string // Sent with every request, if not empty.

	HTTP *http.Client // Default: one with a limit of 30 s, that follows no redirect.
}

// Client is safe for concurrent use.
type Client struct {
	server string
	key    string
	http   *http.Client
}

var _ snip.Links = (*Client)(nil)

// New checks the configuration. It does no I/O.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("server %q must be a URL such as http://127.0.0.1:8080", cfg.Server)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{server: strings.TrimSuffix(cfg.Server, "/"), key: cfg.Key, http: cfg.HTTP}, nil
}

// Short is a link that was made.
type Short struct {
	Code     string `json:"code"`
	ShortURL string `json:"short_url"`
	Target   string `json:"url"`
}

// fields is what a person may set. A nil field is left out, a zero expiry is null.
func fields(code, target, title *string, expires *time.Time) (map[string]any, error) {
	m := map[string]any{}
	for name, value := range map[string]*string{"code": code, "url": target, "title": title} {
		if value == nil {
			continue
		}
		// The encoder would send other characters in their place without a word.
		if !utf8.ValidString(*value) {
			return nil, &snip.Error{Code: snip.Invalid, Field: name, Message: "Is not valid UTF-8."}
		}
		m[name] = *value
	}
	if expires != nil {
		m["expires_at"] = nil
		if !expires.IsZero() {
			m["expires_at"] = *expires
		}
	}
	return m, nil
}

func newFields(n snip.NewLink) (map[string]any, error) {
	var code, title *string
	var expires *time.Time
	if n.Code != "" {
		code = &n.Code
	}
	if n.Title != "" {
		title = &n.Title
	}
	if !n.ExpiresAt.IsZero() {
		expires = &n.ExpiresAt
	}
	return fields(code, &n.Target, title, expires)
}

// Shorten makes a link the simple way, which may need no key.
func (c *Client) Shorten(ctx context.Context, n snip.NewLink) (Short, error) {
	body, err := newFields(n)
	if err != nil {
		return Short{}, err
	}
	var s Short
	err = c.call(ctx, http.MethodPost, "/shorten", body, &s)
	return s, err
}

// CreateLink makes a link.
func (c *Client) CreateLink(ctx context.Context, n snip.NewLink) (snip.Link, error) {
	body, err := newFields(n)
	if err != nil {
		return snip.Link{}, err
	}
	var l wire.Link
	err = c.call(ctx, http.MethodPost, "/api/v1/links", body, &l)
	return l.Link(), err
}

// Link finds a link by its code.
func (c *Client) Link(ctx context.Context, code string) (snip.Link, error) {
	var l wire.Link
	err := c.call(ctx, http.MethodGet, path(code), nil, &l)
	return l.Link(), err
}

// ListLinks returns a page of links.
func (c *Client) ListLinks(ctx context.Context, p snip.Page) ([]snip.Link, error) {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.After != 0 {
		q.Set("after", strconv.FormatInt(p.After, 10))
	}
	var list struct {
		Links []wire.Link `json:"links"`
	}
	if err := c.call(ctx, http.MethodGet, "/api/v1/links?"+q.Encode(), nil, &list); err != nil {
		return nil, err
	}
	links := make([]snip.Link, len(list.Links))
	for i, l := range list.Links {
		links[i] = l.Link()
	}
	return links, nil
}

// EditLink changes a link.
func (c *Client) EditLink(ctx context.Context, code string, e snip.LinkEdit) (snip.Link, error) {
	body, err := fields(e.Code, e.Target, e.Title, e.ExpiresAt)
	if err != nil {
		return snip.Link{}, err
	}
	var l wire.Link
	err = c.call(ctx, http.MethodPatch, path(code), body, &l)
	return l.Link(), err
}

// DeleteLink removes a link.
func (c *Client) DeleteLink(ctx context.Context, code string) error {
	return c.call(ctx, http.MethodDelete, path(code), nil, nil)
}

func path(code string) string { return "/api/v1/links/" + url.PathEscape(code) }

// call sends in as JSON, if there is any, and reads the answer into out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		// The encoder would write & and < in another way than they were typed; the
		// server reads both the same, but its log is easier to read like this.
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(in); err != nil {
			return fmt.Errorf("client: %s %s: %w", method, path, err)
		}
		body = &b
	}
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, body)
	if err != nil {
		return fmt.Errorf("client: %s %s: %w", method, path, err)
	}
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return problem.Read(resp)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("client: answer to %s %s: %w", method, path, err)
	}
	return nil
}
