package main

import (
	"cmp"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

// ownDomain is how the instance's own domain is named, which has no host of its own.
const ownDomain = "-"

func newDomain(environ []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "domain",
		Short: "List, add, change and remove domains",
		Long: `List, add, change and remove domains: hosts that visitors come to, each with codes of its
own. The one that the server has from the start is named "-".`,
		Example: "  snip domain add go.example --root https://example.com/\n  snip domain ls",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDomainList(environ), newDomainAdd(environ), newDomainEdit(environ), newDomainRemove(environ))
	return cmd
}

func newDomainList(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the domains",
		Example: "  snip domain ls --json",
		Args:    noArgs,
	}
	w := addPlace(cmd, environ)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, _ []string) error {
		domains, err := p.ListDomains(cmd.Context())
		if err != nil {
			return err
		}
		return showDomains(cmd, asJSON, domains...)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func showDomains(cmd *cobra.Command, asJSON bool, domains ...snip.Domain) error {
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(t, "HOST\tCASE\tROOT\tNOT FOUND\tVERSION")
	}
	for _, d := range domains {
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), wire.DomainOf(d)); err != nil {
				return err
			}
			continue
		}
		letters := "matters"
		if d.IgnoreCase {
			letters = "ignored"
		}
		missing := d.NotFound
		if missing == "" && d.NotFoundText != "" {
			missing = "a text"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\n", cmp.Or(printable(d.Host), ownDomain), letters, dash(d.Root), dash(missing), d.Version)
	}
	return t.Flush()
}

// domainFlags are what is said of a domain.
type domainFlags struct {
	ignoreCase           bool
	root, notFound, text string
}

func addDomainFlags(cmd *cobra.Command) *domainFlags {
	d := &domainFlags{}
	cmd.Flags().BoolVar(&d.ignoreCase, "ignore-case", false, "codes that differ by case only are one")
	cmd.Flags().StringVar(&d.root, "root", "", "where / leads")
	cmd.Flags().StringVar(&d.notFound, "not-found", "", "where a code without a link leads")
	cmd.Flags().StringVar(&d.text, "not-found-text", "", "what the page for such a code says")
	return d
}

func newDomainAdd(environ []string) *cobra.Command {
	const example = "snip domain add go.example --ignore-case --root https://example.com/"
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "add HOST",
		Short:   "Add a domain; its host must lead to the server",
		Example: "  " + example,
		Args:    oneArg(example),
	}
	w := addPlace(cmd, environ)
	flags := addDomainFlags(cmd)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		d, err := p.CreateDomain(cmd.Context(), snip.NewDomain{
			Host: args[0], IgnoreCase: flags.ignoreCase, Root: flags.root, NotFound: flags.notFound, NotFoundText: flags.text,
		})
		if err != nil {
			return err
		}
		return showDomains(cmd, asJSON, d)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newDomainEdit(environ []string) *cobra.Command {
	const example = `snip domain edit go.example --ignore-case=false --not-found ""`
	var asJSON bool
	var version int64
	cmd := &cobra.Command{
		Use:     "edit HOST",
		Short:   "Change a domain; what is not said stays as it is",
		Example: "  " + example + "\n  snip domain edit - --root https://example.com/",
		Args:    oneArg(example),
	}
	w := addPlace(cmd, environ)
	flags := addDomainFlags(cmd)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		var e snip.DomainEdit
		for name, to := range map[string]func(){
			"ignore-case":    func() { e.IgnoreCase = &flags.ignoreCase },
			"root":           func() { e.Root = &flags.root },
			"not-found":      func() { e.NotFound = &flags.notFound },
			"not-found-text": func() { e.NotFoundText = &flags.text },
		} {
			if cmd.Flags().Changed(name) {
				to()
			}
		}
		if e == (snip.DomainEdit{}) {
			return &hintError{&usageError{errors.New("nothing is said that shall change")}, example}
		}
		e.Version = version
		d, err := p.EditDomain(cmd.Context(), hostOf(args[0]), e)
		if err != nil {
			return err
		}
		return showDomains(cmd, asJSON, d)
	})
	cmd.Flags().Int64Var(&version, "if-version", 0, "change it only if it is in this version still")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newDomainRemove(environ []string) *cobra.Command {
	var yes bool
	var version int64
	cmd := &cobra.Command{
		Use:     "rm HOST",
		Short:   "Remove a domain that has no links",
		Example: "  snip domain rm go.example --yes",
		Args:    oneArg("snip domain rm go.example --yes"),
	}
	w := addPlace(cmd, environ)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		if err := confirm(cmd, yes, fmt.Sprintf("Remove domain %s?", printable(args[0]))); err != nil {
			return err
		}
		return p.DeleteDomain(cmd.Context(), hostOf(args[0]), version)
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().Int64Var(&version, "if-version", 0, "remove it only if it is in this version still")
	return cmd
}

// hostOf is the host that is named, as it is kept. What cannot be one is left as it is,
// for whoever is asked to refuse it.
func hostOf(arg string) string {
	if arg == "" || arg == ownDomain {
		return ""
	}
	host, err := snip.CleanHost(arg)
	if err != nil {
		return arg
	}
	return host
}
