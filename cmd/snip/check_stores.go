package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
	"snip/store"
)

// database is where links, keys and statistics are.
func (c *checker) database(ctx context.Context) finding {
	const name = "database"
	st, err := c.inspect(ctx)
	if c.missing(err) {
		return okay(name, "%s is not there yet; Snip makes it", c.cfg.database())
	}
	if err != nil {
		return bad(name, c.reach(), "%v", err)
	}
	return upToDate(name, st.Software, st.Schema, st.Newest)
}

func (c *checker) inspect(ctx context.Context) (store.State, error) {
	if c.cfg.Database == "" {
		return store.Inspect(ctx, store.Config{Path: c.cfg.database()})
	}
	return store.Inspect(ctx, store.Config{URL: c.cfg.Database})
}

// missing tells whether it is a file that is not there. A server's socket that is not there
// is another matter.
func (c *checker) missing(err error) bool {
	return c.cfg.Database == "" && errors.Is(err, fs.ErrNotExist)
}

// reach is what to do about a database that does not answer.
func (c *checker) reach() string {
	if c.cfg.Database == "" {
		return "see whether the file is well and Snip's user can read it; a backup can take its place"
	}
	return "check DATABASE_URL: host, port, user, password and name; and that the database is up"
}

// upToDate judges the version of tables.
func upToDate(name, software string, version, newest int64) finding {
	switch {
	case version > newest:
		return bad(name, "run the newer Snip that made them, or restore a backup", "%s; its tables are of version %d, this program knows %d", software, version, newest)
	case version == 0:
		return okay(name, "%s, without tables yet; Snip makes them", software)
	case version < newest:
		return odd(name, `make a backup, then start Snip or run "snip migrate"`, "%s; its tables are of version %d, Snip brings them to %d", software, version, newest)
	}
	return okay(name, "%s, tables up to date (version %d)", software, version)
}

// log is where topics are.
func (c *checker) log(ctx context.Context) finding {
	const name = "topics"
	if c.cfg.Database != "" {
		version, newest, err := postgres.Inspect(ctx, c.cfg.Database, "")
		if err != nil {
			return bad(name, c.reach(), "%v", err)
		}
		return upToDate(name, "in DATABASE_URL", int64(version), int64(newest))
	}
	version, newest, err := sqlite.Inspect(ctx, c.cfg.logFile())
	if errors.Is(err, fs.ErrNotExist) {
		return okay(name, "%s is not there yet; Snip makes it", c.cfg.logFile())
	}
	if err != nil {
		return bad(name, c.reach(), "%v", err)
	}
	return upToDate(name, "in "+c.cfg.logFile(), int64(version), int64(newest))
}

// How far the clocks of database and host may be apart: what is told of a second is
// wrong by it; what lasts minutes, such as the end of a link, too.
const (
	clocksDiffer = 2 * time.Second
	clocksWrong  = time.Minute
)

// clock compares this host's with the database's.
func (c *checker) clock(ctx context.Context) finding {
	before := time.Now()
	st, err := c.inspect(ctx)
	if c.missing(err) {
		err = nil
	}
	return judgeClock(st.Clock, err, before, time.Now())
}

// judgeClock judges a clock that was asked between two moments.
func judgeClock(clock time.Time, err error, before, after time.Time) finding {
	const name = "clock"
	switch {
	case err != nil:
		return odd(name, "mend the database first", "the database cannot be asked for the time")
	case clock.IsZero():
		return okay(name, "%s; there is no other one to compare it with", before.UTC().Format(time.RFC3339))
	}
	apart := max(before.Sub(clock), clock.Sub(after), 0)
	text := fmt.Sprintf("this host and its database are %s apart", apart.Round(time.Millisecond))
	const mend = "run an NTP client on both hosts"
	switch {
	case apart > clocksWrong:
		return bad(name, mend, "%s", text)
	case apart > clocksDiffer:
		return odd(name, mend, "%s", text)
	}
	return okay(name, "%s", text)
}
