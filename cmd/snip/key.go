package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"snip"
	"snip/store"
	"snip/wire"
)

func newKey(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make, list and revoke keys",
		Example: `  snip key new --admin --label laptop
  snip key new --label "release script" --scope write --own-links
  snip key ls`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeyNew(environ), newKeyList(environ), newKeyShow(environ), newKeyEdit(environ), newKeyRevoke(environ))
	return cmd
}

func newKeyNew(environ []string) *cobra.Command {
	var n snip.NewKey
	var scopes []string
	var expires, domain string
	var admin, asJSON bool
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make a key and print it: the only time it can be seen",
		Long: `Make a key and print it: the only time it can be seen.

With --admin it may do everything, and is made on the host itself (DATABASE_URL or
SNIP_DATA_DIR) unless --server or --profile is said: so the first key is made, and one in
the place of a lost one. Other keys are made by whoever has a key with scope admin.`,
		Example: `  snip key new --admin --label laptop
  snip key new --scope read --scope write --label "release script" --expires "in 1 year"
  snip key new --scope write --own-links --domain go.example --contact ada@example.com`,
		Args: noArgs,
	}
	w := addPlace(cmd, environ)
	make := func(ctx context.Context, cmd *cobra.Command, keys snip.Keys) error {
		k, secret, err := keys.CreateKey(ctx, n)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), wire.NewKey{Key: wire.KeyOf(k), Secret: secret})
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), secret)
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case admin && len(scopes) > 0:
			return &usageError{errors.New("--admin is every scope: leave --scope out")}
		case admin:
			scopes = []string{string(snip.ScopeAdmin)}
		case len(scopes) == 0:
			return &hintError{&usageError{errors.New("what may the key do? Say --scope, or --admin")}, "snip key new --admin, or --scope read --scope write"}
		}
		for _, s := range scopes {
			n.Scopes = append(n.Scopes, snip.Scope(s))
		}
		if cmd.Flags().Changed("domain") {
			host := hostOf(domain)
			n.Domain = &host
		}
		zoned := func(zone *time.Location) error {
			if !cmd.Flags().Changed("expires") {
				return nil
			}
			t, err := readWhen("--expires", expires, zone, true)
			set(&n.ExpiresAt, t)
			return err
		}
		if admin && w.server == "" && w.profile == "" {
			if err := zoned(time.Local); err != nil {
				return err
			}
			return onHost(cmd.Context(), environ, func(s *store.Store) error { return make(cmd.Context(), cmd, s) })
		}
		return w.at(func(cmd *cobra.Command, p place, _ []string) error {
			if err := zoned(p.zone); err != nil {
				return err
			}
			return make(cmd.Context(), cmd, p)
		})(cmd, args)
	}
	f := cmd.Flags()
	f.BoolVar(&admin, "admin", false, "a key that may do everything, made on the host itself")
	f.StringSliceVar(&scopes, "scope", nil, "what it may do: read, write or admin; may be said several times")
	f.StringVar(&n.Label, "label", "", "what the key is for")
	f.StringVar(&n.Contact, "contact", "", "whom to ask about it")
	f.StringVar(&n.TimeZone, "zone", "", "where the days of its statistics begin and end, such as Europe/Berlin")
	f.StringVar(&domain, "domain", "", `only links of this domain; "-" is the server's own`)
	f.BoolVar(&n.OwnLinks, "own-links", false, "only links that it made")
	f.StringVar(&expires, "expires", "", "when it ends, such as "+howTimes+"; a day is included")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newKeyList(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the keys, the newest first, revoked ones among them",
		Example: "  snip key ls\n  snip key ls --local --json",
		Args:    noArgs,
	}
	w := addPlace(cmd, environ)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, _ []string) error {
		keys, err := p.ListKeys(cmd.Context())
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		if !asJSON {
			fmt.Fprintln(t, "ID\tLABEL\tMAY\tLINKS\tSTATE\tLAST USED")
		}
		for _, k := range keys {
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), wire.KeyOf(k)); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", k.ID, dash(k.Label), mayOf(k), dash(reachOf(k)), stateOf(k, p.zone), cmp.Or(showTime(k.LastUsed, p.zone), "never"))
		}
		return t.Flush()
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func newKeyShow(environ []string) *cobra.Command {
	return keyCommand(environ, "show [ID]", "Show a key, or the one that is used", "  snip key show\n  snip key show 3 --json", cobra.MaximumNArgs(1),
		func(cmd *cobra.Command, p place, id int64) (snip.Key, error) {
			if id == 0 {
				return p.CurrentKey(cmd.Context())
			}
			return p.Key(cmd.Context(), id)
		})
}

