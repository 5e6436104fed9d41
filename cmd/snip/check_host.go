package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"snip/visitor"
	"snip/web"
)

// dataDir is where everything is kept, or, with a database, the spool.
func (c *checker) dataDir(context.Context) finding {
	const name = "data directory"
	dir := c.cfg.DataDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Snip makes it, and what is missing above it.
		parent := dir
		for errors.Is(err, fs.ErrNotExist) {
			parent = filepath.Dir(parent)
			info, err = os.Stat(parent)
		}
		if err != nil || !info.IsDir() || !writable(parent) {
			return bad(name, "set SNIP_DATA_DIR to a directory that Snip's user can write", "%s is not there and cannot be made in %s", dir, parent)
		}
		return okay(name, "%s is not there yet; Snip makes it", dir)
	case err != nil:
		return bad(name, "set SNIP_DATA_DIR to a directory that Snip's user can write", "%v", err)
	case !info.IsDir():
		return bad(name, "set SNIP_DATA_DIR to a directory", "%s is not a directory", dir)
	case !writable(dir):
		return bad(name, "give it to Snip's user, or set SNIP_DATA_DIR to one that can be written", "%s cannot be written", dir)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return bad(name, "see whether its disk is well", "free space of %s: %v", dir, err)
	}
	free := int64(disk.Bavail) * disk.Bsize
	if free < 2*int64(c.cfg.SpoolSegmentBytes) {
		return bad(name, "make room on its disk", "%s has %s left: clicks cannot be kept", dir, sizeText(free))
	}
	if free < int64(c.cfg.SpoolBytes) {
		return odd(name, "make room on its disk, or lower SNIP_SPOOL_BYTES", "%s has %s left, less than the spool may take", dir, sizeText(free))
	}
	return okay(name, "%s can be written, %s are free", dir, sizeText(free))
}

// writable tries it: permissions do not tell of disks that are read-only.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".snip-check-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// spool is where clicks wait for their topic.
func (c *checker) spool(context.Context) finding {
	const name = "spool"
	dir := c.cfg.spoolDir()
	segments, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return okay(name, "there is none yet; Snip makes it")
	}
	if err != nil {
		return bad(name, "give it to Snip's user", "%v", err)
	}
	var used int64
	for _, s := range segments {
		if info, err := s.Info(); err == nil && !s.IsDir() {
			used += info.Size()
		}
	}
	if !writable(dir) {
		return bad(name, "give it to Snip's user", "%s cannot be written: clicks are dropped", dir)
	}
	most := int64(c.cfg.SpoolBytes)
	if aside, err := os.ReadDir(filepath.Join(dir, "aside")); err == nil && len(aside) > 0 {
		return odd(name, "docs/operations.md tells what to do with them", "%d files were set aside in %s/aside, because they could not be sent", len(aside), dir)
	}
	if used > most/10*9 {
		return bad(name, "see whether workers run and the log can be written; else raise SNIP_SPOOL_BYTES", "%s of %s are used: the oldest clicks are about to be dropped", sizeText(used), sizeText(most))
	}
	if used > most/2 {
		return odd(name, "see whether workers run and the log can be written", "%s of %s are used", sizeText(used), sizeText(most))
	}
	return okay(name, "%s of %s are used", sizeText(used), sizeText(most))
}

func (c *checker) proxies(context.Context) finding {
	const name = "proxies"
	if _, err := web.ParseProxies(c.cfg.TrustedProxies); err != nil {
		return bad(name, "set SNIP_TRUSTED_PROXIES to addresses and prefixes, such as 10.0.0.0/8,::1", "%v", err)
	}
	if len(c.cfg.TrustedProxies) == 0 {
		if c.cfg.BaseURL != "" && loopback(c.cfg.Addr) {
			return odd(name, "set SNIP_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1",
				"nobody is trusted, though something else must stand before %s: all visitors would have its address", c.cfg.Addr)
		}
		return okay(name, "nobody's word about a visitor's address is taken")
	}
	return okay(name, "%d are trusted", len(c.cfg.TrustedProxies))
}

// oldDatabase is when so many networks have moved that countries are often wrong.
const oldDatabase = 180 * 24 * time.Hour

func (c *checker) countries(context.Context) finding {
	const name = "countries"
	if c.cfg.CountryDB == "" {
		return okay(name, "no database is set: countries are unknown")
	}
	db, err := visitor.ReadDatabase(c.cfg.CountryDB)
	if err != nil {
		return bad(name, "set SNIP_COUNTRY_DB to an MMDB file of countries or cities that Snip's user can read", "%s: %v", c.cfg.CountryDB, err)
	}
	age := time.Since(db.Built)
	text := fmt.Sprintf("%s of %s, %d days old", db.Type, db.Built.Format(time.DateOnly), int(age.Hours()/24))
	if age > oldDatabase {
		return odd(name, "get a newer one; Snip reads it without a restart", "%s", text)
	}
	return okay(name, "%s", text)
}

func (c *checker) timeZone(context.Context) finding {
	zone := c.cfg.TimeZone.Location
	return okay("time zone", "%s, where it is %s", zone, time.Now().In(zone).Format("2006-01-02 15:04"))
}

// sizeText writes a number of bytes as the configuration does.
func sizeText(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
