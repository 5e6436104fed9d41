package visitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

// lookEvery is how often Run looks whether the database is another one.
const lookEvery = 5 * time.Second

// countries is a database in memory, not mapped: a mapped file that is cut short
// while it is used ends the process.
type countries struct{ db *maxminddb.Reader }

// of returns the codes of an address's country and region. It may be called on nil.
func (c *countries) of(a netip.Addr) (country, region string) {
	if c == nil || !a.IsValid() {
		return unknown, unknown
	}
	return c.find(a)
}

// find is apart from of because what is decoded into stands on the heap.
func (c *countries) find(a netip.Addr) (country, region string) {
	found := c.db.Lookup(a.Unmap().WithZone(""))
	// An error is one of the record, or of a database that is broken in the middle:
	// it has no code, as has a record without one.
	if err := found.DecodePath(&country, "country", "iso_code"); err != nil || !isCode(country, 2, 2) {
		return unknown, unknown
	}
	if err := found.DecodePath(&region, "subdivisions", 0, "iso_code"); err != nil || !isCode(region, 1, 3) {
		return country, unknown
	}
	return country, country + "-" + region
}

// isCode reports capitals and digits of ASCII.
func isCode(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Run looks every 5 seconds whether the database was changed, replaced or removed,
// and takes the new one once it has been read and proved whole. One that is broken
// is logged and the one before stays; with none there, countries are unknown. While
// one is taken over, two are in memory. Run returns nil when ctx ends.
func (r *Reader) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.look()
		}
	}
}

// stamp tells one state of the file from another. The zero value is no state that
// was looked at.
type stamp struct {
	info fs.FileInfo // Nil if there was no file.
	err  string      // Why there was none.
}

func (s stamp) same(t stamp) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil && s.err == t.err
	}
	return os.SameFile(s.info, t.info) && s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

// look takes the database anew if it is not as it was seen last.
func (r *Reader) look() {
	if r.database == "" {
		return
	}
	info, err := os.Stat(r.database)
	if err != nil {
		gone := stamp{err: err.Error()}
		if !gone.same(r.seen) {
			r.log.Warn("no country database: countries are unknown", "error", err)
			r.seen = gone
			r.countries.Store(nil)
		}
		return
	}
	if r.seen.same(stamp{info: info}) {
		return
	}
	db, info, err := load(r.database)
	r.seen = stamp{info: info}
	switch {
	case errors.Is(err, errWriting):
		r.seen = stamp{} // Look again.
	case err != nil:
		r.log.Warn("the country database cannot be used; the one before stays, if there was one",
			"file", r.database, "error", err)
	default:
		r.countries.Store(&countries{db})
		r.log.Info("country database read", "file", r.database,
			"type", db.Metadata.DatabaseType, "built", db.Metadata.BuildTime().UTC())
		// A change within the same tick of the file system's clock would go unseen.
		if age := r.now().Sub(info.ModTime()); age >= 0 && age < time.Second {
			r.seen = stamp{}
		}
	}
}

// errWriting says that the file changed while it was read.
var errWriting = errors.New("the file is being written")

// load reads a database and looks every network in it up, so that no part fails
// later. A large one of cities takes about a second. The returned state is that of
// the bytes read, or nil.
func load(name string) (*maxminddb.Reader, fs.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // Nothing was written.
	before, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, before, errors.New("it is not a regular file")
	}
	b := make([]byte, before.Size())
	if n, err := io.ReadFull(f, b); n < len(b) && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		return nil, nil, errWriting
	} else if n < len(b) {
		return nil, before, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !(stamp{info: before}).same(stamp{info: after}) {
		return nil, nil, errWriting
	}
	db, err := maxminddb.OpenBytes(b)
	if err != nil {
		return nil, before, err
	}
	// Not db.Verify: it also refuses what does no harm, such as a missing description.
	for network := range db.Networks() {
		var country string
		if err := network.DecodePath(&country, "country", "iso_code"); err != nil {
			return nil, before, fmt.Errorf("damaged at %s: %w", network.Prefix(), err)
		}
	}
	return db, before, nil
}
