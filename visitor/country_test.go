package visitor_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"snip/visitor"
)

// database returns a database in which 1.2.3.0/24 and 2001:db8::/32 have a country
// and a region, 1.2.4.0/24 a country, and the records of 1.2.5.0/24 to 1.2.7.0/24
// are of another form.
func database(t *testing.T, country string) []byte {
	t.Helper()
	w, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Test-City", RecordSize: 24, IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	code := func(s string) mmdbtype.Map { return mmdbtype.Map{"iso_code": mmdbtype.String(s)} }
	for prefix, record := range map[string]mmdbtype.Map{
		"1.2.3.0/24":    {"country": code(country), "subdivisions": mmdbtype.Slice{code("ZH"), code("X")}},
		"2001:db8::/32": {"country": code(country), "subdivisions": mmdbtype.Slice{code("BE")}},
		"1.2.4.0/24":    {"country": code(country)},
		"1.2.5.0/24":    {"continent": code("EU")},
		"1.2.6.0/24":    {"country": code("<b>"), "subdivisions": mmdbtype.Slice{code("ZH")}},
		"1.2.7.0/24":    {"country": code(country), "subdivisions": mmdbtype.Slice{}},
		"1.2.8.0/24":    {"country": code(country), "subdivisions": mmdbtype.Slice{code("=1+1")}},
	} {
		_, network, err := net.ParseCIDR(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Insert(network, record); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// place returns country and region with a space between.
func place(r *visitor.Reader, address string) string {
	var a netip.Addr
	if address != "" {
		a = netip.MustParseAddr(address)
	}
	p := r.Profile(visitor.Facts{Address: a})
	return p.Country + " " + p.Region
}

func TestCountryAndRegion(t *testing.T) {
	name := filepath.Join(t.TempDir(), "city.mmdb")
	write(t, name, database(t, "CH"))
	r := open(t, visitor.Config{Database: name})
	for address, want := range map[string]string{
		"1.2.3.4":          "CH CH-ZH",
		"::ffff:1.2.3.4":   "CH CH-ZH",
		"2001:db8::1":      "CH CH-BE",
		"2001:db8::1%eth0": "CH CH-BE",
		"1.2.4.4":          "CH unknown",
		"1.2.5.4":          "unknown unknown",
		"1.2.6.4":          "unknown unknown",
		"1.2.7.4":          "CH unknown",
		"1.2.8.4":          "CH unknown",
		"9.9.9.9":          "unknown unknown",
		"127.0.0.1":        "unknown unknown",
		"":                 "unknown unknown",
		"0.0.0.0":          "unknown unknown",
		"2001:db9:ffff::1": "unknown unknown",
	} {
		if got := place(r, address); got != want {
			t.Errorf("%q is in %q, want %q", address, got, want)
		}
	}
}

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder // Protected by mu.
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// take returns what was logged since the last take.
func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.text.Reset()
	return j.text.String()
}

func logger(j *journal) *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// TestDatabaseChanges goes through all that can happen to the file while a reader
// runs, and waits until the reader has looked again.
func TestDatabaseChanges(t *testing.T) {
	swiss, french := database(t, "CH"), database(t, "FR")
	synctest.Test(t, func(t *testing.T) {
		var j journal
		name := filepath.Join(t.TempDir(), "city.mmdb")
		r := open(t, visitor.Config{Database: name, Logger: logger(&j)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		step := func(what, want, logged string) {
			t.Helper()
			time.Sleep(6 * time.Second) // Of the bubble's clock.
			synctest.Wait()
			if got := place(r, "1.2.3.4"); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			log := j.take()
			if lines := strings.Count(log, "\n"); !strings.Contains(log, logged) || lines != min(1, len(logged)) {
				t.Errorf("%s: logged %q, want %q once", what, log, logged)
			}
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if log := j.take(); log != "" {
				t.Errorf("%s: logged again: %s", what, log)
			}
		}
		step("missing", "unknown unknown", "no country database")
		write(t, name, []byte("this is not a database\n"))
		step("not a database", "unknown unknown", "cannot be used")
		write(t, name, swiss)
		step("right", "CH CH-ZH", "country database read")
		step("unchanged", "CH CH-ZH", "")

		if err := os.Truncate(name, int64(len(swiss)/2)); err != nil {
			t.Fatal(err)
		}
		step("truncated while in use", "CH CH-ZH", "cannot be used")
		write(t, name+".new", french)
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
		step("replaced", "FR FR-ZH", "country database read")
		write(t, name, nil)
		step("emptied", "FR FR-ZH", "cannot be used")
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		step("gone", "unknown unknown", "no country database")
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		step("a directory", "unknown unknown", "not a regular file")
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		step("gone again", "unknown unknown", "no country database")
		write(t, name, swiss)
		step("back", "CH CH-ZH", "country database read")
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v, want nil", err)
		}
	})
}

// TestDatabaseInTheSameTick writes another database of the same size and time.
func TestDatabaseInTheSameTick(t *testing.T) {
	swiss, french := database(t, "CH"), database(t, "FR")
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "city.mmdb")
		now := time.Now()
		change := func(b []byte) {
			write(t, name, b)
			if err := os.Chtimes(name, now, now); err != nil {
				t.Fatal(err)
			}
		}
		change(swiss)
		r := open(t, visitor.Config{Database: name})
		change(french)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got := place(r, "1.2.3.4"); got != "FR FR-ZH" {
			t.Errorf("%q, want FR FR-ZH", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v, want nil", err)
		}
	})
}

// TestDamagedDatabaseNeverPanics flips and cuts: what is accepted answers anything
// but does not fail.
func TestDamagedDatabaseNeverPanics(t *testing.T) {
	whole := database(t, "CH")
	name := filepath.Join(t.TempDir(), "city.mmdb")
	refused := 0
	for i := 0; i < len(whole); i += 61 {
		b := bytes.Clone(whole)
		if i%2 == 0 {
			b[i] ^= 0xff
		} else {
			b = b[:i]
		}
		write(t, name, b)
		var j journal
		r := open(t, visitor.Config{Database: name, Logger: logger(&j)})
		for _, address := range []string{"1.2.3.4", "1.2.6.4", "2001:db8::1", "255.255.255.255"} {
			if got := place(r, address); len(got) > len("unknown unknown") {
				t.Errorf("byte %d: %q", i, got)
			}
		}
		if strings.Contains(j.take(), "cannot be used") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

func TestRunWithoutDatabaseEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := open(t, visitor.Config{}).Run(ctx); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
}
