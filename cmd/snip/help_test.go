package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandHelps: with a line, an example or more, and --help that needs nothing.
func TestEveryCommandHelps(t *testing.T) {
	root := newRoot(nil)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	commands := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		commands++
		path := cmd.CommandPath()
		if cmd.Short == "" || cmd.Example == "" && cmd.Long == "" {
			t.Errorf("%s: Short is %q and there is neither Example nor Long", path, cmd.Short)
		}
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); !strings.Contains(line, "snip") {
				t.Errorf("%s: example %q runs no snip", path, line)
			}
		}
		var stdout, stderr bytes.Buffer
		args := append(strings.Fields(path)[1:], "--help")
		if code := run(t.Context(), args, nil, &stdout, &stderr); code != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), "Usage:") {
			t.Errorf("%s --help: exit code %d and %q", path, code, &stderr)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if commands < 40 {
		t.Errorf("only %d commands were looked at", commands)
	}
}

// TestCompletionScripts are there for each shell.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"completion", shell}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "__complete") {
			t.Errorf("completion %s: exit code %d, %q, %q", shell, code, &stdout, &stderr)
		}
	}
}
