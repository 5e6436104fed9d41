package sqlitefile

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsBusy reports that another process held a lock for longer than Config.Busy, be
// it that of the file or one of those that order the write-ahead log.
func IsBusy(err error) bool {
	code := primary(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED || code == sqlite3.SQLITE_PROTOCOL
}

// IsFull reports that the disk is full.
func IsFull(err error) bool {
	return primary(err) == sqlite3.SQLITE_FULL
}

func primary(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}
