package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

func newStats(environ []string) *cobra.Command {
	var top int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats [CODE...]",
		Short: "Show what was counted for links, or for all of them",
		Long: `Show what was counted: for one link, for several together, for all with a tag or on a
domain, or, without any of these, for everything, and which links are popular.

Days are those of a time zone, the first and the last included. Where nothing is
said the server chooses: the last 30 days, in its own zone.`,
		Example: `  snip stats go
  snip stats --from 2026-11-01 --to 2026-11-30 --zone Europe/Berlin --step week
  snip stats --tag spring --json`,
	}
	w := addPlace(cmd, environ)
	cmd.ValidArgsFunction = w.completeCodes
	cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
		parameters := url.Values{"top": {strconv.Itoa(top)}}
		for _, name := range []string{"from", "to", "zone", "step", "tag", "domain"} {
			if f := cmd.Flags().Lookup(name); f.Changed {
				parameters.Set(name, f.Value.String())
			}
		}
		if err := nameCodes(parameters, args); err != nil {
			return err
		}
		show := showStats
		if asJSON {
			show = showStatsJSON
		}
		return show(cmd.Context(), cmd.OutOrStdout(), p, parameters, top)
	})
	cmd.Flags().String("from", "", "first day, such as 2026-11-01")
	cmd.Flags().String("to", "", "last day")
	cmd.Flags().String("zone", "", "time zone of the days, such as Europe/Berlin")
	cmd.Flags().String("step", "", "hour, day, week or month")
	cmd.Flags().String("tag", "", "of links with this tag")
	cmd.Flags().String("domain", "", `of links on this domain; "-" is the server's own`)
	cmd.Flags().IntVar(&top, "top", 10, "how many values of each kind, and how many links")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers of the API, one a line")
	return cmd
}

// nameCodes names the links in the parameters. All are on one domain.
func nameCodes(parameters url.Values, args []string) error {
	domain := hostOf(parameters.Get("domain"))
	for i, r := range refsOf(args, domain) {
		if i > 0 && r.Domain != domain || parameters.Has("domain") && r.Domain != hostOf(parameters.Get("domain")) {
			return &usageError{errors.New("the links are on several domains: ask for those of one at a time")}
		}
		domain = r.Domain
		parameters.Add("code", r.Code)
	}
	if parameters.Has("domain") || domain != "" {
		parameters.Set("domain", domain)
	}
	return nil
}

// ofAll tells whether statistics are of everything.
func ofAll(st snip.Stats) bool { return len(st.Codes) == 0 && st.Tag == "" && st.Domain == nil }

// showStats prints tables. A top of 0 leaves out which links are popular.
func showStats(ctx context.Context, w io.Writer, s service, parameters url.Values, top int) error {
	_, st, err := askStats(ctx, s, parameters)
	if err != nil {
		return err
	}
	var popular snip.Popular
	if ofAll(st) && top > 0 {
		if popular, err = s.Popular(ctx, st.Range, top); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, statsText(st, popular))
	return err
}

// showStatsJSON prints what the API answers: the statistics, and of everything which
// links are popular.
func showStatsJSON(ctx context.Context, w io.Writer, s service, parameters url.Values, top int) error {
	raw, st, err := askStats(ctx, s, parameters)
	if err != nil {
		return err
	}
	answers := []json.RawMessage{raw}
	if ofAll(st) && top > 0 {
		r := st.Range
		raw, err := s.PopularJSON(ctx, url.Values{
			"from": {r.From.String()}, "to": {r.To.String()}, "zone": {r.Location().String()}, "limit": {strconv.Itoa(top)},
		})
		if err != nil {
			return err
		}
		answers = append(answers, raw)
	}
	for _, raw := range answers {
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return fmt.Errorf("answer of the server: %w", err)
		}
		if _, err := fmt.Fprintln(w, printableJSON(line.String())); err != nil {
			return err
		}
	}
	return nil
}

// askStats returns the answer as it stands, and what it says. What comes after is
// asked for with the range that the server chose: midnight may lie between.
func askStats(ctx context.Context, s service, parameters url.Values) (json.RawMessage, snip.Stats, error) {
	raw, err := s.StatsJSON(ctx, parameters)
	if err != nil {
		return nil, snip.Stats{}, err
	}
	var answer wire.Stats
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, snip.Stats{}, fmt.Errorf("answer of the server: %w", err)
	}
	st, err := answer.Stats()
	if err != nil {
		return nil, st, fmt.Errorf("answer of the server: %w", err)
	}
	return raw, st, nil
}
