package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"snip/worker"
)

func newRebuild(environ []string) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild",
		Short: "Count all clicks that the topic holds anew",
		Long: `Count all clicks that topic "clicks" in DATABASE_URL, or else in SNIP_DATA_DIR, holds
anew, beside the statistics that are shown, and show the new ones in one step once they
are complete. Visitors are redirected and clicks counted all the while. Stopped
halfway, it changes nothing.

The topic holds clicks for 7 days. Days of which it does not hold all clicks stay as
they were.`,
		Args: noArgs,
		RunE: withStores(environ, rebuild),
	}
}

func rebuild(cmd *cobra.Command, cfg config, s *stores) error {
	out := cmd.OutOrStdout()
	said := int64(0)
	done, err := worker.Rebuild(cmd.Context(), worker.RebuildConfig{
		Store: s.links, Engine: s.log, Roster: s.log, Topic: worker.ClicksTopic(int64(cfg.ClicksBytes)),
		Progress: func(clicks int64) {
			if clicks-said >= 1_000_000 {
				said = clicks
				_, _ = fmt.Fprintf(out, "%d clicks so far\n", clicks)
			}
		},
	})
	if err != nil {
		return err
	}
	if done.Since.IsZero() {
		_, err = fmt.Fprintf(out, "%d clicks counted anew, and shown\n", done.Clicks)
	} else {
		_, err = fmt.Fprintf(out, "%d clicks counted anew, and shown from %s (UTC) on; what is older stayed as it was, for the topic does not hold all of it\n",
			done.Clicks, done.Since.Format(time.DateOnly))
	}
	return err
}
