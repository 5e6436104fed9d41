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
files.

Commands for links work on a server: the one of --server, --profile or SNIP_SERVER, else
of the profile in use, else http://127.0.0.1:8080; with --local on the files themselves.
Answers go to the output and everything else to the error output. The exit code is 0 if
it was done, 1 if not, 2 if the command was called wrongly, and 3 if what it names is not
there.`,
		Example: `  snip
  snip shorten https://example.com/a/long/page
  snip check`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          serveCommand(environ, "snip", parts{web: true, worker: true}),
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(
		&cobra.Command{
			Use:     "web",
			Short:   "Serve visitors and the API; spool the clicks",
			Example: "  SNIP_ADDR=:8080 snip web",
			Args:    noArgs,
			RunE:    serveCommand(environ, "web", parts{web: true}),
		},
		&cobra.Command{
			Use:     "worker",
			Short:   "Count the clicks and do what else nobody waits for",
			Example: "  DATABASE_URL=postgres://snip:secret@db.example/snip snip worker",
			Args:    noArgs,
			RunE:    serveCommand(environ, "worker", parts{worker: true}),
		},
		newShorten(environ),
		newLinks(environ),
		newLink(environ),
		newEdit(environ),
		newRemove(environ),
		newArchive(environ),
		newRestore(environ),
		newStats(environ),
		newQR(environ),
		newTag(environ),
		newDomain(environ),
		newProfile(environ),
		newCheck(environ),
		newAudit(environ),
		newRebuild(environ),
		newMigrate(environ),
		newBackup(environ),
		newCopy(environ),
		newKey(environ),
		&cobra.Command{
			Use:     "version",
			Short:   "Print the version",
			Example: "  snip version",
			Args:    noArgs,
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
