// Package engine makes the engine a choice of one URL.
//
// It links every engine and its client. A program that knows which one it wants imports
// that one alone.
package engine

import (
	"context"
	"fmt"
	"io"
	"strings"

	"snip/queue"
	"snip/queue/engine/memory"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
)

// Engine is what every engine that Open knows can do.
type Engine interface {
	queue.TaskEngine
	queue.Controls
	queue.DeadLetters
	queue.QueueWaiter

	queue.LogEngine
	queue.GroupStore
	queue.Waiter
	queue.Backlogger

	io.Closer
}

// Open opens the engine of a URL:
//
//	memory:                            gone with the process
//	sqlite:path/to/file.db             a file, made if it is not there
//	postgres://user:password@host/db   a server
//
// The caller closes it. An error never holds the password.
func Open(ctx context.Context, url string) (Engine, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case ok && scheme == "memory" && rest == "":
		return memory.New(), nil
	case ok && scheme == "sqlite" && rest != "":
		e, err := sqlite.Open(ctx, sqlite.Config{Path: rest})
		if err != nil {
			return nil, err
		}
		return e, nil
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		e, err := postgres.Open(ctx, postgres.Config{URL: url})
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	return nil, fmt.Errorf("the engine's URL must be memory:, sqlite:path or postgres://…, and its scheme is %q", scheme)
}
