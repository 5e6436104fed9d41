package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// How a thing that was looked at is.
const (
	fine    = "ok"
	warning = "warning"
	wrong   = "wrong"
)

// finding is what came of looking at one thing.
type finding struct {
	Check   string `json:"check"`
	State   string `json:"state"`
	Message string `json:"message"`
	Mend    string `json:"mend,omitempty"` // What to do about it.
}

func okay(check, format string, args ...any) finding {
	return finding{Check: check, State: fine, Message: fmt.Sprintf(format, args...)}
}

func bad(check, mend, format string, args ...any) finding {
	return finding{Check: check, State: wrong, Message: fmt.Sprintf(format, args...), Mend: mend}
}

func odd(check, mend, format string, args ...any) finding {
	return finding{Check: check, State: warning, Message: fmt.Sprintf(format, args...), Mend: mend}
}

// checkLimit is how long one look may take.
const checkLimit = 10 * time.Second

// checker looks at all that a server would stand on, and changes nothing of it.
type checker struct {
	environ []string
	cfg     config
	hide    *strings.Replacer // Takes secrets out of what is said.
	serving bool              // A Snip answers at SNIP_ADDR.
}

func newCheck(environ []string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show the configuration, test all it names, and say what is wrong",
		Long: `Show the configuration, with secrets masked, and test all that it names: directories,
database, topics, addresses, proxies, clocks, the server that commands go to and its key.
Nothing is changed, and no tables are brought up to date. A Snip may run meanwhile.

Each line says ok, warning or wrong, and what to do. The exit code is 1 if something is
wrong.`,
		Example: `  snip check
  DATABASE_URL=postgres://snip:secret@db.example/snip snip check --json`,
		Args: noArgs,
	}
	w := addPlace(cmd, environ)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line: settings, then findings")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c := &checker{environ: environ, hide: secretsOf(environ)}
		out := cmd.OutOrStdout()
		cfg, configErr := readConfig(environ, parts{web: true, worker: true})
		c.cfg = cfg
		if err := c.printSettings(out, asJSON); err != nil {
			return err
		}
		faults := 0
		for _, look := range c.looks(cmd, w, configErr) {
			ctx, cancel := context.WithTimeout(cmd.Context(), checkLimit)
			found := look(ctx)
			cancel()
			if found.State == wrong {
				faults++
			}
			if err := c.printFinding(out, found, asJSON); err != nil {
				return err
			}
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if faults > 0 {
			return fmt.Errorf("check: %d wrong", faults)
		}
		return nil
	}
	return cmd
}

// looks are what is looked at, in that order. A configuration that cannot be read names
// nothing to look at.
func (c *checker) looks(cmd *cobra.Command, w *whereabouts, configErr error) []func(context.Context) finding {
	server := func(ctx context.Context) finding { return c.server(ctx, cmd, w) }
	if configErr != nil {
		return []func(context.Context) finding{
			func(context.Context) finding {
				return bad("configuration", "the table in the README says what each variable may be", "%v", configErr)
			},
			server,
		}
	}
	return []func(context.Context) finding{
		func(context.Context) finding { return okay("configuration", "all variables can be read") },
		c.dataDir, c.spool, c.database, c.clock, c.log,
		c.address, c.metricsAddress, c.baseURL, c.proxies, c.countries, c.timeZone, server,
	}
}

func (c *checker) printSettings(w io.Writer, asJSON bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range c.settings() {
		if asJSON {
			if err := printJSON(w, s); err != nil {
				return err
			}
			continue
		}
		note := ""
		if s.Default {
			note = "(default)"
		}
		fmt.Fprintln(t, strings.TrimRight(fmt.Sprintf("%s\t%s\t%s", s.Name, cmp.Or(printable(s.Value), "-"), note), "\t"))
	}
	if !asJSON {
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func (c *checker) printFinding(w io.Writer, f finding, asJSON bool) error {
	f.Message, f.Mend = c.hide.Replace(f.Message), c.hide.Replace(f.Mend)
	if asJSON {
		return printJSON(w, f)
	}
	const column = "%-8s %-15s "
	text := fmt.Sprintf(column+"%s\n", f.State, f.Check, printable(f.Message))
	if f.Mend != "" {
		text += fmt.Sprintf(column+"to do: %s\n", "", "", printable(f.Mend))
	}
	_, err := io.WriteString(w, text)
	return err
}
