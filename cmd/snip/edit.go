package main

import (
	"errors"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"snip"
)

// takeAway are the flags that take a setting away.
type takeAway struct{ expiry, start, limit, fallback, password, tags, rules, campaign bool }

func newEdit(environ []string) *cobra.Command {
	var domain, url, newCode string
	var dropped []string
	var version int64
	var keepCode, asJSON bool
	var no takeAway
	cmd := &cobra.Command{
		Use:   "edit CODE",
		Short: "Change a link; what is not said stays as it is",
		Long: `Change a link; what is not said stays as it is. Its statistics stay with it, whatever its
code. With --tag the link has these tags and no others: "snip tag" adds and takes away.`,
		Example: `  snip edit go --url https://go.dev/doc/ --expires "in 2 weeks"
  snip edit go --new-code golang --keep-code
  snip edit go --no-expiry --no-password --if-version 3`,
		Args: oneArg("snip edit go --url https://go.dev/doc/"),
	}
	w := addPlace(cmd, environ)
	s := addSettings(cmd, w)
	cmd.ValidArgsFunction = w.completeCodes
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		e, err := s.read(cmd, p.zone)
		if err != nil {
			return err
		}
		if err := no.take(&e); err != nil {
			return err
		}
		e.Version, e.KeepCode = version, keepCode
		if cmd.Flags().Changed("url") {
			e.Target = &url
		}
		if cmd.Flags().Changed("new-code") {
			e.Code = &newCode
		}
		ref := refOf(args[0], domain)
		if err := s.completeEdit(cmd, p, ref, dropped, no, &e); err != nil {
			return err
		}
		if reflect.DeepEqual(e, snip.LinkEdit{Version: e.Version, KeepCode: e.KeepCode}) {
			return &hintError{&usageError{errors.New("nothing is said that shall change")}, "snip edit go --url https://go.dev/doc/"}
		}
		l, err := p.EditLink(cmd.Context(), ref, e)
		if err != nil {
			return err
		}
		return showLink(cmd, p, l, asJSON)
	})
	f := cmd.Flags()
	f.StringVar(&domain, "domain", "", "the domain that the code is on")
	f.StringVar(&url, "url", "", "another target")
	f.StringVar(&newCode, "new-code", "", "another code")
	f.BoolVar(&keepCode, "keep-code", false, "with --new-code: the old code goes on leading there, too")
	f.StringArrayVar(&dropped, "drop-alias", nil, "a further code that shall not lead there any more; may be said several times")
	f.Int64Var(&version, "if-version", 0, "change it only if it is in this version still")
	f.BoolVar(&no.expiry, "no-expiry", false, "it does not end")
	f.BoolVar(&no.start, "no-start", false, "it begins at once")
	f.BoolVar(&no.limit, "no-limit", false, "without a limit of redirects")
	f.BoolVar(&no.fallback, "no-fallback", false, "once it has ended it leads nowhere")
	f.BoolVar(&no.password, "no-password", false, "visitors are not asked for a password")
	f.BoolVar(&no.tags, "no-tags", false, "without tags")
	f.BoolVar(&no.rules, "no-rules", false, "without rules")
	f.BoolVar(&no.campaign, "no-campaign", false, "without campaign parameters")
	f.BoolVar(&asJSON, "json", false, "print the link as it is now as JSON")
	return cmd
}

// take adds to a change what is taken away.
func (no takeAway) take(e *snip.LinkEdit) error {
	for _, err := range []error{
		none("expiry", no.expiry, &e.ExpiresAt), none("start", no.start, &e.StartsAt), none("limit", no.limit, &e.ClickLimit),
		none("fallback", no.fallback, &e.Fallback), none("password", no.password, &e.Password), none("tags", no.tags, &e.Tags),
		none("rules", no.rules, &e.Rules), none("campaign", no.campaign, &e.Campaign),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// none changes a setting to none, if that is said and nothing else.
func none[T any](flag string, said bool, setting **T) error {
	if !said {
		return nil
	}
	if *setting != nil {
		return &usageError{errors.New("--no-" + flag + " takes away what another flag sets: leave one out")}
	}
	*setting = new(T)
	return nil
}

// completeEdit fills in what a change of a part has to say of the whole: the rest of the
// campaign, and the aliases that stay. Then it is one of the version that was read.
func (s *settings) completeEdit(cmd *cobra.Command, p place, ref snip.Ref, dropped []string, no takeAway, e *snip.LinkEdit) error {
	partly := e.Campaign != nil && !no.campaign
	if !partly && len(dropped) == 0 {
		return nil
	}
	l, err := p.Link(cmd.Context(), ref)
	if err != nil {
		return err
	}
	if e.Version == 0 {
		e.Version = l.Version
	}
	if partly {
		before := settings{campaign: l.Campaign}
		for name, text := range before.campaignTexts() {
			if cmd.Flags().Changed("campaign-" + name) {
				*text = *s.campaignTexts()[name]
			}
		}
		e.Campaign = &before.campaign
	}
	for _, alias := range dropped {
		if !slices.Contains(l.Aliases, alias) {
			return &snip.Error{Code: snip.NotFound, Field: "aliases", Message: "The link has no alias " + printable(alias) + "."}
		}
	}
	if len(dropped) > 0 {
		stay := slices.DeleteFunc(slices.Clone(l.Aliases), func(a string) bool { return slices.Contains(dropped, a) })
		e.Aliases = &stay
	}
	return nil
}
