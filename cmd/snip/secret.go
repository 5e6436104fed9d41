package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// maxSecret is more than any key or password has.
const maxSecret = 4096

// readSecret reads a line from the input, less its end. On a terminal it asks for it
// and what is typed is not seen.
func readSecret(cmd *cobra.Command, what string) (string, error) {
	in := cmd.InOrStdin()
	if f, ok := in.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: ", what)
		defer func() { _, _ = fmt.Fprintln(cmd.ErrOrStderr()) }()
		defer hideTyping(int(f.Fd()))()
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxSecret+1)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	switch {
	case line == "":
		return "", &usageError{fmt.Errorf("the input holds no %s", what)}
	case len(line) > maxSecret:
		return "", &usageError{fmt.Errorf("the %s on the input is too long", what)}
	}
	return line, nil
}

// hideTyping turns the echo of a terminal off. What it returns turns it on again. A
// terminal that cannot do so is left as it is.
func hideTyping(terminal int) (restore func()) {
	before, err := unix.IoctlGetTermios(terminal, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ECHONL
	if err := unix.IoctlSetTermios(terminal, unix.TCSETS, &hidden); err != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(terminal, unix.TCSETS, before) } // There is nobody to tell.
}

// confirm asks a question on a terminal. Elsewhere nobody can answer.
func confirm(cmd *cobra.Command, yes bool, question string) error {
	if yes {
		return nil
	}
	in := cmd.InOrStdin()
	if f, ok := in.(*os.File); !ok || !isatty.IsTerminal(f.Fd()) {
		return &hintError{&usageError{errors.New("nobody is there to be asked: " + question)}, "say --yes"}
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a == "y" || a == "yes" {
		return nil
	}
	return errors.New("nothing was changed")
}
