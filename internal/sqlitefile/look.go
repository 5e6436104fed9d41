package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
)

// Look opens a file to look at it once, and changes nothing on disk. Others may use it
// meanwhile. The error is fs.ErrNotExist if there is no file.
func Look(ctx context.Context, path string) (*sql.DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("sqlitefile: look at the file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("sqlitefile: look at the file: %s is no regular file", path)
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(on)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// Nobody has it open. To look in the usual way would leave files beside it.
		q.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("sqlitefile: look at %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, fmt.Errorf("sqlitefile: look at %s: %w", path, errors.Join(err, db.Close()))
	}
	return db, nil
}
