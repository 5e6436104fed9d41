package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// newLogger writes coloured lines to a terminal and JSON elsewhere, unless the
// format is set.
func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &usageError{fmt.Errorf("SNIP_LOG_LEVEL %q must be debug, info, warn or error", level)}
	}
	terminal := false
	if f, ok := w.(*os.File); ok {
		terminal = isatty.IsTerminal(f.Fd())
	}
	switch {
	case format == "json" || format == "auto" && !terminal:
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})), nil
	case format == "text" || format == "auto":
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: l, TimeFormat: time.TimeOnly, NoColor: !terminal})), nil
	}
	return nil, &usageError{fmt.Errorf("SNIP_LOG_FORMAT %q must be auto, text or json", format)}
}
