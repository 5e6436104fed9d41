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
	"sync"
	"time"

	"snip"
	"snip/problem"
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
	places sync.Map // Of domains, by host: where their codes are followed. See ShortURL.
}

var _ snip.Service = (*Client)(nil)

// New checks the configuration. It does no I/O.
func New(cfg Config) (*Client, error) {
	if strings.Contains(cfg.Server, "@") {
		return nil, errors.New("server must be a URL such as http://127.0.0.1:8080, without user and password") // Not quoted: it is a secret.
	}
	u, err := url.Parse(cfg.Server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("server %q must be a URL such as http://127.0.0.1:8080", cfg.Server)
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("key holds a character that no key has")
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{server: strings.TrimSuffix(cfg.Server, "/"), key: cfg.Key, http: cfg.HTTP}, nil
}

// request is what the server is asked.
type request struct {
	method, path string // The path with its query.
	body         any    // Sent as JSON. Nil: none.
	version      int64  // Sent as If-Match. 0: none.
	name         string // Sent as Idempotency-Key. Empty: none.
}

// call asks the server once, and reads the answer into out. It returns the status of
// an answer that is no error.
func (c *Client) call(ctx context.Context, r request, out any) (status int, err error) {
	var body io.Reader
	if r.body != nil {
		// The encoder would write & and < in another way than they were typed; the
		// server reads both the same, but its log is easier to read like this.
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(r.body); err != nil {
			return 0, fmt.Errorf("client: %s %s: %w", r.method, r.path, err)
		}
		body = &b
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.server+r.path, body)
	if err != nil {
		return 0, fmt.Errorf("client: %s %s: %w", r.method, r.path, err)
	}
	c.setHeaders(req.Header, r)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return 0, problem.Read(resp)
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return 0, fmt.Errorf("client: answer to %s %s: %w", r.method, r.path, err)
	}
	return resp.StatusCode, nil
}

func (c *Client) setHeaders(h http.Header, r request) {
	h.Set("Accept", "application/json")
	if r.body != nil {
		h.Set("Content-Type", "application/json")
	}
	if r.version != 0 {
		h.Set("If-Match", `"`+strconv.FormatInt(r.version, 10)+`"`)
	}
	if r.name != "" {
		h.Set("Idempotency-Key", r.name)
	}
	if c.key != "" {
		h.Set("Authorization", "Bearer "+c.key)
	}
}

// get asks for what out is read from.
func (c *Client) get(ctx context.Context, path string, parameters url.Values, out any) error {
	if len(parameters) > 0 {
		path += "?" + parameters.Encode()
	}
	_, err := c.call(ctx, request{method: http.MethodGet, path: path}, out)
	return err
}
