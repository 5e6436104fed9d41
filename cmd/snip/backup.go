package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"snip/queue/engine/sqlite"
	"snip/store"
)

func newBackup(environ []string) *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy SNIP_DATA_DIR to a new directory while Snip runs",
		Long: `Copy the files of SNIP_DATA_DIR to a new directory, each as it is at one moment. Snip
may run meanwhile. To restore, stop Snip, put both files in the place of the old ones
(and remove those whose names end in -wal and -shm), leave the spool where it is, and
start Snip.

With DATABASE_URL there is pg_dump: it copies everything of Snip's.`,
		Example: "  snip backup /backup/snip-2026-11-29",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return &hintError{&usageError{err}, "snip backup /backup/snip-2026-11-29"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := readConfig(environ, parts{})
			if err != nil {
				return err
			}
			if cfg.Database != "" {
				return &hintError{store.ErrServer, "pg_dump copies everything of Snip's"}
			}
			if _, err := os.Stat(cfg.database()); err != nil {
				return &hintError{err, "set SNIP_DATA_DIR to the directory that Snip runs on"}
			}
			return backup(cmd, cfg, args[0])
		},
	}
}

// backup copies links and counts before the log: what the log has more than these is
// counted after a restore, and what it had less could not be.
func backup(cmd *cobra.Command, cfg config, dir string) error {
	ctx, silent := cmd.Context(), slog.New(slog.DiscardHandler)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return &hintError{fmt.Errorf("backup: %w", err), "name a directory that is not there yet"}
	}
	links, err := openLinks(ctx, cfg, nil, silent)
	if err != nil {
		return err
	}
	err = copyTo(ctx, cmd, links, filepath.Join(dir, filepath.Base(cfg.database())))
	if err := errors.Join(err, links.Close()); err != nil {
		return err
	}
	log, err := sqlite.Open(ctx, sqlite.Config{Path: cfg.logFile(), Logger: silent})
	if err != nil {
		return err
	}
	err = copyTo(ctx, cmd, log, filepath.Join(dir, filepath.Base(cfg.logFile())))
	return errors.Join(err, log.Close())
}

func copyTo(ctx context.Context, cmd *cobra.Command, from interface {
	Backup(ctx context.Context, path string) error
}, path string,
) error {
	if err := from.Backup(ctx, path); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), path)
	return err
}
