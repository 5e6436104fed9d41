// Command snip is a self-hosted link shortener whose redirects never wait.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // A bare machine has no time zones.

	"snip"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the next one ends the process at once, as it does by default.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is the program. Its result is the exit code: 0, or 1 after an error, or 2 if it
// was called wrongly, or 3 if what it was told to work on is not there.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	cmd := newRoot(environ)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "snip:", err)
	if h, ok := errors.AsType[*hintError](err); ok {
		fmt.Fprintln(stderr, "hint:", h.hint)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return 2
	}
	if snip.CodeOf(err) == snip.NotFound {
		return 3
	}
	return 1
}

// hintError is an error whose mend is known.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
