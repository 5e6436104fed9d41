package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"snip/queue"
	"snip/store"
	"snip/worker"
)

func newCopy(environ []string) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "copy --from PLACE --to PLACE",
		Short: "Move to another database: a directory or a PostgreSQL URL",
		Long: `Copy links, keys, statistics and topics from a data directory or a PostgreSQL database
to an empty other one, and compare the two, row by row. Stop every Snip on both before.
It can be started again after it was broken off.

Start Snip on the copy with the data directories as they are: clicks that are still in
their spools go to the copy, and each is counted once.`,
		Example: "  snip copy --from ./snip-data --to postgres://snip:secret@db.example/snip",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" || from == to {
				return &hintError{&usageError{errors.New("--from and --to must name two places")},
					"snip copy --from ./snip-data --to postgres://user:password@host/database"}
			}
			return moveAll(cmd, environ, from, to)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "where everything is: a data directory or a PostgreSQL URL")
	cmd.Flags().StringVar(&to, "to", "", "where it shall be")
	return cmd
}

func moveAll(cmd *cobra.Command, environ []string, from, to string) (err error) {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if !strings.Contains(from, "://") {
		if _, err := os.Stat(config{DataDir: from}.database()); err != nil {
			return &hintError{fmt.Errorf("--from: %w", err), "name the directory that Snip ran on"}
		}
	}
	source, err := openPlace(ctx, environ, from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, source.close()) }()
	target, err := openPlace(ctx, environ, to)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := moveTopics(ctx, out, target, source); err != nil {
		return err
	}
	err = store.Copy(ctx, target.links, source.links, func(table string, rows int64) {
		_, _ = fmt.Fprintf(out, "%-16s %10d rows, the same in both\n", table, rows)
	})
	return err
}

func moveTopics(ctx context.Context, out io.Writer, target, source *stores) error {
	to, ok := target.log.(queue.Mover)
	from, ok2 := source.log.(queue.Mover)
	if !ok || !ok2 {
		return errors.New("one of the two keeps topics that cannot be moved")
	}
	for _, topic := range []queue.TopicConfig{worker.ClicksTopic(0), store.AuditTopic()} {
		n, err := queue.MoveTopic(ctx, to, from, topic)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "topic %-10s %10d messages, the same positions in both\n", topic.Name, n); err != nil {
			return err
		}
	}
	return nil
}

// openPlace opens what keeps everything in a directory or a database.
func openPlace(ctx context.Context, environ []string, place string) (*stores, error) {
	database := ""
	if strings.Contains(place, "://") {
		database = place
	}
	environ = append(environ[:len(environ):len(environ)], "DATABASE_URL="+database)
	if database == "" {
		environ = append(environ, "SNIP_DATA_DIR="+place)
	}
	cfg, err := readConfig(environ, parts{worker: true})
	if err != nil {
		return nil, err
	}
	return openStores(ctx, cfg, nil, slog.New(slog.DiscardHandler))
}
