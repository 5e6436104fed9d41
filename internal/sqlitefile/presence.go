package sqlitefile

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// presence tells whether somebody else has the same file open: each holds a shared lock
// on one byte of the lock file for as long. It belongs to the open file, not to the
// process, so that it ends with it, and two in one process know of each other.
type presence struct{ f *os.File }

// presenceByte is far from where anybody would write. Nothing is written there.
const presenceByte = 1 << 20

// enter may fail only as opening a file can.
func enter(path string) (*presence, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	here := presenceLock(unix.F_RDLCK)
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &here); err != nil {
		_ = f.Close() // Nothing was written to it.
		return nil, fmt.Errorf("lock %s.lock: %w", path, err)
	}
	return &presence{f}, nil
}

// alone reports that nobody else is there. What cannot be found out counts as somebody.
func (p *presence) alone() bool {
	other := presenceLock(unix.F_WRLCK)
	err := unix.FcntlFlock(p.f.Fd(), unix.F_OFD_GETLK, &other)
	return err == nil && other.Type == unix.F_UNLCK
}

func (p *presence) leave() error { return p.f.Close() }

func presenceLock(kind int16) unix.Flock_t {
	return unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: presenceByte, Len: 1}
}
