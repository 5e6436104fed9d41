package main

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

func newShorten(environ []string) *cobra.Command {
	var n snip.NewLink
	var asJSON, withQR bool
	cmd := &cobra.Command{
		Use:   "shorten URL",
		Short: "Shorten a link and print where it is followed",
		Long: `Shorten a link and print where it is followed.

Where the server lets anybody shorten it works without a key; then a code, a domain, a
title and an expiry can be said, and nothing else.`,
		Example: `  snip shorten https://example.com/a/long/page
  snip shorten https://example.com --code example --tag spring --expires "in 3 days" --json
  snip shorten https://example.com --domain go.example --limit 100 --fallback https://example.com/too-late`,
		Args: oneArg("snip shorten https://example.com"),
	}
	w := addPlace(cmd, environ)
	s := addSettings(cmd, w)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		if asJSON && withQR {
			return &usageError{errors.New("--json and --qr exclude each other")}
		}
		e, err := s.read(cmd, p.zone)
		if err != nil {
			return err
		}
		n.Target, n.Domain = args[0], hostOf(n.Domain)
		apply(e, &n.Settings)
		set(&n.Password, e.Password)
		shortURL, answer, err := shorten(cmd, p, n)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if asJSON {
			return printJSON(out, answer)
		}
		if _, err := fmt.Fprintln(out, shortURL); err != nil || !withQR {
			return err
		}
		text, err := drawQR(shortURL, "text")
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	})
	f := cmd.Flags()
	f.StringVar(&n.Code, "code", "", "the code to use instead of a random one")
	f.StringVar(&n.Domain, "domain", "", "the domain that the code is on")
	f.BoolVar(&n.Reuse, "reuse", false, "take a link that is there already, if it is the same")
	f.StringVar(&n.IdempotencyKey, "idempotency-key", "", "a name for this request: sent again, it makes no second link")
	f.BoolVar(&withQR, "qr", false, "show a QR code, too")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// shorten makes a link: the simple way where there is no key and that can say all of it.
func shorten(cmd *cobra.Command, p place, n snip.NewLink) (shortURL string, answer any, err error) {
	simple := snip.NewLink{Domain: n.Domain, Code: n.Code, Settings: snip.Settings{Target: n.Target, Title: n.Title, ExpiresAt: n.ExpiresAt}}
	if p.keyless != nil && reflect.DeepEqual(n, simple) {
		s, err := p.keyless.Shorten(cmd.Context(), n)
		return s.ShortURL, s, err
	}
	l, _, err := p.CreateLink(cmd.Context(), n)
	if err != nil {
		return "", nil, err
	}
	shown := wire.LinkOf(l, p.ShortURL(l))
	return shown.ShortURL, shown, nil
}

// oneArg is for commands that take one argument.
func oneArg(example string) cobra.PositionalArgs {
	return wantArgs(cobra.ExactArgs(1), example)
}

// wantArgs says how it is done where the arguments are not what is wanted.
func wantArgs(want cobra.PositionalArgs, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := want(cmd, args); err != nil {
			return &hintError{&usageError{err}, example}
		}
		return nil
	}
}
