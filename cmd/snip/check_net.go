package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"snip"
	"snip/client"
)

// address is where visitors come to.
func (c *checker) address(ctx context.Context) finding {
	return c.listening("address", "SNIP_ADDR", c.cfg.Addr, func() bool {
		c.serving = answersAsSnip(ctx, "http://"+reachable(c.cfg.Addr))
		return c.serving
	})
}

// metricsAddress is where those who run Snip look.
func (c *checker) metricsAddress(ctx context.Context) finding {
	return c.listening("metrics", "SNIP_METRICS_ADDR", c.cfg.MetricsAddr, func() bool {
		var ready struct{ Status string }
		return getJSON(ctx, "http://"+reachable(c.cfg.MetricsAddr)+"/readyz", &ready) == nil && ready.Status == "ready"
	})
}

// answers is what is told of an address at which a Snip runs.
const answers = "a Snip answers there"

// listening tells whether an address is free, or who has it.
func (c *checker) listening(name, variable, addr string, isSnip func() bool) finding {
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		_ = l.Close() // Nobody came.
		return okay(name, "%s is free", addr)
	case errors.Is(err, syscall.EADDRINUSE) && isSnip():
		return okay(name, "%s is taken: %s", addr, answers)
	case errors.Is(err, syscall.EADDRINUSE):
		return bad(name, "set "+variable+" to an address that is free, or stop what listens there", "%s is taken by another program", addr)
	case errors.Is(err, syscall.EACCES):
		return bad(name, "set "+variable+" to a port from 1024 on, with a proxy before it, or allow Snip to bind low ports", "%s may not be used: %v", addr, err)
	}
	return bad(name, "set "+variable+" to an address of this host, such as 127.0.0.1:8080", "%s cannot be used: %v", addr, err)
}

// reachable is an address at which one that listens everywhere is reached from here.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// patient asks a server that should be near, and follows nobody elsewhere.
func patient() *http.Client {
	return &http.Client{
		Timeout:       5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answersAsSnip asks what a Snip answers to nobody: it wants a key.
func answersAsSnip(ctx context.Context, server string) bool {
	s, err := client.New(client.Config{Server: server, HTTP: patient()})
	if err != nil {
		return false
	}
	_, err = s.CurrentKey(ctx)
	e, ok := errors.AsType[*snip.Error](err)
	return ok && e.Code == snip.Unauthorized && !strings.HasPrefix(e.Message, "The server answered ") // Which any server may.
}

func getJSON(ctx context.Context, address string, to any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := patient().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(to)
}

// baseURL is the public address.
func (c *checker) baseURL(ctx context.Context) finding {
	const name = "base URL"
	if c.cfg.BaseURL == "" {
		if loopback(c.cfg.Addr) {
			return okay(name, "none is set: links are those of the address that is asked")
		}
		return odd(name, "set SNIP_BASE_URL, such as https://snip.example", "none is set, though others can reach %s: links are those of whatever name they ask by", c.cfg.Addr)
	}
	u, err := url.Parse(c.cfg.BaseURL)
	if err != nil {
		return bad(name, "set SNIP_BASE_URL to a scheme and a host", "%v", err)
	}
	if net.ParseIP(u.Hostname()) == nil {
		if _, err := net.DefaultResolver.LookupHost(ctx, u.Hostname()); err != nil {
			return bad(name, "make a DNS record for the host, or set SNIP_BASE_URL to another one", "%s has no address: %v", u.Hostname(), err)
		}
	}
	switch {
	case answersAsSnip(ctx, c.cfg.BaseURL):
		return okay(name, "%s: %s", c.cfg.BaseURL, answers)
	case c.serving:
		return bad(name, "have the proxy or the DNS record of the host lead here", "%s does not lead to a Snip, though one runs at %s", c.cfg.BaseURL, c.cfg.Addr)
	}
	return odd(name, "start Snip and check again", "no Snip answers at %s, and none runs at %s", c.cfg.BaseURL, c.cfg.Addr)
}

// server is where commands go, and what their key may do there.
func (c *checker) server(ctx context.Context, cmd *cobra.Command, w *whereabouts) finding {
	const name = "server"
	t, err := w.target(cmd)
	if err != nil {
		if h, ok := errors.AsType[*hintError](err); ok {
			return bad(name, h.hint, "%v", err)
		}
		return bad(name, "see snip profile ls, SNIP_SERVER and SNIP_KEY", "%v", err)
	}
	s, err := client.New(client.Config{Server: t.server, Key: t.key, HTTP: patient()})
	if err != nil {
		return bad(name, "set SNIP_SERVER to a URL such as https://snip.example", "%v", err)
	}
	k, err := s.CurrentKey(ctx)
	switch {
	case err == nil:
		return okay(name, "%s takes the key %q: it may %s%s", t.server, k.Label, mayOf(k), ofReach(k))
	case errors.Is(err, client.ErrUnreachable) && t.key == "" && t.from == "SNIP_SERVER" && t.server == defaultServer:
		return okay(name, "none is set for commands, and none runs at %s", t.server)
	case errors.Is(err, client.ErrUnreachable):
		return bad(name, "start it, or set SNIP_SERVER or a profile to another one", "%s: %v", t.server, err)
	case snip.CodeOf(err) == snip.Unauthorized && t.key == "":
		return odd(name, `set SNIP_KEY to a key, or save it with "snip profile add"`, "%s answers; without a key commands can shorten at the most", t.server)
	case snip.CodeOf(err) == snip.Unauthorized:
		return bad(name, `make another key with "snip key new --admin" on the server's host`, "%s does not take the key: %v", t.server, err)
	}
	return bad(name, "see whether this is a Snip, and of this version", "%s: %v", t.server, err)
}

func ofReach(k snip.Key) string {
	if reach := reachOf(k); reach != "" {
		return fmt.Sprintf(", of links %s", reach)
	}
	return ""
}
