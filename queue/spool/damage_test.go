package spool_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/spool"
)

// change rewrites a file.
func change(t *testing.T, path string, how func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, how(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shipAll opens the directory, ships what is in it and returns the last figures.
func shipAll(t *testing.T, cfg spool.Config, e *engine) spool.Stats {
	t.Helper()
	s := open(t, cfg)
	own := segmentFiles(t, cfg.Dir)
	stop := ship(t, s, e)
	eventually(t, "only segments that are written are left", func() bool {
		return len(segmentFiles(t, cfg.Dir)) <= 2 && s.Stats().Unsent == 0
	})
	stop()
	closeSpool(t, s)
	if files := segmentFiles(t, cfg.Dir); len(files) > 0 {
		t.Errorf("%d of %d segments are left", len(files), len(own))
	}
	return s.Stats()
}

func TestTornRecordIsCut(t *testing.T) {
	cfg := config(t.TempDir())
	want := filled(t, cfg, 20)
	change(t, segmentFiles(t, cfg.Dir)[0], func(b []byte) []byte {
		// A record behind the last one, of which all but the first word was written.
		last := bytes.LastIndex(b, []byte("left-19"))
		next := last - 24 + (24+len("left-19")+7)/8*8
		record := slices.Clone(b[last-24 : next])
		record[8]++
		clear(record[:8])
		copy(b[next:], record)
		return b
	})
	e := newEngine()
	st := shipAll(t, cfg, e)
	e.checkOnce(t, want)
	if _, lost := e.bodies(); st.Dropped != 0 || st.Lost != 0 || lost != 0 {
		t.Errorf("Dropped, Lost = %d, %d, %d in the log, want none", st.Dropped, st.Lost, lost)
	}
}

func TestBrokenRecordInTheMiddle(t *testing.T) {
	cfg := config(t.TempDir())
	want := filled(t, cfg, 20)
	change(t, segmentFiles(t, cfg.Dir)[0], func(b []byte) []byte {
		b[bytes.Index(b, []byte("left-7"))] ^= 4
		return b
	})
	e := newEngine()
	st := shipAll(t, cfg, e)
	e.checkOnce(t, slices.DeleteFunc(want, func(s string) bool { return s == "left-7" }))
	if st.Dropped != 1 || st.Lost != 1 {
		t.Errorf("Dropped, Lost = %d, %d, want 1, 1", st.Dropped, st.Lost)
	}
	for _, messages := range e.copy() {
		if len(messages) != 20 || messages[7].Type != queue.TypeLost {
			t.Errorf("the log has %d messages, want 20 with the lost one in its place", len(messages))
		}
	}
	if again := shipAll(t, cfg, e); again.Dropped != 1 {
		t.Errorf("Dropped = %d after another start, want 1", again.Dropped)
	}
}

// TestEveryByte breaks one byte in each of many like segments: another one each
// time, until every byte that means something was broken.
func TestEveryByte(t *testing.T) {
	const records, payload = 5, 20
	used := 4096 + records*48
	for _, flip := range []byte{0xff, 0x20} {
		t.Run(fmt.Sprintf("%#02x", flip), func(t *testing.T) {
			var broken []int
			for i := range used + 32 {
				if i < 168 || i >= 504 && i < 528 || i >= 1016 && i < 1072 || i >= 4080 {
					broken = append(broken, i)
				}
			}
			cfg := config(t.TempDir())
			cfg.Partitions = 8 // Eight segments at a time.
			cfg.MaxRecord = payload
			cfg.SegmentBytes = int64(used + 40) // Without room for one more.
			s := open(t, cfg)
			texts := map[string]bool{}
			for i := range broken {
				for j := range records {
					text := fmt.Sprintf("segment %4d, no. %2d", i, j)
					texts[text] = true
					record(t, s, text)
				}
			}
			closeSpool(t, s)
			dropped := s.Stats().Dropped

			files := segmentFiles(t, cfg.Dir)
			if len(files) != len(broken) {
				t.Fatalf("%d segments were written, want %d", len(files), len(broken))
			}
			for i, path := range files {
				change(t, path, func(b []byte) []byte {
					b[broken[i]] ^= flip
					return b
				})
			}
			e := newEngine()
			st := shipAll(t, cfg, e)
			got, lost := e.bodies()
			for text, n := range got {
				if n != 1 || !texts[text] {
					t.Errorf("message %q is in the log %d times", text, n)
				}
			}
			if n := int64(len(got)) + st.Dropped - dropped; n != int64(len(texts)) {
				t.Errorf("%d delivered and %d dropped, %d were recorded", len(got), st.Dropped-dropped, len(texts))
			}
			if int64(lost) != st.Lost || lost == 0 || st.Aside == 0 {
				t.Errorf("%d messages are lost in the log, %d are counted, %d segments are aside", lost, st.Lost, st.Aside)
			}
			// A broken header costs its segment, a broken record only itself.
			if most := int64(records*st.Aside + records*48); st.Dropped-dropped > most {
				t.Errorf("%d messages were dropped, at most %d may be", st.Dropped-dropped, most)
			}
		})
	}
}

func TestBrokenCountAndLastRecord(t *testing.T) {
	cfg := config(t.TempDir())
	want := filled(t, cfg, 20)
	change(t, segmentFiles(t, cfg.Dir)[0], func(b []byte) []byte {
		b[512] ^= 1
		b[bytes.Index(b, []byte("left-19"))] ^= 1
		return b
	})
	e := newEngine()
	st := shipAll(t, cfg, e)
	e.checkOnce(t, want[:19])
	if st.Dropped != 1 || st.Lost != 1 {
		t.Errorf("Dropped, Lost = %d, %d, want 1, 1", st.Dropped, st.Lost)
	}
}

func TestHeaderOfAnotherSegment(t *testing.T) {
	cfg := config(t.TempDir())
	want := filled(t, cfg, 4)
	path := segmentFiles(t, cfg.Dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	twin := filepath.Join(cfg.Dir, strings.Repeat("0", 32)+".seg")
	if err := os.WriteFile(twin, b, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEngine()
	st := shipAll(t, cfg, e)
	e.checkOnce(t, want)
	if st.Aside != 1 {
		t.Errorf("Aside = %d, want the segment with another's name", st.Aside)
	}
}

func TestFileCutWhileItIsWritten(t *testing.T) {
	for _, size := range []int64{0, 4096, 6000, 20_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			cfg := config(t.TempDir())
			s, e := open(t, cfg), newEngine()
			eventually(t, "there is a spare segment", func() bool { return s.Stats().Segments == 2 })
			_, dropped := recordMany(t, s, "before", 500)
			for _, path := range segmentFiles(t, cfg.Dir) {
				if err := os.Truncate(path, size); err != nil {
					t.Fatal(err)
				}
			}
			recorded := int64(500)
			for range 2000 {
				if err := s.Record(time.Now(), []byte("after")); err != nil {
					dropped++
				} else {
					recorded++
				}
			}
			eventually(t, "records are kept again", func() bool {
				err := s.Record(time.Now(), []byte("again"))
				if err != nil {
					dropped++
				} else {
					recorded++
				}
				return err == nil
			})
			stop := ship(t, s, e)
			stop()
			closeSpool(t, s)
			st := s.Stats()
			n := int64(0)
			for _, messages := range e.copy() {
				for _, m := range messages {
					if m.Type != queue.TypeLost {
						n++
					}
				}
			}
			if n+st.Lost != recorded || st.Dropped != dropped+st.Lost {
				t.Errorf("%d recorded, %d delivered, %d lost; %d refused, %d dropped in all",
					recorded, n, st.Lost, dropped, st.Dropped)
			}
			if st.Lost == 0 && size < 20_000 {
				t.Error("nothing was lost in a file that was cut")
			}
		})
	}
}

func TestEngineKnowsMoreThanWasWritten(t *testing.T) {
	cfg := config(t.TempDir())
	filled(t, cfg, 10)
	e := newEngine()
	e.on(func(b queue.Batch) error { return &queue.SequenceError{Segment: b.Segment, Expected: 11} }, nil)
	st := shipAll(t, cfg, e)
	if st.Aside != 1 || st.Dropped != 10 {
		t.Errorf("Aside, Dropped = %d, %d, want 1, 10", st.Aside, st.Dropped)
	}
}

func TestEngineKnowsMoreOfTheActiveSegment(t *testing.T) {
	s, e := open(t, config(t.TempDir())), newEngine()
	var foreign queue.SegmentID // Another producer took the first segment's ID.
	e.on(func(b queue.Batch) error {
		if foreign.IsZero() {
			foreign = b.Segment
		}
		if b.Segment == foreign {
			return &queue.SequenceError{Segment: b.Segment, Expected: 1 << 20}
		}
		return nil
	}, nil)
	stop := ship(t, s, e)
	recorded, refused := int64(0), int64(0)
	eventually(t, "the segment is aside and the next is sent", func() bool {
		refused += record(t, s, fmt.Sprint("m", recorded))
		recorded++
		got, _ := e.bodies()
		return s.Stats().Aside == 1 && len(got) > 10
	})
	stop()
	got, _ := e.bodies()
	if n := int64(len(got)) + s.Stats().Dropped - refused; n != recorded {
		t.Errorf("%d delivered, %d dropped, %d of them refused; %d were recorded", len(got), s.Stats().Dropped, refused, recorded)
	}
}

func TestUnfinishedFilesAreRemoved(t *testing.T) {
	cfg := config(t.TempDir())
	left := filepath.Join(cfg.Dir, strings.Repeat("a", 32)+".new")
	if err := os.WriteFile(left, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	ship(t, open(t, cfg), newEngine())
	eventually(t, "the unfinished segment is gone", func() bool {
		_, err := os.Stat(left)
		return os.IsNotExist(err)
	})
}
