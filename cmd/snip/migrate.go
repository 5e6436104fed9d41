package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newMigrate(environ []string) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the tables up to date, and do nothing else",
		Long: `Bring the tables in DATABASE_URL, or else in SNIP_DATA_DIR, up to date. Every
process does that when it starts, one of them while the others wait: this is for those
who want it done before.`,
		Args: noArgs,
		RunE: withStores(environ, func(cmd *cobra.Command, _ config, _ *stores) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "the tables are up to date")
			return err
		}),
	}
}