func newKeyEdit(environ []string) *cobra.Command {
	var label, contact, zone, expires string
	var noExpiry bool
	cmd := keyCommand(environ, "edit ID", "Change what is said of a key; what it may do stays", `  snip key edit 3 --label "old laptop" --expires "in 2 weeks"`, cobra.ExactArgs(1),
		func(cmd *cobra.Command, p place, id int64) (snip.Key, error) {
			var e snip.KeyEdit
			changed := cmd.Flags().Changed
			for flag, to := range map[string]func(){
				"label": func() { e.Label = &label }, "contact": func() { e.Contact = &contact }, "zone": func() { e.TimeZone = &zone },
			} {
				if changed(flag) {
					to()
				}
			}
			if changed("expires") {
				t, err := readWhen("--expires", expires, p.zone, true)
				if err != nil {
					return snip.Key{}, err
				}
				e.ExpiresAt = t
			}
			if err := none("expiry", noExpiry, &e.ExpiresAt); err != nil {
				return snip.Key{}, err
			}
			if e == (snip.KeyEdit{}) {
				return snip.Key{}, &hintError{&usageError{errors.New("nothing is said that shall change")}, "snip key edit 3 --label laptop"}
			}
			return p.EditKey(cmd.Context(), id, e)
		})
	f := cmd.Flags()
	f.StringVar(&label, "label", "", "what the key is for")
	f.StringVar(&contact, "contact", "", "whom to ask about it")
	f.StringVar(&zone, "zone", "", "where the days of its statistics begin and end")
	f.StringVar(&expires, "expires", "", "when it ends, such as "+howTimes+"; a day is included")
	f.BoolVar(&noExpiry, "no-expiry", false, "it does not end")
	return cmd
}

func newKeyRevoke(environ []string) *cobra.Command {
	var yes bool
	cmd := keyCommand(environ, "revoke ID", "End a key for ever; the links that it made stay", "  snip key revoke 3 --yes", cobra.ExactArgs(1),
		func(cmd *cobra.Command, p place, id int64) (snip.Key, error) {
			k, err := p.Key(cmd.Context(), id)
			if err != nil {
				return k, err
			}
			if err := confirm(cmd, yes, fmt.Sprintf("End key %d %q for ever?", id, k.Label)); err != nil {
				return k, err
			}
			return p.RevokeKey(cmd.Context(), id)
		})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// keyCommand makes a command that does something with a key, and shows it then. Without
// an ID it is 0.
func keyCommand(environ []string, use, short, example string, args cobra.PositionalArgs,
	do func(cmd *cobra.Command, p place, id int64) (snip.Key, error),
) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: wantArgs(args, strings.TrimSpace(example))}
	w := addPlace(cmd, environ)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		var id int64
		var err error
		if len(args) > 0 {
			if id, err = strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
				return &hintError{&usageError{fmt.Errorf("%q is no number of a key", args[0])}, `"snip key ls" shows them`}
			}
		}
		k, err := do(cmd, p, id)
		if err != nil {
			return err
		}
		return showKey(cmd, k, p.zone, asJSON)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showKey(cmd *cobra.Command, k snip.Key, zone *time.Location, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), wire.KeyOf(k))
	}
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"key", fmt.Sprint(k.ID)}, {"label", k.Label}, {"may", mayOf(k)}, {"links", reachOf(k)}, {"contact", k.Contact}, {"time zone", k.TimeZone},
		{"state", stateOf(k, zone)}, {"last used", cmp.Or(showTime(k.LastUsed, zone), "never")}, {"made", showTime(k.CreatedAt, zone)},
	} {
		if line[1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", line[0], printable(line[1]))
		}
	}
	return t.Flush()
}

func mayOf(k snip.Key) string {
	var scopes []string
	for _, s := range k.Scopes {
		scopes = append(scopes, string(s))
	}
	return strings.Join(scopes, ",")
}

// reachOf tells which links a key reaches; empty for all.
func reachOf(k snip.Key) string {
	var which []string
	if k.OwnLinks {
		which = append(which, "its own")
	}
	if k.Domain != nil {
		which = append(which, "on "+cmp.Or(*k.Domain, "the server's own domain"))
	}
	return strings.Join(which, " ")
}

func stateOf(k snip.Key, zone *time.Location) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked " + showTime(k.RevokedAt, zone)
	case k.ExpiresAt.IsZero():
		return "valid"
	case time.Now().Before(k.ExpiresAt):
		return "valid until " + showTime(k.ExpiresAt, zone)
	}
	return "expired " + showTime(k.ExpiresAt, zone)
}

func showTime(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format(time.RFC3339)
}
