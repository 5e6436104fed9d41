package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newRoot(environ []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "snip",
		Short: "A link shortener whose redirects never wait",
		Long: `Snip shortens links and counts their clicks, exactly.

Called alone it serves visitors and does the work behind them in one process, on
files in SNIP_DATA_DIR. "snip web" and "snip worker" do the two apart, on the same
files.`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          serveCommand(environ, "snip", parts{web: true, worker: true}),
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(
		&cobra.Command{
			Use:   "web",
			Short: "Serve visitors and the API; spool the clicks",
			Args:  noArgs,
			RunE:  serveCommand(environ, "web", parts{web: true}),
		},
		&cobra.Command{
			Use:   "worker",
			Short: "Count the clicks and do what else nobody waits for",
			Args:  noArgs,
			RunE:  serveCommand(environ, "worker", parts{worker: true}),
		},
		newShorten(environ),
		newLinks(environ),
		newStats(environ),
		newRebuild(environ),
		newMigrate(environ),
		newBackup(environ),
		newCopy(environ),
		newKey(environ),
		&cobra.Command{
			Use:   "version",
			Short: "Print the version",
			Args:  noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "snip", version())
				return err
			},
		},
	)
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return &usageError{err}
	}
	return nil
}

// version is what the build recorded: a tag, or the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, dirty := info.Main.Version, ""
	if v != "" && v != "(devel)" {
		return v
	}
	v = "development"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " (modified)"
		}
	}
	return v + dirty
}
