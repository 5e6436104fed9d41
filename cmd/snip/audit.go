package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"snip/event"
	"snip/queue"
	"snip/store"
)

func newAudit(environ []string) *cobra.Command {
	var since time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what, on a host that has the stores",
		Long: `Show each change of a link, a domain or a key, the oldest first: when, by which key,
and which fields. What was changed while no web ran is shown once one has run.`,
		Example: "  snip audit --since 24h\n  snip audit --json",
		Args:    noArgs,
	}
	cmd.RunE = withStores(environ, func(cmd *cobra.Command, _ config, s *stores) error {
		if since < 0 {
			return &hintError{&usageError{errors.New("--since must not be negative")}, "snip audit --since 24h"}
		}
		var after time.Time
		if since > 0 {
			after = time.Now().Add(-since)
		}
		labels, err := keyLabels(cmd.Context(), s.links)
		if err != nil {
			return err
		}
		out := auditLines(cmd.OutOrStdout(), labels)
		if asJSON {
			out = auditJSON(cmd.OutOrStdout(), labels)
		}
		if err := readAudit(cmd.Context(), s.log, after, out.add); err != nil {
			return err
		}
		return out.end()
	})
	cmd.Flags().DurationVar(&since, "since", 0, "only what was changed in this time, such as 24h (default all there is)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON for each change")
	return cmd
}

// keyLabels returns what the keys are for, by their ID.
func keyLabels(ctx context.Context, links *store.Store) (map[int64]string, error) {
	keys, err := links.ListKeys(ctx)
	if err != nil {
		return nil, err
	}
	labels := map[int64]string{}
	for _, k := range keys {
		labels[k.ID] = k.Label
	}
	return labels, nil
}

// readAudit gives add what the topic holds of a time and since, the oldest first.
func readAudit(ctx context.Context, log queue.LogEngine, since time.Time, add func(event.Audit) error) error {
	const page = 1000
	topic := store.AuditTopic().Name
	for at := (queue.Position{}); ; {
		entries, err := log.Read(ctx, topic, 0, at, page)
		if errors.Is(err, queue.ErrNotFound) {
			return nil // Nothing was ever changed.
		}
		if err != nil {
			return fmt.Errorf("read topic %q: %w", topic, err)
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			for _, m := range e.Messages {
				a, err := event.DecodeAudit(m.Body)
				if err != nil {
					return fmt.Errorf("read topic %q: %w", topic, err)
				}
				if a.At.Before(since) {
					continue
				}
				if err := add(a); err != nil {
					return err
				}
			}
		}
		at = entries[len(entries)-1].Next
	}
}

// auditWriter writes changes one after the other.
type auditWriter struct {
	add func(event.Audit) error
	end func() error
}

// auditLines writes a table for people.
func auditLines(w io.Writer, labels map[int64]string) auditWriter {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	begun := false
	return auditWriter{
		add: func(a event.Audit) error {
			if !begun {
				begun = true
				fmt.Fprintln(t, "TIME\tKEY\tACTION\tSUBJECT\tFIELDS")
			}
			var fields []string
			for _, c := range a.Changes {
				fields = append(fields, c.Field)
			}
			_, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", a.At.Local().Format(time.DateTime),
				printable(keyName(a.Key, labels)), printable(a.Action), printable(subjectName(a.Subject)), printable(strings.Join(fields, ", ")))
			return err
		},
		end: t.Flush,
	}
}

// keyName says who it was.
func keyName(id int64, labels map[int64]string) string {
	switch label, ok := labels[id]; {
	case id == 0:
		return "host"
	case !ok || label == "":
		return fmt.Sprintf("key %d", id)
	default:
		return cut(label)
	}
}

// subjectName says what was changed.
func subjectName(s event.Subject) string {
	switch s.Kind {
	case event.LinkSubject:
		return strings.TrimPrefix(s.Domain+"/"+s.Code, "/")
	case event.DomainSubject:
		if s.Host == "" {
			return "the own domain"
		}
		return s.Host
	}
	if s.Label == "" {
		return fmt.Sprintf("%s %d", s.Kind, s.ID)
	}
	return cut(s.Label)
}

// auditJSON writes a line for each change, for programs.
func auditJSON(w io.Writer, labels map[int64]string) auditWriter {
	type line struct {
		At       time.Time           `json:"at"`
		Key      int64               `json:"key"`
		KeyLabel string              `json:"key_label"`
		Action   string              `json:"action"`
		Subject  event.Subject       `json:"subject"`
		Changes  []event.FieldChange `json:"changes"`
	}
	return auditWriter{
		add: func(a event.Audit) error {
			changes := a.Changes
			if changes == nil {
				changes = []event.FieldChange{}
			}
			b, err := json.Marshal(line{a.At, a.Key, labels[a.Key], a.Action, a.Subject, changes})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(w, printableJSON(string(b)))
			return err
		},
		end: func() error { return nil },
	}
}
