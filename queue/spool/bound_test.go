package spool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"snip/queue"
	"snip/queue/spool"
)

func TestBoundDropsTheOldest(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.MaxBytes = 4 * cfg.SegmentBytes
	s := open(t, cfg)
	const n = 10_000
	recorded, refused := recordMany(t, s, "m", n)
	if st := s.Stats(); st.Bytes > cfg.MaxBytes || st.Dropped <= refused {
		t.Errorf("%d of %d bytes are used, %d dropped, %d of them refused", st.Bytes, cfg.MaxBytes, st.Dropped, refused)
	}
	closeSpool(t, s)

	e := newEngine()
	st := shipAll(t, cfg, e)
	got, _ := e.bodies()
	e.checkOnce(t, recorded[n-len(got):])
	if want := refused + n - int64(len(got)); st.Dropped != want || st.Lost != 0 {
		t.Errorf("Dropped, Lost = %d, %d, want %d, 0", st.Dropped, st.Lost, want)
	}
}

func TestBoundIsSharedByProcesses(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.MaxBytes = 5 * cfg.SegmentBytes
	first, second := open(t, cfg), open(t, cfg)
	for i := range 5000 {
		record(t, first, fmt.Sprint("a", i))
		record(t, second, fmt.Sprint("b", i))
		if i%100 == 0 {
			if used := first.Stats().Bytes; used > cfg.MaxBytes {
				t.Fatalf("%d bytes are used, MaxBytes is %d", used, cfg.MaxBytes)
			}
		}
	}
}

func TestBoundSparesWhatIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t.TempDir())
		cfg.MaxBytes = 6 * cfg.SegmentBytes
		s, e := open(t, cfg), newEngine()
		e.on(nil, func(queue.Batch) error { return errOutage }) // It lands, the reply is lost.
		stop := ship(t, s, e)
		first, refused := recordMany(t, s, "first", 10)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		e.on(func(queue.Batch) error { return errOutage }, nil)
		doubted, r := recordMany(t, s, "doubted", 1)
		refused += r
		time.Sleep(100 * time.Millisecond) // Its append has failed: who knows whether it landed.
		more, r := recordMany(t, s, "more", 10_000)
		refused += r
		if dropped := s.Stats().Dropped; dropped <= refused {
			t.Errorf("Dropped = %d, %d of them refused: the bound was not reached", dropped, refused)
		}
		e.on(nil, nil)
		time.Sleep(time.Minute)
		stop()
		got, _ := e.bodies()
		for _, body := range append(first, doubted[0], more[len(more)-1]) {
			if got[body] != 1 {
				t.Errorf("%q is in the log %d times, want once", body, got[body])
			}
		}
		if n := int64(len(got)) + s.Stats().Dropped - refused; n != 10_011 {
			t.Errorf("%d delivered, %d dropped, %d refused; 10011 were recorded", len(got), s.Stats().Dropped, refused)
		}
	})
}

func TestBoundSparesWhatADeadProcessLeftInDoubt(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.MaxBytes = 4 * cfg.SegmentBytes
	s, e := open(t, cfg), newEngine()
	e.on(nil, func(queue.Batch) error { return errOutage })
	ctx, cancel := context.WithCancel(t.Context())
	shipped := make(chan error, 1)
	first, refused := recordMany(t, s, "first", 10)
	go func() { shipped <- s.Ship(ctx, e, plain) }()
	eventually(t, "an append landed without a reply", func() bool { got, _ := e.bodies(); return len(got) > 0 })
	closeSpool(t, s)
	cancel()
	if err := <-shipped; err != nil {
		t.Errorf("Ship() = %v", err)
	}

	s = open(t, cfg)
	_, r := recordMany(t, s, "more", 10_000)
	refused += r
	closeSpool(t, s)
	e.on(nil, nil)
	st := shipAll(t, cfg, e)
	got, _ := e.bodies()
	for _, body := range first {
		if got[body] != 1 {
			t.Errorf("%q is in the log %d times, want once", body, got[body])
		}
	}
	if n := int64(len(got)) + st.Dropped - refused; n != 10_010 || len(got) == 10_010 {
		t.Errorf("%d delivered, %d dropped, %d refused; 10010 were recorded", len(got), st.Dropped, refused)
	}
}

