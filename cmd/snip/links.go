package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

func newLinks(environ []string) *cobra.Command {
	var q snip.LinkQuery
	var domain, sort string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "links",
		Short: "List links, newest first",
		Long: `List links, newest first. A link on another domain than the server's own is shown as
host/code, and can be named so to all commands. "-" as domain stands for the own one.`,
		Example: `  snip links --search "spring sale" --tag news
  snip links --all --json | jq -r .short_url
  snip links --domain go.example --sort expiry --limit 20`,
		Args: noArgs,
	}
	w := addPlace(cmd, environ)
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, _ []string) error {
		if cmd.Flags().Changed("domain") {
			host := hostOf(domain)
			q.Domain = &host
		}
		q.Sort = snip.Sort(sort)
		list := lister{place: p, query: q, all: all}
		print := printTable
		if asJSON {
			print = printLines
		}
		more, err := print(cmd.Context(), cmd.OutOrStdout(), list)
		if err == nil && more {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "there are more: --all lists them, too")
		}
		return err
	})
	f := cmd.Flags()
	f.StringVar(&q.Search, "search", "", "only those with words that begin like this in code, title, note or target")
	f.StringArrayVar(&q.Tags, "tag", nil, "only those with this tag; said several times, with all of them")
	f.StringVar(&domain, "domain", "", "only those on this domain")
	f.Int64Var(&q.Owner, "owner", 0, "only those that the key with this number made")
	f.StringVar(&q.Archived, "archived", "", "no, only or all (no)")
	f.StringVar(&sort, "sort", "", "newest, oldest, updated, code or expiry (newest)")
	f.IntVar(&q.Limit, "limit", 100, "how many at most")
	f.BoolVar(&all, "all", false, "all of them, however many")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// lister reads a list page by page.
type lister struct {
	place
	query snip.LinkQuery
	all   bool // However many; else as many as query.Limit.
}

// each calls do for each link, and tells whether there are more than were asked for.
func (l lister) each(ctx context.Context, do func(snip.Link) error) (more bool, err error) {
	q := l.query
	for left := q.Limit; ; {
		q.Limit = snip.MaxPage
		if !l.all {
			q.Limit = min(left, snip.MaxPage)
		}
		page, err := l.ListLinks(ctx, q)
		if err != nil {
			return false, err
		}
		for _, link := range page.Links {
			if err := do(link); err != nil {
				return false, err
			}
		}
		left -= len(page.Links)
		q.Cursor = page.Next
		if page.Next == "" || !l.all && left <= 0 {
			return page.Next != "", nil
		}
	}
}

func printTable(ctx context.Context, w io.Writer, l lister) (more bool, err error) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CODE\tCLICKS\tTARGET")
	more, err = l.each(ctx, func(l snip.Link) error {
		_, err := fmt.Fprintf(t, "%s\t%d\t%s\n", printable(nameOf(snip.Ref{Domain: l.Domain, Code: l.Code})), l.Clicks, printable(l.Target))
		return err
	})
	if err != nil {
		return false, err // Part of a table would look like all of it.
	}
	return more, t.Flush()
}

// printLines prints an object per link, so that a long list can be worked on while
// it arrives.
func printLines(ctx context.Context, w io.Writer, l lister) (more bool, err error) {
	return l.each(ctx, func(link snip.Link) error { return printJSON(w, wire.LinkOf(link, l.ShortURL(link))) })
}

func newLink(environ []string) *cobra.Command {
	var domain string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "link CODE",
		Short: "Show all about one link",
		Example: `  snip link go
  snip link go.example/spring --json`,
		Args: oneArg("snip link go"),
	}
	w := addPlace(cmd, environ)
	cmd.ValidArgsFunction = w.completeCodes
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		l, err := p.Link(cmd.Context(), refOf(args[0], domain))
		if err != nil {
			return err
		}
		return showLink(cmd, p, l, asJSON)
	})
	cmd.Flags().StringVar(&domain, "domain", "", "the domain that the code is on")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// showLink prints all about a link: what is said of it, and of what is usual nothing.
func showLink(cmd *cobra.Command, p place, l snip.Link, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, wire.LinkOf(l, p.ShortURL(l)))
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, printable(value))
		}
	}
	when := func(at time.Time) string { return showTime(at, p.zone) }
	line("short URL", p.ShortURL(l))
	line("target", l.Target)
	line("title", l.Title)
	line("note", l.Note)
	line("tags", strings.Join(l.Tags, ", "))
	line("aliases", strings.Join(l.Aliases, ", "))
	line("starts", when(l.StartsAt))
	line("expires", when(l.ExpiresAt))
	if l.ClickLimit > 0 {
		line("click limit", fmt.Sprintf("%d, of which %d are used", l.ClickLimit, l.LimitUsed))
	}
	if l.HasPassword {
		line("password", "asked for")
	}
	line("fallback", l.Fallback)
	if l.Status != 0 && l.Status != 307 {
		line("status", fmt.Sprint(l.Status))
	}
	line("query", string(l.Query))
	if l.ForwardPath {
		line("path", "forwarded")
	}
	for i, r := range l.Rules {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
		line(fmt.Sprintf("rule %d", i+1), string(text))
	}
	c := l.Campaign
	for _, u := range [][2]string{{"source", c.Source}, {"medium", c.Medium}, {"campaign", c.Name}, {"term", c.Term}, {"content", c.Content}} {
		line("utm_"+u[0], u[1])
	}
	line("archived", when(l.ArchivedAt))
	line("made", when(l.CreatedAt))
	line("changed", when(l.UpdatedAt))
	line("version", fmt.Sprint(l.Version))
	if l.Owner != 0 {
		line("owner", fmt.Sprintf("key %d", l.Owner))
	}
	line("clicks", fmt.Sprintf("%d, of people %d", l.Clicks, l.HumanClicks))
	return t.Flush()
}

// printJSON leaves & and < as they are: a URL is printed as it was typed. What a
// terminal might obey is escaped.
func printJSON(w io.Writer, v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, printableJSON(strings.TrimSuffix(b.String(), "\n")))
	return err
}

// dash stands for nothing in a table.
func dash(s string) string { return cmp.Or(printable(s), "-") }
