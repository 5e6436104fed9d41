package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"snip"
	"snip/wire"
)

func newRemove(environ []string) *cobra.Command {
	var yes bool
	cmd, run := bulkCommand(environ, "rm CODE...", "Delete links, and all that was counted for them", `  snip rm go
  snip rm go spring --yes`)
	cmd.Long = `Delete links, and all that was counted for them. On a terminal it asks before; elsewhere it
wants --yes. To take links out of lists and keep them, there is "snip archive".`
	run(func(cmd *cobra.Command, _ place, refs []snip.Ref) (snip.Bulk, error) {
		question := fmt.Sprintf("Delete %d links and their statistics?", len(refs))
		if len(refs) == 1 {
			question = fmt.Sprintf("Delete %s and its statistics?", printable(nameOf(refs[0])))
		}
		return snip.Bulk{Action: snip.BulkDelete}, confirm(cmd, yes, question)
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func newArchive(environ []string) *cobra.Command {
	cmd, run := bulkCommand(environ, "archive CODE...", "Take links out of lists; they go on leading where they lead",
		"  snip archive spring summer")
	run(always(snip.Bulk{Action: snip.BulkArchive}))
	return cmd
}

func newRestore(environ []string) *cobra.Command {
	cmd, run := bulkCommand(environ, "restore CODE...", "Put archived links back into lists", "  snip restore spring")
	run(always(snip.Bulk{Action: snip.BulkRestore}))
	return cmd
}

// prepare says what is to be done, and may refuse to.
type prepare func(cmd *cobra.Command, p place, refs []snip.Ref) (snip.Bulk, error)

func always(b snip.Bulk) prepare {
	return func(*cobra.Command, place, []snip.Ref) (snip.Bulk, error) { return b, nil }
}

// bulkCommand makes a command that does one thing to the links it is given. What it
// returns beside says which thing.
func bulkCommand(environ []string, use, short, example string) (*cobra.Command, func(prepare)) {
	var domain string
	var asJSON bool
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: wantArgs(cobra.MinimumNArgs(1), example)}
	w := addPlace(cmd, environ)
	cmd.ValidArgsFunction = w.completeCodes
	cmd.Flags().StringVar(&domain, "domain", "", "the domain that the codes are on")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers of the API, one a line")
	return cmd, func(prepare prepare) {
		cmd.RunE = w.at(func(cmd *cobra.Command, p place, args []string) error {
			refs := refsOf(args, domain)
			b, err := prepare(cmd, p, refs)
			if err != nil {
				return err
			}
			return change(cmd, p, b, refs, asJSON)
		})
	}
}

// change does one thing to links, as many at a time as one request may name, and tells
// of those to which it was not done.
func change(cmd *cobra.Command, p place, b snip.Bulk, refs []snip.Ref, asJSON bool) error {
	var failed []snip.BulkFailure
	done := 0
	for part := range slices.Chunk(refs, snip.MaxBulk) {
		b.Links = part
		result, err := p.ChangeLinks(cmd.Context(), b)
		if err != nil {
			return err
		}
		done += result.Done
		failed = append(failed, result.Failed...)
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), bulkJSON(result)); err != nil {
				return err
			}
		}
	}
	if !asJSON && done > 0 {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d\n", didWhat(b.Action), done); err != nil {
			return err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	for _, f := range failed {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "snip: %s: %s\n", printable(nameOf(f.Ref)), printable(f.Err.Error()))
	}
	err := fmt.Errorf("%d of %d links stayed as they were", len(failed), len(refs))
	if slices.ContainsFunc(failed, func(f snip.BulkFailure) bool { return snip.CodeOf(f.Err) != snip.NotFound }) {
		return err
	}
	return &snip.Error{Code: snip.NotFound, Message: err.Error() + "."}
}

func didWhat(a snip.BulkAction) string {
	return map[snip.BulkAction]string{
		snip.BulkDelete: "deleted", snip.BulkArchive: "archived", snip.BulkRestore: "restored",
		snip.BulkTag: "tagged", snip.BulkUntag: "tag taken away",
	}[a]
}

func bulkJSON(r snip.BulkResult) wire.BulkResult {
	out := wire.BulkResult{Done: r.Done, Failed: []wire.BulkFailure{}}
	for _, f := range r.Failed {
		message := f.Err.Error()
		if e, ok := errors.AsType[*snip.Error](f.Err); ok {
			message = e.Message
		}
		out.Failed = append(out.Failed, wire.BulkFailure{Domain: f.Domain, Code: f.Code, Reason: snip.CodeOf(f.Err), Message: message})
	}
	return out
}
