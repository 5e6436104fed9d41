package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

func newTag(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tag",
		Short:   "List tags, add them to links and take them away",
		Example: "  snip tag add spring go blog\n  snip tag ls",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTagList(environ),
		newTagChange(environ, "add", "Add a tag to links", snip.BulkTag),
		newTagChange(environ, "rm", "Take a tag away from links", snip.BulkUntag))
	return cmd
}

func newTagList(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the tags, and how many links have each",
		Example: "  snip tag ls --json",
		Args:    noArgs,
	}
	w := addPlace(cmd, environ)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, _ []string) error {
		tags, err := p.Tags(cmd.Context())
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		if !asJSON {
			fmt.Fprintln(t, "TAG\tLINKS")
		}
		for _, tag := range tags {
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), wire.TagCount(tag)); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(t, "%s\t%d\n", printable(tag.Tag), tag.Links)
		}
		return t.Flush()
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func newTagChange(environ []string, verb, short string, action snip.BulkAction) *cobra.Command {
	var domain string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     verb + " TAG CODE...",
		Short:   short,
		Example: "  snip tag " + verb + " spring go blog",
		Args:    wantArgs(cobra.MinimumNArgs(2), "snip tag "+verb+" spring go blog"),
	}
	w := addPlace(cmd, environ)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return w.completeTags(cmd, args, toComplete)
		}
		return w.completeCodes(cmd, args, toComplete)
	}
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		return change(cmd, p, snip.Bulk{Action: action, Tags: args[:1]}, refsOf(args[1:], domain), asJSON)
	})
	cmd.Flags().StringVar(&domain, "domain", "", "the domain that the codes are on")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers of the API, one a line")
	return cmd
}
