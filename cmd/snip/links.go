package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"snip"
	"snip/client"
)

// remote says which server the commands talk to.
type remote struct {
	Server string `env:"SNIP_SERVER" envDefault:"http://127.0.0.1:8080"`
	Key    string `env:"SNIP_KEY"`
}

func dial(environ []string) (*client.Client, error) {
	r, err := env.ParseAsWithOptions[remote](env.Options{Environment: env.ToMap(environ)})
	if err != nil {
		return nil, &usageError{err}
	}
	c, err := client.New(client.Config{Server: r.Server, Key: r.Key})
	if err != nil {
		return nil, &usageError{fmt.Errorf("SNIP_SERVER: %w", err)}
	}
	return c, nil
}

// hint adds what to do about an error of the server, where it is known.
func hint(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrUnreachable):
		return &hintError{err, `start the server with "snip", or set SNIP_SERVER`}
	case snip.CodeOf(err) == snip.Forbidden:
		return &hintError{err, `set SNIP_KEY to a key; "snip key new --admin" on the server's host makes one`}
	}
	return err
}

func newShorten(environ []string) *cobra.Command {
	var n snip.NewLink
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "shorten URL",
		Short:   "Shorten a link on the server at SNIP_SERVER",
		Example: "  snip shorten https://example.com/a/long/page\n  snip shorten https://example.com --code example --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return &hintError{&usageError{err}, "snip shorten https://example.com"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(environ)
			if err != nil {
				return err
			}
			n.Target = args[0]
			s, err := c.Shorten(cmd.Context(), n)
			if err != nil {
				return hint(err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), s.ShortURL)
			return err
		},
	}
	cmd.Flags().StringVar(&n.Code, "code", "", "the code to use instead of a random one")
	cmd.Flags().StringVar(&n.Title, "title", "", "a title for people")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newLinks(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "links",
		Short: "List the links of the server at SNIP_SERVER, newest first",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := dial(environ)
			if err != nil {
				return err
			}
			print := printTable
			if asJSON {
				print = printLines
			}
			return print(cmd.Context(), cmd.OutOrStdout(), c)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func printTable(ctx context.Context, w io.Writer, links snip.Links) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CODE\tCLICKS\tTARGET")
	err := eachLink(ctx, links, func(l snip.Link) error {
		_, err := fmt.Fprintf(t, "%s\t%d\t%s\n", l.Code, l.Clicks, l.Target)
		return err
	})
	if err != nil {
		return err // Part of a table would look like all of it.
	}
	return t.Flush()
}

// printLines prints an object per link, so that a long list can be worked on while
// it arrives.
func printLines(ctx context.Context, w io.Writer, links snip.Links) error {
	return eachLink(ctx, links, func(l snip.Link) error {
		return printJSON(w, struct {
			Code        string `json:"code"`
			Clicks      int64  `json:"clicks"`
			HumanClicks int64  `json:"human_clicks"`
			URL         string `json:"url"`
			Title       string `json:"title,omitempty"`
		}{l.Code, l.Clicks, l.HumanClicks, l.Target, l.Title})
	})
}

func eachLink(ctx context.Context, links snip.Links, do func(snip.Link) error) error {
	page := snip.Page{Limit: 1000}
	for {
		list, err := links.ListLinks(ctx, page)
		if err != nil {
			return hint(err)
		}
		for _, l := range list {
			if err := do(l); err != nil {
				return err
			}
			page.After = l.ID
		}
		if len(list) < page.Limit {
			return nil
		}
	}
}

// printJSON leaves & and < as they are: a URL is printed as it was typed.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
