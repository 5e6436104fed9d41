package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
)

func newKey(environ []string) *cobra.Command {
	key := &cobra.Command{
		Use:   "key",
		Short: "Make keys, on the host that has the data directory",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var admin bool
	var label string
	create := &cobra.Command{
		Use:     "new --admin",
		Short:   "Make a key and print it: the only time it can be seen",
		Example: "  snip key new --admin --label laptop",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !admin {
				return &hintError{&usageError{errors.New("every key is an admin key in this version")}, "snip key new --admin"}
			}
			cfg, err := readConfig(environ, parts{})
			if err != nil {
				return err
			}
			s, err := openLinks(cmd.Context(), cfg, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				return &hintError{err, "set DATABASE_URL or SNIP_DATA_DIR to what Snip runs on"}
			}
			secret, err := s.CreateAdminKey(cmd.Context(), label)
			if err := errors.Join(err, s.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), secret)
			return err
		},
	}
	create.Flags().BoolVar(&admin, "admin", false, "a key that may do everything")
	create.Flags().StringVar(&label, "label", "", "what the key is for")
	key.AddCommand(create)
	return key
}
