package store

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// unreachable reports that the file could not be read or written: its disk is away
// or broken.
func unreachable(err error) bool {
	code, ok := sqliteCode(err)
	primary := code & 0xff
	return ok && (primary == sqlite3.SQLITE_IOERR || primary == sqlite3.SQLITE_CANTOPEN || primary == sqlite3.SQLITE_READONLY)
}

// taken reports that a row with the same unique columns is there already.
func taken(err error) bool {
	code, ok := sqliteCode(err)
	return ok && code == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func sqliteCode(err error) (int, bool) {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code(), true
	}
	return 0, false
}
