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
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(environ, parts{})
			if err != nil {
				return err
			}
			log, err := newLogger(cmd.ErrOrStderr(), cfg.LogFormat, cfg.LogLevel)
			if err != nil {
				return err
			}
			s, err := openStores(cmd.Context(), cfg, nil, log)
			if err != nil {
				return err
			}
			if err := s.close(); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the tables are up to date")
			return err
		},
	}
}