func TestBoundWithNothingToDrop(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.MaxBytes = 4 * cfg.SegmentBytes
	other := open(t, cfg) // Its segments are its own.
	eventually(t, "the other process has its two segments", func() bool { return other.Stats().Segments == 2 })
	s := open(t, cfg)
	eventually(t, "this one has its two segments", func() bool { return s.Stats().Segments == 4 })
	third := open(t, cfg)
	if err := third.Record(time.Now(), []byte("x")); !errors.Is(err, queue.ErrFull) {
		t.Fatalf("Record() without room = %v, want ErrFull", err)
	}
	if got := s.Stats(); got.Dropped != 1 || got.Bytes > cfg.MaxBytes {
		t.Errorf("Dropped = %d with %d bytes, want 1", got.Dropped, got.Bytes)
	}
	closeSpool(t, other)
	record(t, third, "x")
}

func TestKilledAtTheBound(t *testing.T) {
	dir := t.TempDir()
	var kept []string
	var refused int64
	const rounds = 4
	for range rounds {
		k, r := runChild(t, dir, "kept", 20_000)
		kept, refused = append(kept, k...), refused+r
	}
	cfg := config(dir)
	e := newEngine()
	st := shipAll(t, cfg, e)
	got, _ := e.bodies()
	if st.Dropped <= refused {
		t.Fatalf("%d dropped, %d refused: the bound was not reached", st.Dropped, refused)
	}
	// Of each process one record may have ended without a word.
	unknown := int64(len(got)) + st.Dropped - int64(len(kept)) - refused
	if unknown < 0 || unknown > rounds {
		t.Errorf("%d delivered + %d dropped, but %d kept + %d refused", len(got), st.Dropped, len(kept), refused)
	}
}

// smallDisk mounts a file system of 2 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mount a tmpfs: %v", err)
		}
		t.Skipf("SKIPPED: a full disk was not tested: mounting a tmpfs needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill takes what is left of a disk. It returns the file that holds it.
func fill(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}

func TestFullDisk(t *testing.T) {
	cfg := config(smallDisk(t))
	s, e := open(t, cfg), newEngine()
	recorded, refused := recordMany(t, s, "before", 10)
	ballast := fill(t, cfg.Dir)
	full := 0
	for i := 0; full < 100; i++ {
		payload := fmt.Sprint("full", i)
		if err := s.Record(time.Now(), []byte(payload)); errors.Is(err, queue.ErrFull) {
			full++
		} else if err != nil {
			t.Fatal(err)
		} else {
			recorded = append(recorded, payload)
		}
	}
	refused += int64(full)
	if got := s.Stats().Dropped; got != refused {
		t.Errorf("Dropped = %d on a full disk, want %d", got, refused)
	}
	// Shipping frees the space that goes on being short elsewhere.
	stop := ship(t, s, e)
	refused += record(t, s, "after shipping")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	more, r := recordMany(t, s, "after", 3000)
	stop()
	e.checkOnce(t, append(append(recorded, more...), "after shipping"))
	if got := s.Stats().Dropped; got != refused+r {
		t.Errorf("Dropped = %d, want %d", got, refused+r)
	}
}

func TestKilledOnAFullDisk(t *testing.T) {
	dir := smallDisk(t)
	closeSpool(t, open(t, config(dir))) // The ledger is there.
	ballast := fill(t, dir)
	// The space of two segments and a bit.
	if err := os.Truncate(ballast, 2<<20-190<<10); err != nil {
		t.Fatal(err)
	}
	const rounds = 3
	var kept []string
	var refused int64
	for range rounds {
		k, r := runChild(t, dir, "dropped", 1000)
		kept, refused = append(kept, k...), refused+r
	}
	// The disk is full for the next process as well: of what it records now nothing
	// is kept, and all is counted.
	s, err := spool.Open(config(dir))
	if err != nil {
		t.Fatalf("Open() on a full disk = %v", err)
	}
	for range 10 {
		if err := s.Record(time.Now(), []byte("x")); err == nil {
			t.Error("Record() has found space on a full disk")
		}
	}
	refused += 10
	e := newEngine()
	stop := ship(t, s, e)
	refused += record(t, s, "again") // Shipping made room.
	kept = append(kept, "again")
	stop()
	closeSpool(t, s)
	got, lost := e.bodies()
	for _, payload := range kept {
		if got[payload] != 1 {
			t.Errorf("%s was kept and is in the log %d times", payload, got[payload])
		}
	}
	if unknown := s.Stats().Dropped - refused; unknown < 0 || unknown > rounds || lost != 0 {
		t.Errorf("Dropped = %d, %d were refused", s.Stats().Dropped, refused)
	}
}
