package spool

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"snip/queue"
)

// left is a directory with one segment of 10 messages, whose process is gone.
func left(t *testing.T) (Config, queue.SegmentID) {
	t.Helper()
	cfg := Config{Dir: t.TempDir(), Topic: "clicks", SegmentBytes: 64 << 10, MaxRecord: 1 << 10, Sync: -1}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := s.Record(time.Now(), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(cfg.Dir, "*"+segmentSuffix))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d segments are left, error %v, want 1", len(files), err)
	}
	id, _ := segmentID(filepath.Base(files[0]))
	return cfg, id
}

// counter is an engine that counts what it is given.
type counter struct {
	queue.LogEngine
	messages chan int
}

func (counter) Caps() queue.Caps { return queue.Caps{} }

func (c counter) Append(_ context.Context, _ string, _ int, b queue.Batch) error {
	c.messages <- len(b.Messages)
	return nil
}

// ships ships for as long as it takes to empty the directory, and returns how many
// messages the engine got.
func ships(t *testing.T, cfg Config) (delivered int, st Stats) {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := counter{messages: make(chan int, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Ship(ctx, e, func(r Record) queue.Message { return queue.Message{Body: r.Payload} })
	}()
	for deadline := time.Now().Add(20 * time.Second); s.Stats().Unsent > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the directory is not emptied")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(e.messages)
	for n := range e.messages {
		delivered += n
	}
	return delivered, s.Stats()
}

func TestKilledWhileASegmentIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		aside     bool
		entry     func(b []byte) []byte // What of the entry reached the ledger.
		remove    bool                  // Whether the segment was removed.
		delivered int
		dropped   int64
	}{
		"before the entry":     {entry: func(b []byte) []byte { return nil }, delivered: 10},
		"in the entry":         {entry: func(b []byte) []byte { return b[:30] }, delivered: 10},
		"after the entry":      {entry: func(b []byte) []byte { return b }, dropped: 10},
		"after the removal":    {entry: func(b []byte) []byte { return b }, remove: true, dropped: 10},
		"before it goes aside": {entry: func(b []byte) []byte { return b }, aside: true, dropped: 10},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, id := left(t)
			l, err := openLedger(t.Context(), cfg.Dir)
			if err != nil {
				t.Fatal(err)
			}
			e := entry{sequence: 1, dropped: 10, segment: id, aside: c.aside}
			_, slot, err := l.last()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.file.WriteAt(c.entry(e.encode()), int64(slotsAt+slot*slotStride)); err != nil {
				t.Fatal(err)
			}
			if err := l.close(); err != nil {
				t.Fatal(err)
			}
			if c.remove {
				if err := os.Remove(segmentPath(cfg.Dir, id)); err != nil {
					t.Fatal(err)
				}
			}
			// The segment that was dropped must not come back, however often one starts.
			delivered, st := ships(t, cfg)
			if again, _ := ships(t, cfg); again != 0 {
				t.Errorf("%d messages were delivered by a second start", again)
			}
			if delivered != c.delivered || st.Dropped != c.dropped {
				t.Errorf("%d delivered, %d dropped, want %d, %d", delivered, st.Dropped, c.delivered, c.dropped)
			}
			if aside := st.Aside == 1; aside != c.aside {
				t.Errorf("Aside = %d", st.Aside)
			}
		})
	}
}

func TestLedgerTakesTurns(t *testing.T) {
	cfg, _ := left(t)
	l, err := openLedger(t.Context(), cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for i := range 5 {
		if err := l.retire(entry{dropped: 3, lost: 1, segment: queue.NewSegmentID()}); err != nil {
			t.Fatal(err)
		}
		l.drop()
		dropped, lost, err := l.totals()
		if err != nil || dropped != int64(i+1)*4 || lost != int64(i+1) {
			t.Errorf("totals() = %d, %d, %v after %d segments and records", dropped, lost, err, i+1)
		}
	}
}

func TestLedgerOfSomethingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	if err := os.WriteFile(path, make([]byte, 100), fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	l, err := openLedger(t.Context(), dir) // Left by a process that was killed while it made it.
	if err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("2026-01-01 dinner 12.50"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openLedger(t.Context(), dir); err == nil {
		t.Error("openLedger(t.Context(), ) took a file that is not one")
	}
}

func TestCutLedgerIsAFaultNotACrash(t *testing.T) {
	cfg, _ := left(t)
	l, err := openLedger(t.Context(), cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	l.drop()
	if dropped, _, err := l.totals(); dropped != 1 || err == nil {
		t.Errorf("totals() = %d, %v, want 1 and the fault", dropped, err)
	}
}
