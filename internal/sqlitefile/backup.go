package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a copy of the file as it is at one moment, which is on disk on return.
// Others may read and write meanwhile. The path must not be there yet.
func (f *File) Backup(ctx context.Context, path string) error {
	if _, err := f.writer.ExecContext(ctx, "VACUUM INTO $1", path); err != nil {
		return fmt.Errorf("sqlitefile: back up to %s: %w", path, err)
	}
	// SQLite leaves it to the system when the copy is written.
	for _, name := range []string{path, filepath.Dir(path)} {
		if err := syncFile(name); err != nil {
			return fmt.Errorf("sqlitefile: back up to %s: %w", path, err)
		}
	}
	return nil
}

func syncFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
