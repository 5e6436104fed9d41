package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock waits until no other process is opening the file of that path. SQLite's own
// lock would not do: neither for migrations, which read what is missing before a
// transaction begins, nor for making a new file one with a write-ahead log. Closing
// the result, or the end of the process, ends it. The lock file stays: if it were
// removed, two processes could hold locks on two files of that name.
func lock(ctx context.Context, path string) (*os.File, error) {
	path += ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		// To wait in the system call would be to wait on after ctx has ended.
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ctx.Err()), f.Close())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// removeOrphans removes the write-ahead log of a file that is not there any more:
// SQLite would play it into the new one.
func removeOrphans(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
