package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"snip"
	"snip/client"
)

// defaultServer is where a server listens that nobody configured.
const defaultServer = "http://127.0.0.1:8080"

// service is what commands work on: a server, or the stores themselves.
type service interface {
	snip.Service
	// ShortURL is where a link is followed that the service returned.
	ShortURL(l snip.Link) string
	// StatsJSON and PopularJSON are what the API answers to parameters.
	StatsJSON(ctx context.Context, parameters url.Values) (json.RawMessage, error)
	PopularJSON(ctx context.Context, parameters url.Values) (json.RawMessage, error)
}

// place is where a command works.
type place struct {
	service
	keyless *client.Client // A server without a key, which may let anybody shorten. Nil: there is a key, or no server.
	zone    *time.Location // Of times that are typed or shown.
	close   func() error
}

// whereabouts are the flags and the environment that say where a command works.
type whereabouts struct {
	environ []string
	server  string
	keyFile string
	profile string
	local   bool

	check func() error // Finds what is wrong with other flags, before anything is opened or read. May be nil.
}

// remote is what the environment says of servers.
type remote struct {
	Server string `env:"SNIP_SERVER"`
	Key    string `env:"SNIP_KEY"`
}

// addPlace gives a command, and those below it, the flags that say where it works.
func addPlace(cmd *cobra.Command, environ []string) *whereabouts {
	w := &whereabouts{environ: environ}
	f := cmd.PersistentFlags()
	f.StringVar(&w.server, "server", "", "the server, instead of SNIP_SERVER or a profile")
	f.StringVar(&w.keyFile, "key-file", "", "a file that holds the key, or - for the input, instead of SNIP_KEY")
	f.StringVar(&w.profile, "profile", "", `a saved server and key: see "snip profile"`)
	f.BoolVar(&w.local, "local", false, "work on the stores of this host (DATABASE_URL or SNIP_DATA_DIR), with no server and no key")
	return w
}

// at runs a command at its place.
func (w *whereabouts) at(do func(cmd *cobra.Command, p place, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if w.check != nil {
			if err := w.check(); err != nil {
				return err
			}
		}
		p, err := w.open(cmd)
		if err != nil {
			return err
		}
		return errors.Join(hint(do(cmd, p, args)), p.close())
	}
}

func (w *whereabouts) open(cmd *cobra.Command) (place, error) {
	if w.local {
		if w.server != "" || w.profile != "" || w.keyFile != "" {
			return place{}, &usageError{errors.New("--local is without a server and a key: leave --server, --profile and --key-file out")}
		}
		return openLocal(cmd.Context(), w.environ)
	}
	t, err := w.target(cmd)
	if err != nil {
		return place{}, err
	}
	c, err := client.New(client.Config{Server: t.server, Key: t.key})
	if err != nil {
		return place{}, &usageError{fmt.Errorf("%s: %w", t.from, err)}
	}
	p := place{service: c, zone: time.Local, close: func() error { return nil }}
	if t.zone != nil {
		p.zone = t.zone
	}
	if t.key == "" {
		p.keyless = c
	}
	return p, nil
}

// target is a server and the key for it.
type target struct {
	server, key string
	from        string         // What named the server.
	zone        *time.Location // Nil: none was named.
}

// target finds the server and its key. A flag goes before the environment, and that
// before the profile in use; the key of a profile goes to its server only.
func (w *whereabouts) target(cmd *cobra.Command) (target, error) {
	if w.server != "" && w.profile != "" {
		return target{}, &usageError{errors.New("--server and --profile name two servers: leave one out")}
	}
	e, err := env.ParseAsWithOptions[remote](env.Options{Environment: env.ToMap(w.environ)})
	if err != nil {
		return target{}, &usageError{err}
	}
	t := target{server: cmp.Or(w.server, e.Server), from: "SNIP_SERVER"}
	if w.server != "" {
		t.from = "--server"
	}
	profileKey := ""
	if w.server == "" && (w.profile != "" || e.Server == "") {
		saved, err := chosenProfile(w.environ, w.profile)
		if err != nil {
			return target{}, err
		}
		if saved != nil {
			t.server, t.from, t.zone, profileKey = saved.Server, "profile", saved.zone(), saved.Key
		}
	}
	t.server = cmp.Or(t.server, defaultServer)
	t.key = cmp.Or(strings.TrimSpace(e.Key), profileKey)
	if w.profile != "" && profileKey != "" {
		t.key = profileKey // Who names a profile means its key.
	}
	if w.keyFile != "" {
		if t.key, err = readKey(cmd, w.keyFile); err != nil {
			return target{}, err
		}
	}
	return t, nil
}

// readKey reads a key from a file, or from the input.
func readKey(cmd *cobra.Command, name string) (string, error) {
	if name == "-" {
		return readSecret(cmd, "key")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", &hintError{fmt.Errorf("--key-file: %w", err), "write the key into a file that only you can read, or pipe it to --key-file -"}
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", &usageError{fmt.Errorf("--key-file: %s holds no key", name)}
	}
	return key, nil
}

// hint adds what to do about an error, where it is known.
func hint(err error) error {
	switch snip.CodeOf(err) {
	case snip.Unauthorized:
		return &hintError{err, `set SNIP_KEY to a key, or save it with "snip profile add"; "snip key new --admin" on the server's host makes one`}
	case snip.Forbidden:
		return &hintError{err, `"snip key show" tells what the key may do`}
	case snip.Changed:
		return &hintError{err, `somebody else changed it: look at it with "snip link", and edit it again`}
	}
	if errors.Is(err, client.ErrUnreachable) {
		return &hintError{err, `start the server with "snip", or set SNIP_SERVER`}
	}
	return err
}

// refOf reads how a link is named: a code, or host/code on a domain of its own. No
// code has a slash.
func refOf(arg, domain string) snip.Ref {
	if host, code, ok := cutLast(arg, "/"); ok {
		return snip.Ref{Domain: hostOf(host), Code: code}
	}
	return snip.Ref{Domain: hostOf(domain), Code: arg}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// nameOf is how refOf reads it.
func nameOf(r snip.Ref) string {
	if r.Domain == "" {
		return r.Code
	}
	return r.Domain + "/" + r.Code
}

func refsOf(args []string, domain string) []snip.Ref {
	refs := make([]snip.Ref, len(args))
	for i, a := range args {
		refs[i] = refOf(a, domain)
	}
	return refs
}
