package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snip"
)

// completeLimit is how long whoever pressed tab waits for a server.
const completeLimit = time.Second

// completions is how many are offered at most.
const completions = 50

// completeCodes offers codes that begin like what was typed. A server that cannot tell
// offers none.
func (w *whereabouts) completeCodes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return w.complete(cmd, func(ctx context.Context, p place) (found []string, err error) {
		domain := ""
		if f := cmd.Flags().Lookup("domain"); f != nil {
			domain = f.Value.String()
		}
		ref := refOf(typed, domain)
		q := snip.LinkQuery{Search: ref.Code, Limit: completions}
		if ref.Domain != "" {
			q.Domain = &ref.Domain
		}
		page, err := p.ListLinks(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, l := range page.Links {
			name := nameOf(snip.Ref{Domain: l.Domain, Code: l.Code})
			if domain != "" {
				name = l.Code
			}
			if strings.HasPrefix(name, typed) && !slices.Contains(args, name) {
				found = append(found, printable(name))
			}
		}
		return found, nil
	})
}

// completeTags offers tags that begin like what was typed.
func (w *whereabouts) completeTags(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return w.complete(cmd, func(ctx context.Context, p place) (found []string, err error) {
		tags, err := p.Tags(ctx)
		for _, t := range tags {
			if strings.HasPrefix(t.Tag, typed) && len(found) < completions {
				found = append(found, printable(t.Tag))
			}
		}
		return found, err
	})
}

func (w *whereabouts) complete(cmd *cobra.Command, find func(context.Context, place) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	none := cobra.ShellCompDirectiveNoFileComp
	p, err := w.open(cmd)
	if err != nil {
		return nil, none
	}
	defer p.close() // Nothing was written.
	ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
	defer cancel()
	found, err := find(ctx, p)
	if err != nil {
		return nil, none
	}
	return found, none
}
